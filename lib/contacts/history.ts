import { listHistory } from '../consent/history.ts'
import type { HistoryEntry } from '../consent/schema.ts'
import type { Context } from '../context.ts'
import type { Page, PageInput } from '../page.ts'
import { type ContactKey, requireContact } from './contact-key.ts'

/**
 * Returns one page of a contact's history, newest first: what changed its lists, topics and subscription, and where the
 * change came from. Entries are never changed, and are erased with the contact.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function listContactHistory(ctx: Context, id: ContactKey, query?: PageInput): Promise<Page<HistoryEntry>> {
  return await listHistory(ctx, await requireContact(ctx, id), query)
}
