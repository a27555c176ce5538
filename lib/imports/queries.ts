import { sql } from 'kysely'
import { deleteRows } from '../jobs/batches.ts'
import { bool, int, nullable, statement, text, time, word } from '../storage/statement.ts'
import type { Import } from './schema.ts'

export const insertImport = statement.inserted(
  { client_id: int, list_id: nullable(int), dry_run: bool, started_at: time },
  (db, { started_at, ...row }) =>
    db.insertInto('mailkeep_import').values({ ...row, status: 'running', started_at, seen_at: started_at } as never),
)

const counts = { row_count: int, created: int, updated: int, skipped: int, refused: int }

export const updateProgress = statement.affected({ id: int, ...counts, seen_at: time }, (db, { id, ...progress }) =>
  db.updateTable('mailkeep_import').set(progress).where('id', '=', id),
)

export const finishImport = statement.affected(
  { id: int, ...counts, status: word<Import['status']>(), error: nullable(text), seen_at: time },
  (db, { id, seen_at, ...end }) =>
    db
      .updateTable('mailkeep_import')
      .set({ ...end, seen_at, finished_at: seen_at })
      .where('id', '=', id),
)

export const findImport = statement({ client_id: int, id: int }, (db, p) =>
  db.selectFrom('mailkeep_import').selectAll().where('client_id', '=', p.client_id).where('id', '=', p.id),
)

export const listImports = statement.range({ client_id: int }, (db, p) =>
  db.selectFrom('mailkeep_import').selectAll().where('client_id', '=', p.client_id),
)

/**
 * Deletes the oldest imports. Ids ascend with the time, so the table needs no index on `started_at`. Imports of the future
 * are passed over: the clock was set back since.
 */
export const deleteOldImports = statement.affected(
  { before: time, now: time, limit: int },
  (_, p) => sql`delete from mailkeep_import where started_at < ${p.before} and id in
    (select id from mailkeep_import where started_at <= ${p.now} order by id limit ${p.limit})`,
)

export const deleteImportsOfClient = deleteRows('mailkeep_import', 'client_id')
