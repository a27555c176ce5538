import { maxRowsPerBatch } from '../jobs/operations.ts'
import type { SealedRows } from '../sealing/reseal.ts'
import { int, statement, text } from '../storage/statement.ts'

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

/** The endpoints' signing secrets, for re-encryption with a new key. */
export const sealedSecrets: SealedRows = {
  lock: lockSecrets,
  save: saveSecret,
  mayBeLost: false,
  atOnce: maxRowsPerBatch,
}
