import { sql } from 'kysely'
import type { Context, Tx } from '../context.ts'
import { maxRowsPerBatch } from '../jobs/operations.ts'
import { deleteOldJobs } from '../jobs/queries.ts'
import { int, ints, statement, time } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'
import { nextTurn, timestamp } from '../time.ts'
import { endedKind } from './recovery.ts'

/** By id, so that neither needs an index of its own on the time. */
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

interface Kind {
  readonly listOldest: ReturnType<typeof listOldest>
  delete(tx: Tx, rows: { ids: readonly number[] }): Promise<unknown>
}

const deliveries: Kind = {
  listOldest: listOldest('mailkeep_delivery'),
  /** Their attempts go with them; what is still to be sent stays. */
  delete: statement({ ids: ints }, (db, p, dialect) =>
    db
      .deleteFrom('mailkeep_delivery')
      .where(dialect.inList(sql.ref('id'), p.ids))
      .where('status', '<>', 'pending'),
  ),
}

const events: Kind = {
  listOldest: listOldest('mailkeep_event'),
  delete: statement(
    { ids: ints },
    (_, p, dialect) => sql`delete from mailkeep_event where ${dialect.inList(sql.ref('id'), p.ids)}
      and not exists (select 1 from mailkeep_delivery where event_id = mailkeep_event.id)`,
  ),
}

/** Deletes deliveries, then events and recoveries, past their time, in chunks. */
export async function deleteExpired(ctx: Context): Promise<void> {
  const before = timestamp(ctx.clock() - ctx.webhooks.retentionDays * 86_400_000)
  for (const kind of [deliveries, events]) {
    for (let after: number | undefined = 0; after !== undefined; ) {
      after = await deleteSome(ctx, kind, before, after)
      await nextTurn()
    }
  }
  await transact(ctx, (tx) => deleteOldJobs(tx, { kind: endedKind, before, limit: maxRowsPerBatch }))
}

/** @returns the id after which there may be more; what stays does not hide what is behind it. */
function deleteSome(ctx: Context, kind: Kind, before: string, after: number): Promise<number | undefined> {
  return transact(ctx, async (tx) => {
    const rows = await kind.listOldest(tx, { after, before, limit: maxRowsPerBatch })
    const ids = rows.filter(({ expired }) => expired).map(({ id }) => id)
    if (ids.length === 0) return undefined
    await kind.delete(tx, { ids })
    return rows.at(-1)!.id
  })
}
