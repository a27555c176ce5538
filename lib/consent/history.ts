/** The history of a contact's memberships: append-only, written in the transaction of the change. */
import { groupBy } from '../collections.ts'
import { type Context, now, type Tx } from '../context.ts'
import { listPage, mapPage, type Page, type PageInput, type Range } from '../page.ts'
import * as queries from './queries.ts'
import { type HistoryEntry, type HistoryType, historyEntryFrom } from './schema.ts'

export { deleteHistoryOfContact, deleteHistoryOfContacts, moveHistoryOfContact } from './queries.ts'

/** One change of one contact. */
export interface Change {
  readonly contactId: number
  readonly type: HistoryType
  readonly listId?: number
  readonly topicId?: number
}

/** Browsers send far less. Other clients may send more. */
const maxUserAgentCharacters = 500

/** Records changes that were made, with the caller who made them. They enrol the contacts in sequences, or end that. */
export async function recordHistory(tx: Tx, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return
  writeHistory(tx, changes)
  await tx.local.onMemberships(tx, changes)
}

/** Records changes like `recordHistory`, without an effect on sequences. */
export function writeHistory(tx: Tx, changes: readonly Change[]): void {
  if (changes.length === 0) return
  const { source, tokenId = null, ip = null, userAgent } = tx.caller
  const madeBy = {
    source,
    token_id: tokenId,
    ip,
    user_agent: userAgent?.slice(0, maxUserAgentCharacters) ?? null,
    created_at: now(tx),
  }
  const rows = changes.map(({ contactId, type, listId = null, topicId = null }) => ({
    contact_id: contactId,
    type,
    list_id: listId,
    topic_id: topicId,
  }))
  tx.transaction.defer(
    rows.length === 1
      ? queries.insertChange(tx, { ...rows[0]!, ...madeBy })
      : queries.insertChanges(tx, { changes: rows, ...madeBy }),
  )
}

/** @param contactId A contact of the client. */
export async function listHistory(ctx: Context, contactId: number, query?: PageInput): Promise<Page<HistoryEntry>> {
  const read = (range: Range) => queries.listChanges(ctx, { contact_id: contactId, ...range }, range)
  return mapPage(await listPage(query, read, true), (row) => historyEntryFrom(row as HistoryEntry))
}

/** Returns the id of the last change of any contact; 0 when there is none. */
export async function findLastChange(ctx: Context): Promise<number> {
  return (await queries.findLastChange(ctx, {}))?.id ?? 0
}

/** Returns what changed of some contacts after a change, by contact and in order. */
export async function findChangesSince(
  ctx: Context,
  contactIds: readonly number[],
  changeId: number,
): Promise<Map<number, Change[]>> {
  const rows = await queries.listChangesSince(ctx, { contact_ids: contactIds, after: changeId })
  const changes = rows.map(
    ({ contact_id: contactId, type, list_id, topic_id }): Change => ({
      contactId,
      type,
      ...(list_id && { listId: list_id }),
      ...(topic_id && { topicId: topic_id }),
    }),
  )
  return groupBy(changes, ({ contactId }) => contactId)
}

/** Returns the ids of the lists that a contact left itself, on the page of its preferences, and was not removed from since. */
export async function findListsLeft(ctx: Context, contactId: number, limit: number): Promise<number[]> {
  const rows = await queries.listListsLeftByContact(ctx, { contact_id: contactId, limit })
  return rows.map(({ list_id }) => list_id)
}
