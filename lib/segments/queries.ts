import { deleteRows } from '../jobs/batches.ts'
import { int, statement, text, time } from '../storage/statement.ts'

const columns = ['id', 'uuid', 'name', 'filters', 'created_at'] as const

export const listSegments = statement.range({ client_id: int }, (db, p) =>
  db.selectFrom('mailkeep_segment').select(columns).where('client_id', '=', p.client_id),
)

export const findSegment = statement({ client_id: int, id: int }, (db, p) =>
  db.selectFrom('mailkeep_segment').select(columns).where('client_id', '=', p.client_id).where('id', '=', p.id),
)

/** Locks the segment, so that it is not changed or deleted before this transaction ends. */
export const lockSegment = statement({ client_id: int, id: int }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_segment')
    .select(columns)
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .modifyEnd(dialect.forUpdate),
)

export const insertSegment = statement(
  { client_id: int, uuid: text, name: text, filters: text, created_at: time },
  (db, row) => db.insertInto('mailkeep_segment').values(row).returning(columns),
)

export const updateSegment = statement({ client_id: int, id: int, name: text, filters: text }, (db, p) =>
  db
    .updateTable('mailkeep_segment')
    .set({ name: p.name, filters: p.filters })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .returning(columns),
)

export const deleteSegment = statement.affected({ client_id: int, id: int }, (db, p) =>
  db.deleteFrom('mailkeep_segment').where('client_id', '=', p.client_id).where('id', '=', p.id),
)

export const deleteSegmentsOfClient = deleteRows('mailkeep_segment', 'client_id')
