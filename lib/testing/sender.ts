import { invalid } from '../errors.ts'
import { readJson } from '../json.ts'
import { checkOptions } from '../option-schemas.ts'
import { isRecord } from '../parse.ts'
import { headersOf, type Outcome, type Request, type Sender, type Sending } from '../webhooks/http/send.ts'
import type { WebhookEvent } from '../webhooks/receiver.ts'
import type { TestClock } from './clock.ts'

/** One attempt of a delivery, as its receiver would get it. */
export interface CapturedDelivery {
  readonly url: string
  /** The delivery's uuid, the same in each retry. */
  readonly id: string
  /** The attempt's number, from 1. */
  readonly attempt: number
  /** Time of the attempt by the kit's clock, in milliseconds since 1970. */
  readonly sentMs: number
  /** Includes the signature, for `verifyDelivery(headers, body, secret, { now: kit.clock.now })` of mailkeep/receiver. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The body, parsed. */
  readonly event: WebhookEvent
}

/** A receiver's answer: a status, a whole answer, or none. */
export type ReplyTo =
  | number
  | { readonly status: number; readonly body?: string | undefined; readonly retryAfterSeconds?: number | undefined }
  | 'timeout'
  | 'unreachable'

/** The same answer for all attempts, or a function of the attempt: `({ attempt }) => (attempt < 3 ? 503 : 200)`. */
export type Reply = ReplyTo | ((delivery: CapturedDelivery) => ReplyTo | Promise<ReplyTo>)

/** Captures attempts instead of sending them, and simulates the receivers. */
export class CapturingSender implements Sender {
  readonly captured: CapturedDelivery[] = []
  reply: Reply = 200
  /** The first error of the test's function `reply`. The kit throws it. */
  mistake: { readonly error: unknown } | undefined
  readonly #clock: TestClock
  readonly #attempts = new Map<string, number>()

  constructor(clock: TestClock) {
    this.#clock = clock
  }

  send(request: Request): Sending {
    const { url, deliveryId: id, body } = request
    const attempt = (this.#attempts.get(id) ?? 0) + 1
    this.#attempts.set(id, attempt)
    const sentMs = this.#clock.now()
    const headers = headersOf(request, sentMs)
    const delivery = { url, id, attempt, sentMs, headers, body, event: readJson(body) }
    this.captured.push(delivery)
    let abort = () => {}
    const aborted = new Promise<Outcome>((resolve) => {
      abort = () => resolve({ kind: 'interrupted' })
    })
    return { outcome: Promise.race([this.#outcome(delivery), aborted]), abort }
  }

  async close(): Promise<void> {}

  async #outcome(delivery: CapturedDelivery): Promise<Outcome> {
    try {
      return outcomeOf(await (typeof this.reply === 'function' ? this.reply(delivery) : this.reply))
    } catch (error) {
      this.mistake ??= { error }
      throw error
    }
  }
}

/** @throws MailkeepError `validation_failed`: neither an answer of a receiver nor a function. */
export function checkReply(reply: unknown): void {
  if (typeof reply === 'function') return
  if (reply === 'timeout' || reply === 'unreachable') return
  if (isRecord(reply)) checkOptions('kit.answer', reply)
  const status = isRecord(reply) ? reply.status : reply
  if (typeof status === 'number' && Number.isInteger(status) && status >= 100 && status <= 599) return
  throw invalid(
    'reply',
    "reply must be a status from 100 to 599, an object with a status, 'timeout', 'unreachable' or a function.",
  )
}

function outcomeOf(reply: ReplyTo): Outcome {
  checkReply(reply)
  if (reply === 'timeout') return { kind: 'failed', error: 'No complete answer in time.', timedOut: true }
  if (reply === 'unreachable') return { kind: 'failed', error: 'The request failed: ECONNREFUSED.', timedOut: false }
  if (typeof reply === 'number') return { kind: 'answered', status: reply, body: '' }
  const { status, body = '', retryAfterSeconds } = reply
  const isObeyed = retryAfterSeconds !== undefined && (status === 429 || status === 503)
  return { kind: 'answered', status, body, retryAfterMs: isObeyed ? retryAfterSeconds * 1000 : undefined }
}
