/** The headers of bulk mail. */
import { unsubscribeHeaders } from '../consent/links.ts'
import { withAsciiDomain } from '../spelling.ts'

export interface MailHeadersInput {
  /** UUID of the message. */
  readonly messageId: string
  /** Address of the sender. */
  readonly from: string
  readonly clientId: number
  /** What the message belongs to: letters, digits and hyphens, such as `newsletter-7` or `sequence-3`. */
  readonly campaign: string
  readonly unsubscribeUrl: string
}

/**
 * Returns the headers of a message to a subscriber. Each must be sent on one line.
 *
 * - `List-Unsubscribe` (RFC 2369) and, for https, `List-Unsubscribe-Post` (RFC 8058): one click unsubscribes.
 * - `List-ID` (RFC 2919): the same for all mail of a client from one domain, so that readers can filter by it.
 * - `Message-ID`: the message's UUID at the sender's domain.
 * - `Feedback-ID`: groups complaints in the reports of mailbox providers by campaign and client.
 */
export function mailHeaders(input: MailHeadersInput): Record<string, string> {
  const { messageId, from, clientId, campaign, unsubscribeUrl } = input
  const domain = domainOf(from)
  return {
    'Message-ID': `<${messageId}@${domain}>`,
    ...unsubscribeHeaders(unsubscribeUrl),
    'List-ID': `<client-${clientId}.${domain}>`,
    Precedence: 'bulk',
    'Feedback-ID': feedbackId(clientId, campaign),
  }
}

/** Returns the domain of an address, in ASCII. */
export function domainOf(email: string): string {
  return withAsciiDomain(email).slice(email.lastIndexOf('@') + 1)
}

/** Returns the value of `Feedback-ID`. Reports of bounces and complaints identify the client by it. */
export function feedbackId(clientId: number, campaign: string): string {
  const [kind] = campaign.split('-')
  return `${campaign}:client-${clientId}:${kind}:mailkeep`
}
