import { deleteRows } from '../jobs/batches.ts'
import { recordStatements } from '../storage/records.ts'
import { int, statement, text, time } from '../storage/statement.ts'

export const segments = recordStatements('mailkeep_segment')

export const insertSegment = statement(
  { client_id: int, uuid: text, name: text, filters: text, created_at: time },
  (db, row) => db.insertInto('mailkeep_segment').values(row).returningAll(),
)

export const updateSegment = statement({ client_id: int, id: int, name: text, filters: text }, (db, p) =>
  db
    .updateTable('mailkeep_segment')
    .set({ name: p.name, filters: p.filters })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .returningAll(),
)

export const deleteSegmentsOfClient = deleteRows('mailkeep_segment', 'client_id')
