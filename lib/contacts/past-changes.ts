/**
 * Keeps for 90 days the times of changes that contacts no longer show: the creation of an erased contact, and its
 * unsubscription; the unsubscription of a contact that is subscribed again. `series.ts` counts them too.
 */
import { sql } from 'kysely'
import type { Context, Tx } from '../context.ts'
import { deleteRows } from '../jobs/batches.ts'
import { deleteOlder } from '../jobs/operations.ts'
import { deleteBefore } from '../storage/records.ts'
import { int, ints, statement } from '../storage/statement.ts'
import { dayMs } from '../time.ts'
import { isOwn, markAllSubscribed } from './bulk-queries.ts'

/** Inserts one row for each contact. Transactions would wait for a shared counter row. */
function insertionOf(type: 'created' | 'unsubscribed') {
  const at = sql.ref(`${type}_at`)
  return statement(
    { client_id: int, ids: ints },
    (_, p, dialect) => sql`insert into mailkeep_past_change (client_id, type, at)
      select ${p.client_id}, ${sql.lit(type)}, ${at} from mailkeep_contact
      where ${isOwn(p, dialect)} and ${dialect.inList(sql.ref('id'), p.ids)} and ${at} is not null
      order by id ${dialect.forUpdate}`,
  )
}

const insertCreations = insertionOf('created')
const insertUnsubscriptions = insertionOf('unsubscribed')

/** Stores the creation times of these contacts. Call it before they are erased. */
export function keepCreations(tx: Tx, ids: readonly number[]): void {
  tx.transaction.defer(insertCreations(tx, { client_id: tx.clientId, ids }))
}

/** Subscribes the unsubscribed ones of these contacts, and returns their ids. */
export async function subscribeAgain(tx: Tx, ids: readonly number[]): Promise<number[]> {
  keepUnsubscriptions(tx, ids)
  return (await markAllSubscribed(tx, { client_id: tx.clientId, ids })).map(({ id }) => id)
}

/** Stores the unsubscription times of these contacts. Call it before they are erased or subscribed again. */
export function keepUnsubscriptions(tx: Tx, ids: readonly number[]): void {
  tx.transaction.defer(insertUnsubscriptions(tx, { client_id: tx.clientId, ids }))
}

export const deletePastChangesOfClient = deleteRows('mailkeep_past_change', 'client_id')

const deleteOld = deleteBefore('mailkeep_past_change', 'at')

/** Deletes changes of more than 90 days ago. */
export async function deleteExpiredPastChanges(ctx: Context): Promise<void> {
  await deleteOlder(ctx, 90 * dayMs, deleteOld)
}
