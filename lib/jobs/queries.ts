import { sql } from 'kysely'
import { int, json, statement, text, texts, time } from '../storage/statement.ts'

export const insertJob = statement(
  { client_id: int, kind: text, target_id: int, state: json, created_at: time },
  (db, row) => db.insertInto('mailkeep_job').values(row).returningAll(),
)

/** The oldest job of these kinds. */
export const findOldestJob = statement({ kinds: texts }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_job')
    .selectAll()
    .where(dialect.anyOf(sql.ref('kind'), p.kinds))
    .orderBy('id')
    .limit(1),
)

export const updateJobState = statement({ id: int, state: json }, (db, p) =>
  db.updateTable('mailkeep_job').set({ state: p.state }).where('id', '=', p.id),
)

export const deleteJob = statement({ id: int }, (db, p) => db.deleteFrom('mailkeep_job').where('id', '=', p.id))
