/**
 * Counts changes that contacts no longer show: the creation of an erased contact, and its unsubscription; the
 * unsubscription of a contact that is subscribed again. `series.ts` adds them to those that contacts show.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Context, Tx } from '../context.ts'
import { type BatchStep, batch } from '../jobs/batches.ts'
import { deleteOlder } from '../jobs/operations.ts'
import type { Dialect } from '../storage/dialect.ts'
import { int, ints, statement, time } from '../storage/statement.ts'
import { dayMs } from '../time.ts'

const those = { client_id: int, ids: ints }

type Slots = { readonly [Name in keyof typeof those]: RawBuilder<unknown> }

/** Adds a time of these contacts to the counts. */
function add(column: 'created_at' | 'unsubscribed_at', p: Slots, dialect: Dialect) {
  const isCreation = sql.lit(column === 'created_at' ? 1 : 0)
  const at = sql.ref(column)
  return sql`insert into mailkeep_past_change (client_id, at, created, unsubscribed)
    select ${p.client_id}, at, sum(${isCreation}), sum(1 - ${isCreation}) from (select ${at} as at from mailkeep_contact
      where client_id = ${p.client_id} and ${dialect.inList(sql.ref('id'), p.ids)} and ${at} is not null ${dialect.forUpdate}
    ) as past group by at order by at
    on conflict (client_id, at) do update set created = mailkeep_past_change.created + excluded.created,
      unsubscribed = mailkeep_past_change.unsubscribed + excluded.unsubscribed`
}

const addCreations = statement(those, (_, p, dialect) => add('created_at', p, dialect))
const addUnsubscriptions = statement(those, (_, p, dialect) => add('unsubscribed_at', p, dialect))

/** Call it before these contacts are erased. */
export function keepCreations(tx: Tx, ids: readonly number[]): void {
  tx.transaction.defer(addCreations(tx, { client_id: tx.clientId, ids }))
}

/** Call it before these contacts are erased or subscribed again. */
export function keepUnsubscriptions(tx: Tx, ids: readonly number[]): void {
  tx.transaction.defer(addUnsubscriptions(tx, { client_id: tx.clientId, ids }))
}

const identity = sql.raw('client_id, at')

export const deletePastChangesOfClient: BatchStep = statement.affected(
  batch,
  (_, p) => sql`delete from mailkeep_past_change where (${identity}) in
    (select ${identity} from mailkeep_past_change where client_id = ${p.target} limit ${p.limit})`,
)

const deleteOld = statement.affected(
  { before: time, limit: int },
  (_, p) => sql`delete from mailkeep_past_change where (${identity}) in
    (select ${identity} from mailkeep_past_change where at < ${p.before} limit ${p.limit})`,
)

/** Deletes counts of more than 90 days ago. */
export async function deleteExpiredPastChanges(ctx: Context): Promise<void> {
  await deleteOlder(ctx, 90 * dayMs, deleteOld)
}
