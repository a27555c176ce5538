import { sql } from 'kysely'
import { type Context, now } from '../context.ts'
import { maxRowsPerBatch } from '../jobs/operations.ts'
import type { SealedRows } from '../sealing/reseal.ts'
import { int, statement, text, time } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'

/** Returns a column of secrets, for re-encryption with a new key. Handlers have none. */
function sealedColumn(name: 'secret' | 'previous_secret'): SealedRows {
  return {
    lock: statement.all({ after: int, limit: int }, (db, p, dialect) =>
      db
        .selectFrom('mailkeep_endpoint')
        .select(['id', 'uuid as owner', sql<string>`${sql.ref(name)}`.as('sealed')])
        .where('id', '>', p.after)
        .where('kind', '=', 'http')
        .where(name, 'is not', null)
        .orderBy('id')
        .limit(p.limit)
        .modifyEnd(dialect.forUpdate),
    ),
    save: statement({ id: int, sealed: text }, (db, p) =>
      db.updateTable('mailkeep_endpoint').set(name, p.sealed).where('id', '=', p.id),
    ),
    mayBeLost: false,
    atOnce: maxRowsPerBatch,
  }
}

/** The signing secrets of endpoints. */
export const sealedSecrets = sealedColumn('secret')

/** Their secrets before the last rotation, while they sign too. */
export const sealedPreviousSecrets = sealedColumn('previous_secret')

const deletePrevious = statement({ now: time }, (db, p) =>
  db
    .updateTable('mailkeep_endpoint')
    .set({ previous_secret: null, previous_secret_until: null })
    .where('previous_secret_until', '<=', p.now),
)

/** Deletes the previous secrets that no longer sign. */
export async function deleteExpiredSecrets(ctx: Context): Promise<void> {
  await transact(ctx, (tx) => deletePrevious(tx, { now: now(tx) }))
}
