import { sql } from 'kysely'
import { deleteRows } from '../jobs/batches.ts'
import { deleteOldestBefore } from '../storage/records.ts'
import { int, nullable, rows, statement, time, word } from '../storage/statement.ts'
import type { AuditEntry, ChangeType } from './schema.ts'

const madeBy = { client_id: int, token_id: nullable(int), source: word<AuditEntry['source']>(), created_at: time }
const change = { type: word<ChangeType>(), target_id: int }

export const insertEntry = statement.affected({ ...madeBy, ...change }, (db, row) =>
  db.insertInto('mailkeep_audit').values(row),
)

export const insertEntries = statement.affected(
  { ...madeBy, changes: rows(change) },
  (_, p, dialect) => sql`insert into mailkeep_audit (client_id, token_id, source, type, target_id, created_at)
    select ${p.client_id}, ${p.token_id}, ${p.source}, item.type, item.target_id, ${p.created_at}
    from ${dialect.unnestRows(p.changes, change)}`,
)

/** Lists entries from the index of the given filters. */
export const listEntries = statement.range(
  { client_id: int, token_id: int, type: word<ChangeType>() },
  (db, p, _, { byToken, byType }) => {
    let query = db
      .selectFrom('mailkeep_audit')
      .select(['id', 'type', 'target_id', 'token_id', 'source', 'created_at'])
      .where('client_id', '=', p.client_id)
    if (byToken) query = query.where('token_id', '=', p.token_id)
    return byType ? query.where('type', '=', p.type) : query
  },
  ['byToken', 'byType'],
)

export const deleteOldEntries = deleteOldestBefore('mailkeep_audit', 'created_at')

export const deleteEntriesOfClient = deleteRows('mailkeep_audit', 'client_id')
