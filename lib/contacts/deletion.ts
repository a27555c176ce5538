import { sql } from 'kysely'
import { deleteHistoryOfContact, deleteHistoryOfContacts } from '../consent/history.ts'
import { deleteResultsOfContact } from '../idempotency/operations.ts'
import { type BatchStep, batch, inBatches, weighted } from '../jobs/batches.ts'
import type { JobHandlers } from '../jobs/operations.ts'
import { ints, statement } from '../storage/statement.ts'
import { eraseEventsOfContact } from '../webhooks/deletion.ts'
import { purgeSearches } from './search.ts'

export const clearContact = 'clear contact'

/** The last step of a deletion that removes texts from the search index. */
export const purgeStep: BatchStep = async (tx) => {
  await purgeSearches(tx)
  return 0
}

/** @param more Further steps of an erasure, of slices above this one. */
export function contactJobs(more: readonly BatchStep[]): JobHandlers {
  return {
    [clearContact]: inBatches(...more, deleteHistoryOfContact, eraseEventsOfContact, deleteResultsOfContact, purgeStep),
  }
}

const listContacts = statement.all(
  batch,
  (_, p) => sql<{ id: number }>`select id from mailkeep_contact where client_id = ${p.target} limit ${p.limit}`,
)

const deleteContacts = statement.all(
  { ids: ints },
  (_, p, dialect) => sql<{ id: number; search: string }>`delete from mailkeep_contact
    where ${dialect.inList(sql.ref('id'), p.ids)} returning id, search`,
)

/** Maximum history rows that are deleted with a batch of contacts. */
const maxHistoryRows = 500

/** Each contact counts as several rows, because its memberships and its search index entry are deleted too. */
export const deleteContactsOfClient: BatchStep = weighted(5, async (tx, { target, limit }) => {
  const ids = (await listContacts(tx, { target, limit })).map(({ id }) => id)
  if (ids.length === 0) return 0
  const changes = await deleteHistoryOfContacts(tx, { contact_ids: ids, limit: maxHistoryRows })
  if (changes === maxHistoryRows) return limit // there may be more
  const deleted = await deleteContacts(tx, { ids })
  for (const { id, search } of deleted) {
    tx.transaction.searchChanges.push({ clientId: target, contactId: id, before: search, after: null })
  }
  return deleted.length
})
