import { sql } from 'kysely'
import { type Context, now, type Tx } from '../context.ts'
import { int, ints, statement, time } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'
import { dayMs, nextTurn, timestamp } from '../time.ts'
import { maxRowsPerBatch } from './operations.ts'

type ExpiringTable = 'mailkeep_delivery' | 'mailkeep_event' | 'mailkeep_message'

/**
 * Returns a function that deletes the rows of a table older than a number of days, in batches. It reads them by id, so
 * that the table needs no index on `created_at`.
 *
 * @param deleteRows Deletes those of the rows that may be deleted. The others stay.
 */
export function deleteOldest(
  table: ExpiringTable,
  deleteRows: (tx: Tx, rows: { ids: readonly number[] }) => Promise<unknown>,
): (ctx: Context, retentionDays: number) => Promise<void> {
  const listOldest = statement.all({ after: int, before: time, now: time, limit: int }, (db, p) =>
    db
      .selectFrom(table)
      .select([
        'id',
        sql<boolean>`created_at < ${p.before}`.as('is_expired'),
        sql<boolean>`created_at > ${p.now}`.as('is_future'),
      ])
      .where('id', '>', p.after)
      .orderBy('id')
      .limit(p.limit),
  )
  /**
   * @returns The cursor for the next batch, or 0 at the end. The cursor also moves past rows that stay, and past those from
   *   before the clock was set back.
   */
  const deleteBatch = async (tx: Tx, before: string, after: number): Promise<number> => {
    const rows = await listOldest(tx, { after, before, now: now(tx), limit: maxRowsPerBatch })
    const ids = rows.filter(({ is_expired }) => is_expired).map(({ id }) => id)
    if (ids.length > 0) await deleteRows(tx, { ids })
    return ids.length > 0 || rows.some(({ is_future }) => is_future) ? rows.at(-1)!.id : 0
  }
  return async (ctx, retentionDays) => {
    const before = timestamp(ctx.clock() - retentionDays * dayMs)
    let after = 0
    do {
      after = await transact(ctx, (tx) => deleteBatch(tx, before, after))
      await nextTurn()
    } while (after > 0)
  }
}

/** Deletes rows by id, but not pending ones. */
export function deleteFinal(table: 'mailkeep_delivery' | 'mailkeep_message') {
  return statement(
    { ids: ints },
    (_, p, dialect) => sql`
    delete from ${sql.table(table)} where ${dialect.inList(sql.ref('id'), p.ids)} and status <> 'pending'`,
  )
}
