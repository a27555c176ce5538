import { sql } from 'kysely'
import { now, type Tx } from '../../context.ts'
import { countAttempts } from '../../statistics/recording.ts'
import { int, nullable, statement, text, time, word } from '../../storage/statement.ts'
import { msOf, timestamp } from '../../time.ts'
import type { Outcome } from '../http/send.ts'
import { insertAttempts } from '../queries.ts'
import type { DeliveryStatus } from '../schema.ts'
import type { ClaimedDelivery } from './claim.ts'
import { switchOff } from './pause.ts'
import type { Disposition } from './retry.ts'

export const interruptedError = 'The attempt was interrupted: its outcome is not known.'
/** The log message of a delivery that has failed. */
export const failureMessage = 'a delivery failed and will not be retried'

/** An attempt that has ended and is not recorded yet. */
export interface FinishedAttempt {
  readonly task: ClaimedDelivery
  readonly outcome: Outcome
  readonly disposition: Disposition
  /** Milliseconds since 1970. */
  readonly startedMs: number
  readonly endedMs: number
}

const outcome = {
  id: int,
  claim: text,
  status: word<DeliveryStatus>(),
  due_at: time,
  scheduled_at: nullable(time),
  ended_at: nullable(time),
  now: time,
  uncounted: int,
  response_status: nullable(int),
  error: nullable(text),
  delivered_at: nullable(time),
  rescheduled: nullable(int),
}

/**
 * Updates each delivery only if its claim is still current, and returns the ids of these. A delivery that was put on hold
 * during the attempt stays held, unless the attempt was final. `rescheduled`: 1 updates only deliveries that were
 * redelivered or recovered during the attempt, 0 only the others, null all.
 */
const recordOutcomes = statement.each(
  outcome,
  (item, from) => sql`
    update mailkeep_delivery set
      status = case when mailkeep_delivery.status = 'held' and ${item.status} = 'pending' then 'held'
        else ${item.status} end,
      due_at = ${item.due_at},
      scheduled_at = ${item.scheduled_at},
      ended_at = case when mailkeep_delivery.status = 'held' and ${item.status} = 'pending' then ${item.now}
        else ${item.ended_at} end,
      claim = null, claimed_at = null, lease_until = null,
      attempts = mailkeep_delivery.attempts - ${item.uncounted},
      response_status = coalesce(${item.response_status}, mailkeep_delivery.response_status),
      error = ${item.error},
      delivered_at = ${item.delivered_at}
    ${from} where mailkeep_delivery.id = ${item.id} and mailkeep_delivery.claim = ${item.claim}
      and (${item.rescheduled} is null or ${item.rescheduled} =
        case when mailkeep_delivery.attempts_before = mailkeep_delivery.attempts then 1 else 0 end)`,
  'mailkeep_delivery.id',
)

const updateEndpointHealth = statement(
  { id: int, failures: int, first_failure_at: nullable(time), last_triggered_at: time, now: time },
  (db, p, _, { afterSuccess }) =>
    db
      .updateTable('mailkeep_endpoint')
      .set((eb) => ({
        // A later attempt may already have been recorded. A stored time in the future is ignored: it was written before
        // the clock was set back.
        last_triggered_at: sql`case when last_triggered_at > ${p.last_triggered_at} and last_triggered_at <= ${p.now}
          then last_triggered_at else ${p.last_triggered_at} end`,
        consecutive_failures: afterSuccess ? p.failures : eb('consecutive_failures', '+', p.failures),
        first_failure_at: afterSuccess ? p.first_failure_at : eb.fn.coalesce('first_failure_at', p.first_failure_at),
      }))
      .where('id', '=', p.id)
      .returning(['id', 'consecutive_failures', 'first_failure_at', 'disabled_reason']),
  ['afterSuccess'],
)

/**
 * Records attempts in the order in which they ended, and updates the health of their endpoints.
 *
 * @returns The attempts whose claim was current. The others change nothing.
 */
export async function recordAttempts(tx: Tx, finished: readonly FinishedAttempt[]): Promise<FinishedAttempt[]> {
  if (finished.length === 0) return []
  const recorded = await recordDeliveries(tx, finished)
  const made = recorded.filter(({ outcome }) => outcome.kind !== 'refused')
  if (made.length > 0) tx.transaction.defer(insertAttempts(tx, made.map(attemptOf)))
  const tallies = new Map<number, EndpointTally>()
  for (const attempt of made) addToTally(tallies, attempt)
  // Sorted by id, so that two processes lock endpoints in the same order and cannot deadlock.
  const sorted = [...tallies].sort(([a], [b]) => a - b)
  const endpoints = await Promise.all(sorted.map(([id, tally]) => updateHealth(tx, id, tally)))
  for (const [n, [id, tally]] of sorted.entries()) await switchOffIfFailing(tx, id, tally, endpoints[n])
  countAttempts(tx, made)
  tx.transaction.afterCommit(() => {
    for (const attempt of recorded) if (attempt.disposition.status === 'failed') logFailure(tx, attempt)
  })
  return recorded
}

/** @returns The attempts whose claim was current, each with what follows it. */
async function recordDeliveries(tx: Tx, finished: readonly FinishedAttempt[]): Promise<FinishedAttempt[]> {
  const usual = finished.map((attempt) => outcomeOf(attempt, isFinal(attempt) ? null : 0))
  const ids = new Set(await recordOutcomes(tx, usual))
  if (ids.size === finished.length) return [...finished]
  // The others have lost their claim, or were rescheduled during the attempt.
  const others = finished.filter(({ task }) => !ids.has(task.id)).map((attempt) => outcomeOf(dueNow(attempt), 1))
  const rescheduled = new Set(await recordOutcomes(tx, others))
  return finished.flatMap((attempt) => {
    if (ids.has(attempt.task.id)) return [attempt]
    return rescheduled.has(attempt.task.id) ? [dueNow(attempt)] : []
  })
}

function dueNow(attempt: FinishedAttempt): FinishedAttempt {
  return { ...attempt, disposition: { status: 'pending', delayMs: 0 } }
}

/** Whether the delivery ends with this attempt, even if it was rescheduled during the attempt. */
function isFinal({ outcome, disposition }: FinishedAttempt): boolean {
  if (disposition.status === 'failed') return disposition.disable || outcome.kind === 'refused'
  return disposition.status === 'success'
}

function logFailure({ logger }: Tx, { task, outcome, disposition }: FinishedAttempt): void {
  const { clientId: client_id, endpointId: endpoint_id, uuid, eventType: event_type, attempt } = task
  const fields = { client_id, endpoint_id, delivery: uuid, event_type, attempt, reason: errorOf(outcome, disposition) }
  logger.warn(fields, failureMessage)
}

function outcomeOf({ task, outcome, disposition, endedMs }: FinishedAttempt, rescheduled: 0 | 1 | null) {
  const endedAt = timestamp(endedMs)
  const isRetried = disposition.status === 'pending'
  return {
    id: task.id,
    claim: task.claim,
    status: disposition.status,
    due_at: isRetried ? timestamp(endedMs + disposition.delayMs) : endedAt,
    scheduled_at: isRetried ? endedAt : null,
    ended_at: isRetried ? null : endedAt,
    now: endedAt,
    uncounted: outcome.kind === 'refused' ? 1 : 0,
    response_status: responseStatusOf(outcome),
    error: errorOf(outcome, disposition),
    delivered_at: disposition.status === 'success' ? endedAt : null,
    rescheduled,
  }
}

/** The range of the column. The clock may have been set during the attempt. */
const maxDurationMs = 2 ** 31 - 1

function attemptOf({ task, outcome, disposition, startedMs, endedMs }: FinishedAttempt) {
  return {
    delivery_id: task.id,
    number: task.attempt,
    client_id: task.clientId,
    started_at: timestamp(startedMs),
    duration_ms:
      outcome.kind === 'interrupted' ? null : Math.min(Math.max(0, Math.round(endedMs - startedMs)), maxDurationMs),
    response_status: responseStatusOf(outcome),
    error: errorOf(outcome, disposition),
    response_body: 'body' in outcome ? outcome.body : null,
  }
}

function responseStatusOf(outcome: Outcome): number | null {
  return 'status' in outcome ? (outcome.status ?? null) : null
}

const ownFaultError =
  "Mailkeep's own fault, not the receiver's: the request could not be made. Mailkeep's log has the cause."

function errorOf(outcome: Outcome, { status }: Disposition): string | null {
  if (status === 'success') return null
  if (outcome.kind === 'answered') return `The receiver answered ${outcome.status}.`
  if (outcome.kind === 'interrupted') return interruptedError
  if (outcome.kind === 'fault') return ownFaultError
  return 'error' in outcome ? outcome.error : null
}

/** Sum of one endpoint's attempts in one turn of the dispatcher. */
interface EndpointTally {
  readonly clientId: number
  succeeded: boolean
  /** Failures after the last success. */
  failures: number
  firstFailureMs: number | undefined
  lastStartedMs: number
  /** Whether the receiver answered 410 (Gone), which asks mailkeep to stop sending. */
  isGone: boolean
}

function addToTally(tallies: Map<number, EndpointTally>, attempt: FinishedAttempt): void {
  const { task: delivery, outcome, disposition, startedMs, endedMs } = attempt
  const tally = tallies.get(delivery.endpointId) ?? {
    clientId: delivery.clientId,
    succeeded: false,
    failures: 0,
    firstFailureMs: undefined,
    lastStartedMs: 0,
    isGone: false,
  }
  tallies.set(delivery.endpointId, tally)
  tally.lastStartedMs = Math.max(tally.lastStartedMs, startedMs)
  if (outcome.kind === 'interrupted' || outcome.kind === 'fault') return
  if (disposition.status === 'success') {
    Object.assign(tally, { succeeded: true, failures: 0, firstFailureMs: undefined })
    return
  }
  tally.failures += 1
  tally.firstFailureMs ??= endedMs
  if (disposition.status === 'failed') tally.isGone ||= disposition.disable
}

function updateHealth(tx: Tx, id: number, tally: EndpointTally) {
  const health = {
    id,
    failures: tally.failures,
    first_failure_at: tally.firstFailureMs === undefined ? null : timestamp(tally.firstFailureMs),
    last_triggered_at: timestamp(tally.lastStartedMs),
    now: now(tx),
  }
  return updateEndpointHealth(tx, health, { afterSuccess: tally.succeeded })
}

/** Switches the endpoint off after too many failures or a 410. */
async function switchOffIfFailing(
  tx: Tx,
  id: number,
  tally: EndpointTally,
  endpoint: Awaited<ReturnType<typeof updateHealth>>,
): Promise<void> {
  if (!endpoint || endpoint.disabled_reason !== null) return
  const { disableAfterFailures, disableAfterHours } = tx.local.webhooks.settings
  const failsForLong =
    endpoint.first_failure_at !== null &&
    msOf(endpoint.first_failure_at) <= msOf(now(tx)) - disableAfterHours * 3_600_000
  const failsTooOften = endpoint.consecutive_failures >= disableAfterFailures && failsForLong
  if (!tally.isGone && !failsTooOften) return
  if (!(await switchOff({ ...tx, clientId: tally.clientId }, id, 'auto_failures'))) return
  const { consecutive_failures, first_failure_at } = endpoint
  const reason = tally.isGone ? 'The receiver answered 410.' : `${consecutive_failures} attempts in a row have failed.`
  const fields = { client_id: tally.clientId, endpoint_id: id, reason, consecutive_failures, first_failure_at }
  tx.transaction.afterCommit(() => tx.logger.warn(fields, 'a webhook endpoint was switched off'))
}
