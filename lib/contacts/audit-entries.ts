/** The entries of the audit log for the changes of many contacts. */
import { type AuditedChange, audit, auditAll } from '../audit/operations.ts'
import type { ChangeType } from '../audit/schema.ts'
import type { Context, Tx } from '../context.ts'
import type { EventType } from '../webhooks/schema.ts'
import type { ContactEvent } from './events.ts'

/** Deletions are not here: each erasure writes its own entry. */
const changeOf: Partial<Record<EventType, ChangeType>> = {
  'contact.created': 'contact.created',
  'contact.updated': 'contact.updated',
  'contact.tagged': 'contact.updated',
  'contact.untagged': 'contact.updated',
  'contact.subscribed': 'contact.list_added',
  'contact.list_removed': 'contact.list_removed',
  'contact.unsubscribed': 'contact.unsubscribed',
  'contact.resubscribed': 'contact.resubscribed',
}

/** Records each type of change of a contact once, however many events it has. A new contact has one entry. */
export async function auditEvents(tx: Tx, events: readonly ContactEvent[]): Promise<void> {
  const entries = new Map<string, AuditedChange>()
  for (const { type: event, contactId: targetId } of events) {
    const type = changeOf[event]
    if (type === undefined || entries.has(`contact.created ${targetId}`)) continue
    entries.set(`${type} ${targetId}`, { type, targetId })
  }
  await auditAll(tx, [...entries.values()])
}

/** Returns a function that records a change of several transactions once, with the first that is committed. */
export function auditOnce(
  { caller, transaction }: Context,
  { type, targetId }: AuditedChange,
): (tx: Tx) => Promise<void> {
  let isRecorded = false
  return async (tx) => {
    if (isRecorded) return
    await audit({ ...tx, caller }, type, targetId)
    const confirm = () => {
      isRecorded = true
    }
    // Inside a transaction of the caller there is only one commit.
    if (transaction) confirm()
    else tx.transaction.afterCommit(confirm)
  }
}
