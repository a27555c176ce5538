import * as v from 'valibot'
import { type Context, now, type Tx } from '../context.ts'
import { invalid, notFound } from '../errors.ts'
import { enqueue, type StoredJob } from '../jobs/operations.ts'
import { findJobOf, updateJob } from '../jobs/queries.ts'
import { closedObject, parse, requireId } from '../parse.ts'
import { Count, described, Id, namesOf, type RecordFields } from '../record.ts'
import { transact } from '../storage/transaction.ts'
import { timestamp } from '../time.ts'
import { getEndpoint } from './operations.ts'
import { countRecoverable, findEndpoint, listRecoverable, rescheduleMany } from './queries.ts'

/** A stored job that queues failed and held deliveries again. */
export interface Recovery {
  id: number
  /** `stopped`: the endpoint was switched off or deleted during the recovery. */
  status: 'pending' | 'running' | 'done' | 'stopped'
  /** Number of deliveries found at the start. */
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
  total: described(Count, 'Deliveries found when the recovery started.'),
  done: described(Count, 'Deliveries queued again so far.'),
}

interface RecoveryState extends Omit<Recovery, 'id'> {
  /** Time range of the failures, oldest first. Its end is fixed, so that a delivery that fails again is not repeated. */
  readonly since: string
  readonly until: string
  /** Cursor with `since`: the id of the delivery queued last. */
  readonly after_id: number
}

export const recoverKind = 'recover'
export const endedKind = 'recovered'

export interface RecoverInput {
  /** ISO 8601 with an offset, as in `2026-01-02T03:04:05Z`. */
  readonly since: string
}

const Since = closedObject({
  since: v.pipe(
    v.string('This must be a string.'),
    v.regex(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/,
      'This must be a time with its offset, as in 2026-01-02T03:04:05Z.',
    ),
    v.transform((text) => Date.parse(text)),
    v.number('This must be a time that exists.'),
  ),
})

/**
 * Starts a stored job that queues again all deliveries of an endpoint that failed or were held since a time. The job
 * continues after a restart.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: also when the endpoint is inactive.
 */
export async function recoverEndpoint(ctx: Context, endpointId: number, input: RecoverInput): Promise<Recovery> {
  const { since: sinceMs } = parse(Since, input)
  return transact(ctx, async (tx) => {
    const endpoint = await getEndpoint(tx, endpointId)
    if (!endpoint.active) throw invalid('active', 'The endpoint is inactive: switch it on before recovering.')
    const span = { since: timestamp(sinceMs), after_id: 0, until: now(tx) }
    const { total } = (await countRecoverable(tx, { endpoint_id: endpointId, ...span }))!
    const state: RecoveryState = { ...span, status: total === 0 ? 'done' : 'pending', total, done: 0 }
    const id = await enqueue(tx, total === 0 ? endedKind : recoverKind, endpointId, state)
    return recoveryFrom({ id, state: JSON.stringify(state) })
  })
}

/**
 * Returns the progress of a recovery.
 *
 * @throws MailkeepError `not_found`
 */
export async function getRecovery(ctx: Context, endpointId: number, id: number): Promise<Recovery> {
  await getEndpoint(ctx, endpointId)
  const key = { client_id: ctx.clientId, target_id: endpointId, id, kinds: [recoverKind, endedKind] }
  requireId('recoveryId', id)
  const job = await findJobOf(ctx, key)
  if (!job) throw notFound('recovery')
  return recoveryFrom(job)
}

/** Runs one batch of a recovery. */
export async function recoverBatch(tx: Tx, job: StoredJob, limit: number): Promise<'kept'> {
  const state: RecoveryState = JSON.parse(job.state)
  const endpoint = await findEndpoint(tx, { client_id: tx.clientId, id: job.target_id })
  const active = endpoint !== undefined && endpoint.disabled_reason === null
  const queued = active ? await rescheduleBatch(tx, job.target_id, state, limit) : []
  const status = !active ? 'stopped' : queued.length < limit ? 'done' : 'running'
  const { ended_at: since, id: after_id } = queued.at(-1) ?? { ended_at: state.since, id: state.after_id }
  const next: RecoveryState = { ...state, since, after_id, done: state.done + queued.length, status }
  await updateJob(tx, {
    id: job.id,
    kind: status === 'running' ? recoverKind : endedKind,
    state: JSON.stringify(next),
  })
  tx.transaction.afterCommit(tx.local.webhooks.wake)
  return 'kept'
}

async function rescheduleBatch(tx: Tx, endpoint_id: number, { since, after_id, until }: RecoveryState, limit: number) {
  const rows = await listRecoverable(tx, { endpoint_id, since, after_id, until, limit })
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await rescheduleMany(tx, { ids, now: now(tx) })
  return rows
}

function recoveryFrom({ id, state }: Pick<StoredJob, 'id' | 'state'>): Recovery {
  const { status, total, done }: RecoveryState = JSON.parse(state)
  return { id, status, total, done }
}
