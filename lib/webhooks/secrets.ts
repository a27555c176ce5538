import { sql } from 'kysely'
import { type Context, now } from '../context.ts'
import { maxRowsPerBatch } from '../jobs/operations.ts'
import type { SealedRows } from '../sealing/reseal.ts'
import { int, statement, text, time } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'

const lockSecrets = statement.all({ after: int, limit: int }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_endpoint')
    .select(['id', 'uuid as owner', 'secret as sealed'])
    .where('id', '>', p.after)
    .where('kind', '=', 'http') // handlers have no secret
    .orderBy('id')
    .limit(p.limit)
    .modifyEnd(dialect.forUpdate),
)

const saveSecret = statement({ id: int, sealed: text }, (db, p) =>
  db.updateTable('mailkeep_endpoint').set({ secret: p.sealed }).where('id', '=', p.id),
)

const lockPreviousSecrets = statement.all({ after: int, limit: int }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_endpoint')
    .select(['id', 'uuid as owner', sql<string>`previous_secret`.as('sealed')])
    .where('id', '>', p.after)
    .where('previous_secret', 'is not', null)
    .orderBy('id')
    .limit(p.limit)
    .modifyEnd(dialect.forUpdate),
)

const savePreviousSecret = statement({ id: int, sealed: text }, (db, p) =>
  db.updateTable('mailkeep_endpoint').set({ previous_secret: p.sealed }).where('id', '=', p.id),
)

/** The secrets before the last rotation, while they sign too. */
export const sealedPreviousSecrets: SealedRows = {
  lock: lockPreviousSecrets,
  save: savePreviousSecret,
  mayBeLost: false,
  atOnce: maxRowsPerBatch,
}

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

/** The endpoints' signing secrets, for re-encryption with a new key. */
export const sealedSecrets: SealedRows = {
  lock: lockSecrets,
  save: saveSecret,
  mayBeLost: false,
  atOnce: maxRowsPerBatch,
}
