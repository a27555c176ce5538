/** The one interface between the sending loop and a mail server. */

/** A message for one recipient, ready to be handed over. */
export interface MailMessage {
  /** UUID of the message. */
  readonly id: string
  readonly from: { readonly name: string; readonly email: string }
  readonly replyTo?: string | undefined
  readonly to: { readonly name: string | null; readonly email: string }
  readonly subject: string
  readonly html: string
  readonly text: string
  /** Further headers by name. A transport writes each on one line, as it is. */
  readonly headers: Readonly<Record<string, string>>
  readonly clientId: number
}

/** The outcome of a message. `error` has the server's answer, without the recipient's address. */
export type MailOutcome =
  | { readonly kind: 'sent'; readonly providerMessageId?: string | undefined }
  /**
   * The message may be sent again later. `isServerDown`: the server takes no message at all now, because there is no
   * connection, or it refused the session or the login. Sending pauses. Attempts during an outage do not count.
   */
  | { readonly kind: 'temporary'; readonly error: string; readonly isServerDown?: boolean | undefined }
  /** The message must not be sent again. `unknownMailbox`: the address does not exist. */
  | { readonly kind: 'permanent'; readonly error: string; readonly unknownMailbox: boolean }

/** Hands messages over to a mail server. */
export interface MailTransport {
  /**
   * Hands over one message.
   *
   * @throws UncertainError The message was handed over, but the answer was lost. Any other error counts as temporary.
   */
  send(message: MailMessage, signal: AbortSignal): Promise<MailOutcome>
  /** Checks that the server can be reached, and that its TLS and the credentials are right. Throws if not. */
  readonly check?: (() => Promise<void>) | undefined
  readonly close?: (() => Promise<void>) | undefined
  /** True if nothing leaves this machine. Then sender identities need not be verified. */
  readonly isLocal?: boolean | undefined
}

/** Thrown by a transport when it cannot know whether the server accepted the message. */
export class UncertainError extends Error {
  override readonly name = 'UncertainError'
}

/** @returns Whether the message may have been accepted. Also works across copies of the package. */
export function isUncertainError(error: unknown): error is UncertainError {
  return error instanceof Error && error.name === 'UncertainError'
}
