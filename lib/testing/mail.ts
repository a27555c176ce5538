import { invalid } from '../errors.ts'
import { type MailMessage, type MailOutcome, type MailTransport, UncertainError } from '../sending/transport.ts'
import type { Clock } from '../time.ts'

/** One mail, as its transport would hand it over. */
export interface CapturedMail extends MailMessage {
  /** Time of the attempt by the kit's clock, in milliseconds since 1970. */
  readonly sentMs: number
}

/** The outcome of a mail. `uncertain`: the connection was lost after it was handed over. */
export type MailReplyTo = 'sent' | 'temporary' | 'permanent' | 'unknown mailbox' | 'uncertain'

const replies: readonly MailReplyTo[] = ['sent', 'temporary', 'permanent', 'unknown mailbox', 'uncertain']

/** The same for all mails, or a function of the mail: `({ to }) => (to.email.endsWith('.test') ? 'permanent' : 'sent')`. */
export type MailReply = MailReplyTo | ((mail: CapturedMail) => MailReplyTo | Promise<MailReplyTo>)

/** Captures mails instead of sending them, and simulates the mail server. */
export class CapturingTransport implements MailTransport {
  readonly captured: CapturedMail[] = []
  reply: MailReply = 'sent'
  /** The first error of the test's function `reply`. The kit throws it. */
  mistake: { readonly error: unknown } | undefined
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async send(message: MailMessage, signal: AbortSignal): Promise<MailOutcome> {
    const mail = { ...message, sentMs: this.#clock() }
    this.captured.push(mail)
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
    const reply = await Promise.race([this.#replyTo(mail), aborted])
    if (reply === 'sent') return { kind: 'sent', providerMessageId: `test-${message.id}` }
    if (reply === 'temporary') return { kind: 'temporary', error: '451 try again later' }
    if (reply === 'uncertain') throw new UncertainError('The connection was lost.')
    return { kind: 'permanent', error: '550 rejected', unknownMailbox: reply === 'unknown mailbox' }
  }

  async #replyTo(mail: CapturedMail): Promise<MailReplyTo> {
    try {
      const reply = typeof this.reply === 'function' ? await this.reply(mail) : this.reply
      checkMailReply(reply)
      return reply
    } catch (error) {
      this.mistake ??= { error }
      throw error
    }
  }
}

/** @throws MailkeepError `validation_failed` */
export function checkMailReply(reply: MailReply): void {
  if (typeof reply !== 'function' && !replies.includes(reply))
    throw invalid('reply', `reply must be a function or one of ${replies.join(', ')}.`)
}
