import { type Connection, plainQuery, type SearchChange, withParameters } from '../connection.ts'

/** One index of searches serves all clients: a contact's row there is client × 2^40 + contact, so a client is a range. */
export const searchClientSpan = 2 ** 40

/** The index has no copy of the texts: what leaves it must be told as it was. */
const leaveIndex = plainQuery(
  `insert into mailkeep_search (mailkeep_search, rowid, search) values ('delete', ? * ${searchClientSpan} + ?, ?)`,
)
const enterIndex = plainQuery(`insert into mailkeep_search (rowid, search) values (? * ${searchClientSpan} + ?, ?)`)

/** What is written goes to a segment of its own: these are merged, so much of them each time so many texts were written. */
const portion = { texts: 64, leaves: 16 }

/** So many segments of a level make one of the next: FTS5's `usermerge`, set by the migration. */
export const mergedTogether = 8

/**
 * Brings an index of searches in step with changes, and merges its segments little by little. FTS5's own merging does
 * more at once the more levels the index has, and each purge adds levels: it would hold up saves for 200 ms.
 */
export function searchIndexer(): (connection: Connection, changes: readonly SearchChange[]) => Promise<void> {
  let texts = 0
  return async (connection, changes) => {
    // FTS5 begins a segment whenever ids do not ascend.
    for (const { clientId, contactId, before, after } of [...changes].sort(byRow)) {
      const key = [BigInt(clientId), BigInt(contactId)]
      if (before !== null) await connection.executeQuery(withParameters(leaveIndex, [...key, before]))
      if (after !== null) await connection.executeQuery(withParameters(enterIndex, [...key, after]))
      texts += Number(before !== null) + Number(after !== null)
    }
    const portions = Math.floor(texts / portion.texts)
    if (portions === 0) return
    texts %= portion.texts
    await connection.executeQuery(mergeSegments(portions * portion.leaves))
  }
}

function byRow(a: SearchChange, b: SearchChange): number {
  return a.clientId - b.clientId || a.contactId - b.contactId
}

/** @param leaves How many are written, roughly; below zero, all segments are put on one level first. */
export function mergeSegments(leaves: number) {
  return plainQuery(`insert into mailkeep_search (mailkeep_search, rank) values ('merge', ${leaves})`)
}
