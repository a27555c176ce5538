import type { Outage } from './dispatch/outage.ts'
import type { MailTransport } from './transport.ts'

/** Settings of sending. The defaults are in `defaultMailSettings`. */
export interface MailSettings {
  /** Hands messages over. Without it nothing is sent, and newsletters cannot be started. */
  readonly transport?: MailTransport | undefined
  /** Maximum messages a second in all, of all processes that share the database. Default 10. */
  readonly rate: number
  /** Maximum messages a second of each sender identity; default: `rate`. */
  readonly identityRate?: number | undefined
  /** Maximum messages that this process hands over at the same time. Default 5. */
  readonly connections: number
  /** For development: sender identities need not be verified. Default false. */
  readonly allowUnverified: boolean
  /** The postal address of senders, for templates: `client.postal_address`. */
  readonly postalAddress: string
  /** Timeout of a whole attempt. Default 120. */
  readonly timeoutSeconds: number
  /** How long messages are stored. The counts of newsletters stay. Default 365. */
  readonly retentionDays: number
}

export const defaultMailSettings: MailSettings = {
  rate: 10,
  connections: 5,
  allowUnverified: false,
  postalAddress: '',
  timeoutSeconds: 120,
  retentionDays: 365,
}

/** The port of operations on mail to this process. */
export interface MailPort {
  readonly settings: MailSettings
  /** Knows whether the mail server takes mail. */
  readonly outage: Outage
  /** Wakes the mailers of all processes, because messages are due. */
  readonly wake: () => void
}

/** Whether sender identities need not be verified: in development, or if nothing leaves the machine. */
export function allowsUnverified({ allowUnverified, transport }: MailSettings): boolean {
  return allowUnverified || transport?.isLocal === true
}
