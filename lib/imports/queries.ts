import { deleteRows } from '../jobs/batches.ts'
import { deleteOldestBefore, recordStatements } from '../storage/records.ts'
import { bool, int, nullable, statement, text, time, word } from '../storage/statement.ts'
import type { Import } from './schema.ts'

export const imports = recordStatements('mailkeep_import')

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

export const deleteOldImports = deleteOldestBefore('mailkeep_import', 'started_at')

export const deleteImportsOfClient = deleteRows('mailkeep_import', 'client_id')
