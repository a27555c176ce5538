import { now, type Tx } from '../context.ts'
import { delayedKind, enqueueDelayed, type JobSteps, onTarget, runOrEnqueue, type Step } from '../jobs/operations.ts'
import { purgeSearches } from '../jobs/search-purge.ts'
import * as queries from './queries.ts'

export { erasedError } from './queries.ts'

/** The dependent rows that are deleted with each kind of record, in order. */
const dependents = {
  tag: [queries.deleteContactTags],
  list: [queries.deleteContactLists],
  topic: [queries.deleteContactTopics],
  contact: [eraseContactEvents, queries.deleteContactResults],
  endpoint: [queries.deleteEndpointDeliveries],
  client: queries.deleteClientRows,
} satisfies Record<string, readonly queries.DeleteRows[]>

export type DeletedKind = keyof typeof dependents

/** Kinds whose row is locked, at least by a foreign key, by every transaction that adds dependent rows. */
const lockedByWriters: ReadonlySet<DeletedKind> = new Set(['contact', 'client'])

/** Kinds whose deletion removes texts from the search index. */
const searchable: ReadonlySet<DeletedKind> = new Set(['contact', 'client'])

/** The background jobs that delete dependent rows. */
export const deletionJobs: JobSteps = Object.fromEntries(
  Object.keys(dependents).flatMap((kind) => {
    const step = onTarget(stepOf(kind as DeletedKind))
    return [
      [`clear ${kind}`, step],
      [delayedKind(`clear ${kind}`), step],
    ]
  }),
)

/**
 * Deletes the rows that depend on a deleted record: the first batch in this transaction, the rest in a background job.
 * The remaining rows are not visible, because every query joins through the record.
 *
 * @param limit Maximum rows that this transaction may still delete.
 * @returns the unused part of the limit.
 */
export async function deleteDependents(tx: Tx, kind: DeletedKind, targetId: number, limit?: number): Promise<number> {
  if (!lockedByWriters.has(kind)) await enqueueDelayed(tx, `clear ${kind}`, targetId)
  return await runOrEnqueue(tx, `clear ${kind}`, stepOf(kind), targetId, limit)
}

function stepOf(kind: DeletedKind): Step {
  return async (tx, target, limit) => {
    let left = limit
    for (const deleteRows of dependents[kind]) {
      left -= await deleteRows(tx, { target, limit: left })
      if (left <= 0) return 0
    }
    if (searchable.has(kind)) await purgeSearches(tx)
    return left
  }
}

/** Erases the bodies of an erased contact's events. Deliveries not sent yet become `failed`, with the reason. */
async function eraseContactEvents(tx: Tx, batch: { target: number; limit: number }): Promise<number> {
  await queries.eraseResponses(tx, batch)
  await queries.recordInterruptedAttempts(tx, {
    ...batch,
    now: now(tx),
    error: 'The attempt was interrupted by an erasure.',
  })
  await queries.failErasedDeliveries(tx, { ...batch, now: now(tx) })
  return await queries.eraseEvents(tx, batch)
}
