import { type Connection, plainQuery, type SearchChange, withParameters } from '../connection.ts'

/** One index of searches serves all clients: a contact's row there is client × 2^40 + contact, so a client is a range. */
export const searchClientSpan = 2 ** 40

/** The index has no copy of the texts: what leaves it must be told as it was. */
const leaveIndex = plainQuery(
  `insert into mailkeep_search (mailkeep_search, rowid, search) values ('delete', ? * ${searchClientSpan} + ?, ?)`,
)
const enterIndex = plainQuery(`insert into mailkeep_search (rowid, search) values (? * ${searchClientSpan} + ?, ?)`)

/** Brings the index of searches in step with these changes. */
export async function indexSearch(connection: Connection, changes: readonly SearchChange[]): Promise<void> {
  for (const { clientId, contactId, before, after } of changes) {
    const key = [BigInt(clientId), BigInt(contactId)]
    if (before !== null) await connection.executeQuery(withParameters(leaveIndex, [...key, before]))
    if (after !== null) await connection.executeQuery(withParameters(enterIndex, [...key, after]))
  }
}
