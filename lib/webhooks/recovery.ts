import { audit } from '../audit/operations.ts'
import { type Context, now, type Tx } from '../context.ts'
import { invalid, notFound } from '../errors.ts'
import {
  continueJob,
  done,
  enqueue,
  findJob,
  type Job,
  type JobHandlers,
  type JobResult,
  maxRowsPerBatch,
} from '../jobs/operations.ts'
import { closedObject, parse, requireId, TimeMs } from '../parse.ts'
import { Count, described, Id, namesOf, type RecordFields } from '../record.ts'
import { transact } from '../storage/transaction.ts'
import { timestamp } from '../time.ts'
import { erasedError } from './deletion.ts'
import { getEndpoint } from './operations.ts'
import { countRecoverable, findEndpoint, listRecoverable, rescheduleMany } from './queries.ts'

/** A stored job that queues failed and held deliveries again. */
export interface Recovery {
  id: number
  /** `stopped`: the endpoint was switched off or deleted during the recovery. */
  status: 'pending' | 'running' | 'done' | 'stopped'
  /** Number of deliveries found at the start. At the end `done`: others may have been queued or deleted otherwise. */
  total: number
  /** Number of deliveries queued again so far. */
  done: number
}

export const recoveryFields: RecordFields<Recovery> = {
  id: Id,
  status: described(
    namesOf<Recovery['status']>({ pending: true, running: true, done: true, stopped: true }),
    '`stopped`: the endpoint was switched off or deleted during the recovery.',
  ),
  total: described(Count, 'Deliveries found when the recovery started. Once it is `done`, the same as `done`.'),
  done: described(Count, 'Deliveries queued again so far.'),
}

interface RecoveryState extends Omit<Recovery, 'id'> {
  /** Time range of the failures, oldest first. Its end is fixed, so that a delivery that fails again is not repeated. */
  readonly since: string
  readonly until: string
  /** Cursor with `since`: the id of the delivery queued last. */
  readonly after_id: number
}

const recoverKind = 'recover'

export const recoveryJobs: JobHandlers = { [recoverKind]: recoverBatch }

export interface RecoverInput {
  /** ISO 8601 with an offset, as in `2026-01-02T03:04:05Z`. */
  readonly since: string
}

export const Since = closedObject({ since: TimeMs })

/**
 * Starts a stored job that queues again all deliveries of an endpoint that failed or were held since a time. The job
 * continues after a restart.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: also when the endpoint is switched off.
 */
export async function recoverEndpoint(ctx: Context, endpointId: number, input: RecoverInput): Promise<Recovery> {
  const { since: sinceMs } = parse(Since, input)
  return transact(ctx, async (tx) => {
    const endpoint = await getEndpoint(tx, endpointId)
    if (!endpoint.active) throw invalid('active', 'The endpoint is switched off: switch it on before recovering.')
    audit(tx, 'endpoint.recovered', endpointId)
    const span = { since: timestamp(sinceMs), after_id: 0, until: now(tx) }
    const { total } = (await countRecoverable(tx, { endpoint_id: endpointId, ...span }))!
    const state: RecoveryState = { ...span, status: total === 0 ? 'done' : 'pending', total, done: 0 }
    return recoveryFrom({ id: await enqueue(tx, recoverKind, { targetId: endpointId, state }), state })
  })
}

/**
 * Returns the progress of a recovery.
 *
 * @throws MailkeepError `not_found`
 */
export async function getRecovery(ctx: Context, endpointId: number, id: number): Promise<Recovery> {
  await getEndpoint(ctx, endpointId)
  requireId('recoveryId', id)
  const job = await findJob(ctx, recoverKind, endpointId, id)
  if (!job) throw notFound('recovery')
  return recoveryFrom(job)
}

/** Runs one batch of a recovery. */
async function recoverBatch(tx: Tx, job: Job): Promise<JobResult> {
  const state = job.state as RecoveryState
  if (state.total === 0) return done()
  const endpoint = await findEndpoint(tx, { client_id: tx.clientId, id: job.targetId })
  const active = endpoint !== undefined && endpoint.disabled_reason === null
  const queued = active ? await rescheduleBatch(tx, job.targetId, state) : []
  const status = !active ? 'stopped' : queued.length < maxRowsPerBatch ? 'done' : 'running'
  const { ended_at: since, id: after_id } = queued.at(-1) ?? { ended_at: state.since, id: state.after_id }
  const count = state.done + queued.length
  const total = status === 'done' ? count : state.total
  const next: RecoveryState = { ...state, since, after_id, total, done: count, status }
  tx.transaction.afterCommit(tx.local.webhooks.wake)
  return status === 'running' ? continueJob(next) : done(next)
}

async function rescheduleBatch(tx: Tx, endpoint_id: number, { since, after_id, until }: RecoveryState) {
  const rows = await listRecoverable(tx, { endpoint_id, since, after_id, until, limit: maxRowsPerBatch })
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await rescheduleMany(tx, { ids, now: now(tx), erased: erasedError })
  return rows
}

function recoveryFrom({ id, state }: { id: number; state: unknown }): Recovery {
  const { status, total, done } = state as RecoveryState
  return { id, status, total, done }
}
