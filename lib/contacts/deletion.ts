import { sql } from 'kysely'
import { deleteResultsOfContact } from '../idempotency/operations.ts'
import { type BatchStep, batch, inBatches, weighted } from '../jobs/batches.ts'
import type { JobHandlers } from '../jobs/operations.ts'
import { statement } from '../storage/statement.ts'
import { eraseEventsOfContact } from '../webhooks/deletion.ts'
import { purgeSearches } from './search-purge.ts'

export const clearContact = 'clear contact'

/** The last step of a deletion that removes texts from the search index. */
export const purgeStep: BatchStep = async (tx) => {
  await purgeSearches(tx)
  return 0
}

export const contactJobs: JobHandlers = {
  [clearContact]: inBatches(eraseEventsOfContact, deleteResultsOfContact, purgeStep),
}

const deleteContacts = statement.all(
  batch,
  (_, p) => sql<{ id: number; search: string }>`delete from mailkeep_contact where id in
    (select id from mailkeep_contact where client_id = ${p.target} limit ${p.limit}) returning id, search`,
)

/** Each contact counts as several rows, because its memberships and its search index entry are deleted too. */
export const deleteContactsOfClient: BatchStep = weighted(5, async (tx, { target, limit }) => {
  const deleted = await deleteContacts(tx, { target, limit })
  for (const { id, search } of deleted) {
    tx.transaction.indexSearch({ clientId: target, contactId: id, before: search, after: null })
  }
  return deleted.length
})
