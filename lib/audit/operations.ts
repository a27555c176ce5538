import { type Context, now, type Tx } from '../context.ts'
import { deleteOlder } from '../jobs/operations.ts'
import { mapPage, type Page, readPage } from '../page.ts'
import { parse } from '../parse.ts'
import { dayMs } from '../time.ts'
import * as queries from './queries.ts'
import { type AuditEntry, AuditQuery, type AuditQueryInput, type ChangeType, entryFrom } from './schema.ts'

export { deleteEntriesOfClient } from './queries.ts'

/** Records a change in its own transaction, with the caller who made it. `clientId`: the client that it concerns. */
export function audit(tx: Tx, type: ChangeType, targetId: number, clientId = tx.clientId): void {
  const { source, tokenId = null } = tx.caller
  const entry = { client_id: clientId, token_id: tokenId, source, type, target_id: targetId, created_at: now(tx) }
  tx.transaction.defer(queries.insertEntry(tx, entry))
}

/** Records an update in its own transaction. An update without a field changes nothing, so it has no entry. */
export function auditUpdate(tx: Tx, type: ChangeType, targetId: number, change: object): void {
  if (Object.values(change).some((value) => value !== undefined)) audit(tx, type, targetId)
}

/** A change of one record. */
export interface AuditedChange {
  readonly type: ChangeType
  readonly targetId: number
}

/** Records changes of records in their own transaction, with the caller who made them. */
export function auditAll(tx: Tx, changes: readonly AuditedChange[]): void {
  if (changes.length === 0) return
  const { source, tokenId = null } = tx.caller
  const rows = changes.map(({ type, targetId }) => ({ type, target_id: targetId }))
  const madeBy = { client_id: tx.clientId, token_id: tokenId, source, created_at: now(tx) }
  tx.transaction.defer(
    rows.length === 1
      ? queries.insertEntry(tx, { ...madeBy, ...rows[0]! })
      : queries.insertEntries(tx, { ...madeBy, changes: rows }),
  )
}

/** Returns a function that records a change of several transactions once, with the first that is committed. */
export function auditOnce({ caller, transaction }: Context, { type, targetId }: AuditedChange): (tx: Tx) => void {
  let isRecorded = false
  return (tx) => {
    if (isRecorded) return
    audit({ ...tx, caller }, type, targetId)
    const confirm = () => {
      isRecorded = true
    }
    // Inside a transaction of the caller there is only one commit.
    if (transaction) confirm()
    else tx.transaction.afterCommit(confirm)
  }
}

/**
 * Returns one page of the client's audit log, newest first: who changed what, and when. Entries are kept for 90 days.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listAuditLog(ctx: Context, query: AuditQueryInput = {}): Promise<Page<AuditEntry>> {
  const { token, type, ...pageQuery } = parse(AuditQuery, query)
  const filters = { client_id: ctx.clientId, token_id: token ?? 0, type: type ?? 'client.created' }
  const flags = { byToken: token !== undefined, byType: type !== undefined }
  const page = await readPage(
    pageQuery,
    ({ desc, ...range }) => queries.listEntries(ctx, { ...filters, ...range }, { desc, ...flags }),
    true,
  )
  return mapPage(page, (row) => entryFrom(row as AuditEntry))
}

/** Deletes entries older than 90 days, in batches. */
export async function deleteExpiredEntries(ctx: Context): Promise<void> {
  await deleteOlder(ctx, 90 * dayMs, queries.deleteOldEntries)
}
