import { type Connection, plainQuery } from '../connection.ts'
import type { SearchChange } from '../transaction.ts'

/**
 * All clients share one search index. A contact's row id is client × 2^40 + contact, so each client has an id range.
 */
export const searchClientSpan = 2 ** 40

/** The index keeps no copy of the texts, so deleting a row needs the text that was indexed. */
const deleteFromIndex = plainQuery(
  `insert into mailkeep_search (mailkeep_search, rowid, search) values ('delete', ? * ${searchClientSpan} + ?, ?)`,
)
const insertIntoIndex = plainQuery(
  `insert into mailkeep_search (rowid, search) values (? * ${searchClientSpan} + ?, ?)`,
)

/** Each write adds a segment. After every 64 texts, about 16 leaves of them are merged. */
const mergeBatch = { texts: 64, leaves: 16 }

/** Number of segments that FTS5 merges into one of the next level. It is FTS5's `usermerge`, set by the migration. */
export const segmentsPerMerge = 8

/**
 * Returns a function that applies changes to the search index, and merges its segments in small batches. FTS5's
 * automatic merge does more work at a time the more levels the index has, and each purge adds levels. It would block
 * saves for 200 ms.
 */
export function searchIndexer(): (connection: Connection, changes: readonly SearchChange[]) => Promise<void> {
  let texts = 0
  return async (connection, changes) => {
    // Sort by row id, because FTS5 begins a new segment whenever ids do not ascend.
    for (const { clientId, contactId, before, after } of [...changes].sort(byRow)) {
      const key = [BigInt(clientId), BigInt(contactId)]
      if (before !== null) await connection.run({ ...deleteFromIndex, parameters: [...key, before] })
      if (after !== null) await connection.run({ ...insertIntoIndex, parameters: [...key, after] })
      texts += Number(before !== null) + Number(after !== null)
    }
    const batches = Math.floor(texts / mergeBatch.texts)
    if (batches === 0) return
    texts %= mergeBatch.texts
    await connection.run(mergeSegments(batches * mergeBatch.leaves))
  }
}

function byRow(a: SearchChange, b: SearchChange): number {
  return a.clientId - b.clientId || a.contactId - b.contactId
}

/** @param leaves Approximate number of leaves to write. If negative, FTS5 first moves all segments to one level. */
export function mergeSegments(leaves: number) {
  return plainQuery(`insert into mailkeep_search (mailkeep_search, rank) values ('merge', ${leaves})`)
}
