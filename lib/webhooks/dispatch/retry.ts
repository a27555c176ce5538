import { dayMs } from '../../time.ts'
import type { Outcome } from '../http/send.ts'
import type { WebhookSettings } from '../settings.ts'

/**
 * How an attempt ended. `refused`: the address is not allowed, no request was sent. `interrupted`: mailkeep aborted it.
 * `fault`: an error inside mailkeep.
 */
export type AttemptEnding = 'success' | 'failure' | 'timeout' | 'refused' | 'interrupted' | 'fault'

export function endingOf(outcome: Outcome): AttemptEnding {
  if (outcome.kind === 'answered') return outcome.status >= 200 && outcome.status < 300 ? 'success' : 'failure'
  if (outcome.kind === 'failed') return outcome.timedOut ? 'timeout' : 'failure'
  if (outcome.kind === 'handled') return 'success'
  return outcome.kind === 'threw' ? 'failure' : outcome.kind
}

/** A delivery's next state after an attempt. `disable`: switch the endpoint off too. */
export type Disposition =
  | { readonly status: 'success' }
  | { readonly status: 'failed'; readonly disable: boolean }
  | { readonly status: 'pending'; readonly delayMs: number }

/**
 * Returns the delivery's next state: success, failure, or another attempt after a delay.
 *
 * @param attempt The attempt's position in the retry schedule, from 1. A redelivery restarts the schedule.
 * @param random Random number from 0 to 1. It adds jitter of up to a fifth to the scheduled delay.
 */
export function nextStep(
  outcome: Outcome,
  attempt: number,
  { retryScheduleSeconds }: Pick<WebhookSettings, 'retryScheduleSeconds'>,
  random: number,
): Disposition {
  if (endingOf(outcome) === 'success') return { status: 'success' }
  if (outcome.kind === 'refused') return { status: 'failed', disable: false }
  // The status counts also when the body broke off.
  if ('status' in outcome && outcome.status === 410) return { status: 'failed', disable: true }
  if (outcome.kind === 'interrupted') return { status: 'pending', delayMs: 0 }
  // Internal errors are retried too: they may pass, or an operator may fix the cause.
  const delaySeconds = retryScheduleSeconds[attempt - 1]
  if (delaySeconds === undefined) return { status: 'failed', disable: false }
  const scheduledMs = delaySeconds * 1000 * (1 + random / 5)
  const retryAfterMs = 'retryAfterMs' in outcome ? Math.min(outcome.retryAfterMs ?? 0, dayMs) : 0
  return { status: 'pending', delayMs: Math.ceil(Math.max(scheduledMs, retryAfterMs)) }
}

/**
 * Parses `Retry-After` (RFC 9110, 10.2.3) of a 429 or 503: seconds, or a date.
 *
 * @returns Milliseconds from `nowMs`, never negative; undefined when the header is missing or invalid.
 */
export function retryAfterMs(status: number, value: string | undefined, nowMs: number): number | undefined {
  if ((status !== 429 && status !== 503) || value === undefined) return undefined
  const text = value.trim()
  if (/^\d+$/.test(text)) return Number(text) * 1000 // any number of digits: `nextStep` limits it to a day
  // The asctime form has no time zone and means GMT.
  const at = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(text)
    ? Date.parse(text.replace(/(?: GMT)?$/, ' GMT'))
    : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}
