import { sql } from 'kysely'
import type { Context, Tx } from '../context.ts'
import { maxRowsPerBatch } from '../jobs/operations.ts'
import { int, ints, statement, time } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'
import { nextTurn, timestamp } from '../time.ts'
import { deleteEventsWithoutDelivery } from './deletion.ts'

/** Lists rows by id, so that the tables need no index on `created_at`. */
function listOldest(table: 'mailkeep_delivery' | 'mailkeep_event') {
  return statement.all({ after: int, before: time, limit: int }, (db, p) =>
    db
      .selectFrom(table)
      .select(['id', sql<boolean>`created_at < ${p.before}`.as('expired')])
      .where('id', '>', p.after)
      .orderBy('id')
      .limit(p.limit),
  )
}

interface ExpiringTable {
  readonly listOldest: ReturnType<typeof listOldest>
  delete(tx: Tx, rows: { ids: readonly number[] }): Promise<unknown>
}

const deliveries: ExpiringTable = {
  listOldest: listOldest('mailkeep_delivery'),
  /** Deletes deliveries with their attempts. Pending deliveries stay. */
  delete: statement({ ids: ints }, (db, p, dialect) =>
    db
      .deleteFrom('mailkeep_delivery')
      .where(dialect.inList(sql.ref('id'), p.ids))
      .where('status', '<>', 'pending'),
  ),
}

const events: ExpiringTable = {
  listOldest: listOldest('mailkeep_event'),
  delete: deleteEventsWithoutDelivery,
}

/** Deletes deliveries and events older than the retention time, in batches. */
export async function deleteExpired(ctx: Context): Promise<void> {
  const before = timestamp(ctx.clock() - ctx.local.webhooks.settings.retentionDays * 86_400_000)
  for (const kind of [deliveries, events]) {
    for (let after: number | undefined = 0; after !== undefined; ) {
      after = await deleteBatch(ctx, kind, before, after)
      await nextTurn()
    }
  }
}

/** @returns The cursor for the next batch, or undefined at the end. The cursor also moves past rows that stay. */
function deleteBatch(ctx: Context, kind: ExpiringTable, before: string, after: number): Promise<number | undefined> {
  return transact(ctx, async (tx) => {
    const rows = await kind.listOldest(tx, { after, before, limit: maxRowsPerBatch })
    const ids = rows.filter(({ expired }) => expired).map(({ id }) => id)
    if (ids.length === 0) return undefined
    await kind.delete(tx, { ids })
    return rows.at(-1)!.id
  })
}
