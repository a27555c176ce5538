import { sql } from 'kysely'
import type { Context } from '../context.ts'
import { chunkRows } from '../jobs/operations.ts'
import { int, statement, time } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'
import { timestamp } from '../time.ts'

const chunk = { before: time, limit: int }

/** Of the oldest deliveries, those past their time; what is still to be sent stays. Its attempts go with it. */
const deleteOldDeliveries = statement.affected(
  chunk,
  (_, p) => sql`delete from mailkeep_delivery where id in (
    select id from (select id, created_at, status from mailkeep_delivery order by id limit ${p.limit}) as oldest
    where created_at < ${p.before} and status <> 'pending')`,
)

const deleteOldEvents = statement.affected(
  chunk,
  (_, p) => sql`delete from mailkeep_event where id in (
    select id from (select id, created_at from mailkeep_event order by id limit ${p.limit}) as oldest
    where created_at < ${p.before}
      and not exists (select 1 from mailkeep_delivery where event_id = oldest.id))`,
)

/** Deletes deliveries, and then events, past their time, in chunks. */
export async function deleteExpired(ctx: Context): Promise<void> {
  const before = timestamp(ctx.clock() - ctx.webhooks.retentionDays * 86_400_000)
  for (const deleteSome of [deleteOldDeliveries, deleteOldEvents]) {
    while ((await transact(ctx, (tx) => deleteSome(tx, { before, limit: chunkRows }))) > 0) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}
