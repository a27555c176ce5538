/** What the mail provider reports about a contact's address. */
import { recordHistory } from '../consent/history.ts'
import type { HistoryType } from '../consent/schema.ts'
import { suppress } from '../consent/suppressions.ts'
import type { Context } from '../context.ts'
import { transact } from '../storage/transaction.ts'
import { type ContactKey, lockContact } from './contact-key.ts'
import * as queries from './queries.ts'

const provider = { source: 'provider' as const }

/**
 * Records that the mailbox of a contact does not exist, as a mail provider reports it: suppresses the address, and adds
 * `bounced` to the history. Does nothing if the address is suppressed already.
 *
 * @throws MailkeepError `not_found`
 */
export async function recordBounce(ctx: Context, key: ContactKey): Promise<void> {
  await report(ctx, key, 'bounced', 'hard_bounce')
}

/**
 * Records that a contact reported a mail as spam: suppresses its address, and adds `complained` to the history. Does
 * nothing if the address is suppressed already.
 *
 * @throws MailkeepError `not_found`
 */
export async function recordComplaint(ctx: Context, key: ContactKey): Promise<void> {
  await report(ctx, key, 'complained', 'complaint')
}

/** Suppresses an address that a contact had before, as a mailbox that does not exist, unless the contact is gone. */
export async function suppressFormerAddress(ctx: Context, contactId: number, email: string): Promise<void> {
  await transact({ ...ctx, caller: provider }, async (tx) => {
    const contact = await queries.lockContact(tx, { client_id: tx.clientId, id: contactId })
    if (contact) await suppress(tx, email, 'hard_bounce')
  })
}

async function report(
  ctx: Context,
  key: ContactKey,
  type: HistoryType,
  reason: 'hard_bounce' | 'complaint',
): Promise<void> {
  await transact({ ...ctx, caller: provider }, async (tx) => {
    const { id: contactId, email } = await lockContact(tx, key)
    const { created } = await suppress(tx, email, reason)
    if (created) await recordHistory(tx, [{ contactId, type }])
  })
}
