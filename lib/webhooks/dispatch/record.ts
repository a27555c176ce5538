import { sql } from 'kysely'
import { type Context, now, type Tx } from '../../context.ts'
import { bool, int, nullable, statement, text, time, word } from '../../storage/statement.ts'
import { transact } from '../../storage/transaction.ts'
import { msOf, timestamp } from '../../time.ts'
import type { Outcome } from '../http/send.ts'
import { insertAttempt } from '../queries.ts'
import type { DeliveryStatus } from '../schema.ts'
import type { Claimed } from './claim.ts'
import { deactivate } from './pause.ts'
import { decide, type Verdict } from './retry.ts'

/** An attempt that has ended, to be recorded. */
export interface Ended {
  readonly claimed: Claimed
  readonly outcome: Outcome
  /** Milliseconds since 1970. */
  readonly startedMs: number
  readonly endedMs: number
  /** From 0 to 1, drawn once, so that recording twice gives the same. */
  readonly random: number
}

/** Only while the claim holds. What was held meanwhile stays held, unless this attempt settled it. */
const settleDelivery = statement.affected(
  {
    id: int,
    claim: text,
    status: word<DeliveryStatus>(),
    retry: bool,
    due_at: time,
    ended_at: time,
    uncounted: int,
    response_status: nullable(int),
    error: nullable(text),
    delivered_at: nullable(time),
  },
  (db, p) =>
    db
      .updateTable('mailkeep_delivery')
      .set((eb) => ({
        status: sql`case when status = 'held' and ${p.status} = 'pending' then 'held' else ${p.status} end`,
        retry: p.retry,
        due_at: sql`case when status = 'held' and ${p.status} = 'pending' then ${p.ended_at} else ${p.due_at} end`,
        claim: null,
        attempts: eb('attempts', '-', p.uncounted),
        response_status: eb.fn.coalesce(p.response_status, 'response_status'),
        error: p.error,
        delivered_at: p.delivered_at,
      }))
      .where('id', '=', p.id)
      .where('claim', '=', p.claim),
)

const countOutcomes = statement(
  { id: int, failures: int, first_failure_at: nullable(time), last_triggered_at: time, now: time },
  (db, p, _, { afterSuccess }) =>
    db
      .updateTable('mailkeep_endpoint')
      .set((eb) => ({
        // An attempt that began later may have ended before; a time ahead of now was written before the clock was set back.
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
 * Records a batch of outcomes, in the order in which they came; each counts only while its claim holds.
 *
 * @param take Gives the batch when it is its turn to be written; when it has to be written again, all of it again.
 */
export function settle(ctx: Context, take: () => readonly Ended[]): Promise<void> {
  return transact(ctx, async (tx) => {
    const tallies = new Map<number, Tally>()
    for (const ended of take()) {
      const verdict = decide(ended.outcome, ended.claimed.attemptOfRound, tx.webhooks, ended.random)
      if (!(await recordOutcome(tx, ended, verdict))) continue
      if (ended.outcome.kind !== 'refused') tallyOf(tallies, ended.claimed).add(ended, verdict)
    }
    // In one order everywhere: two processes must not wait for each other's endpoints.
    for (const [endpointId, tally] of [...tallies].sort(([a], [b]) => a - b)) await countOn(tx, endpointId, tally)
  })
}

async function recordOutcome(
  tx: Tx,
  { claimed, outcome, startedMs, endedMs }: Ended,
  verdict: Verdict,
): Promise<boolean> {
  const dueMs = verdict.status === 'pending' ? endedMs + verdict.delayMs : endedMs
  const status = 'status' in outcome ? (outcome.status ?? null) : null
  const error = verdict.status === 'success' ? null : errorOf(outcome)
  const settled = await settleDelivery(tx, {
    id: claimed.id,
    claim: claimed.claim,
    status: verdict.status,
    retry: true,
    due_at: timestamp(dueMs),
    ended_at: timestamp(endedMs),
    uncounted: outcome.kind === 'refused' ? 1 : 0,
    response_status: status,
    error,
    delivered_at: verdict.status === 'success' ? timestamp(endedMs) : null,
  })
  if (settled === 0) return false
  if (outcome.kind === 'refused') return true
  await insertAttempt(tx, {
    delivery_id: claimed.id,
    number: claimed.attempt,
    client_id: claimed.clientId,
    started_at: timestamp(startedMs),
    duration_ms: outcome.kind === 'interrupted' ? null : Math.max(0, Math.round(endedMs - startedMs)),
    response_status: status,
    error,
    response_body: 'body' in outcome ? outcome.body : null,
  })
  return true
}

function errorOf(outcome: Outcome): string | null {
  if (outcome.kind === 'answered') return `The receiver answered ${outcome.status}.`
  if (outcome.kind === 'interrupted') return 'The attempt was interrupted: its outcome is not known.'
  return 'error' in outcome ? outcome.error : null
}

/** What a batch says of one endpoint. */
class Tally {
  readonly clientId: number
  succeeded = false
  failures = 0
  firstFailureMs: number | undefined
  lastStartedMs = 0
  gone = false

  constructor(clientId: number) {
    this.clientId = clientId
  }

  add({ outcome, startedMs, endedMs }: Ended, verdict: Verdict): void {
    this.lastStartedMs = Math.max(this.lastStartedMs, startedMs)
    if (outcome.kind === 'interrupted') return
    if (verdict.status === 'success') {
      this.succeeded = true
      this.failures = 0
      this.firstFailureMs = undefined
      return
    }
    this.failures += 1
    this.firstFailureMs ??= endedMs
    if (verdict.status === 'failed') this.gone ||= verdict.disable
  }
}

function tallyOf(tallies: Map<number, Tally>, { endpointId, clientId }: Claimed): Tally {
  const tally = tallies.get(endpointId) ?? new Tally(clientId)
  tallies.set(endpointId, tally)
  return tally
}

async function countOn(tx: Tx, id: number, tally: Tally): Promise<void> {
  const endpoint = await countOutcomes(
    tx,
    {
      id,
      failures: tally.failures,
      first_failure_at: tally.firstFailureMs === undefined ? null : timestamp(tally.firstFailureMs),
      last_triggered_at: timestamp(tally.lastStartedMs),
      now: now(tx),
    },
    { afterSuccess: tally.succeeded },
  )
  if (!endpoint || endpoint.disabled_reason !== null) return
  const { disableAfterFailures, disableAfterHours } = tx.webhooks
  const longEnough =
    endpoint.first_failure_at !== null &&
    msOf(endpoint.first_failure_at) <= msOf(now(tx)) - disableAfterHours * 3_600_000
  const tooMany = endpoint.consecutive_failures >= disableAfterFailures && longEnough
  if (tally.gone || tooMany) await deactivate({ ...tx, clientId: tally.clientId }, id, 'auto_failures')
}
