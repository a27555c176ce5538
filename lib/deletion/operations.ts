import { now, type Tx } from '../context.ts'
import { againKind, enqueueDelayed, type JobSteps, onTarget, runOrEnqueue, type Step } from '../jobs/operations.ts'
import { purgeSearches } from '../jobs/search-purge.ts'
import * as queries from './queries.ts'

export { erasedError } from './queries.ts'

/** What goes when a record goes, in order. */
const rows = {
  tag: [queries.deleteContactTags],
  list: [queries.deleteContactLists],
  topic: [queries.deleteContactTopics],
  contact: [eraseContactEvents, queries.deleteContactAnswers],
  endpoint: [queries.deleteEndpointDeliveries],
  client: queries.deleteClientRows,
} satisfies Record<string, readonly queries.DeleteRows[]>

export type DeletedKind = keyof typeof rows

/** Whoever attaches rows to these holds their row meanwhile, by a foreign key at least. */
const locked: ReadonlySet<DeletedKind> = new Set(['contact', 'client'])

/** With these go texts that searches look at. */
const searched: ReadonlySet<DeletedKind> = new Set(['contact', 'client'])

/** The stored jobs of clearing. */
export const deletionJobs: JobSteps = Object.fromEntries(
  Object.keys(rows).flatMap((kind) => {
    const step = onTarget(stepOf(kind as DeletedKind))
    return [
      [`clear ${kind}`, step],
      [againKind(`clear ${kind}`), step],
    ]
  }),
)

/**
 * Clears what hung on a record just deleted: as much as one transaction should at once, the rest as a stored job.
 * Nothing shows it meanwhile, since every query joins through the record.
 *
 * @param limit How many rows this transaction may still clear.
 * @returns how many are left of that.
 */
export async function deleteDependents(tx: Tx, kind: DeletedKind, targetId: number, limit?: number): Promise<number> {
  if (!locked.has(kind)) await enqueueDelayed(tx, `clear ${kind}`, targetId)
  return await runOrEnqueue(tx, `clear ${kind}`, stepOf(kind), targetId, limit)
}

function stepOf(kind: DeletedKind): Step {
  return async (tx, target, limit) => {
    let left = limit
    for (const clearRows of rows[kind]) {
      left -= await clearRows(tx, { target, limit: left })
      if (left <= 0) return 0
    }
    if (searched.has(kind)) await purgeSearches(tx)
    return left
  }
}

/** An erased contact's events lose their bodies; what was still to be sent is given up, visibly. */
async function eraseContactEvents(tx: Tx, chunk: { target: number; limit: number }): Promise<number> {
  await queries.eraseAnswers(tx, chunk)
  await queries.noteCutAttempts(tx, { ...chunk, now: now(tx), error: 'The attempt was interrupted by an erasure.' })
  await queries.failErasedDeliveries(tx, { ...chunk, now: now(tx) })
  return await queries.eraseEvents(tx, chunk)
}
