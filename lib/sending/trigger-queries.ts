import { sql } from 'kysely'
import { int, ints, statement, time } from '../storage/statement.ts'

/** Takes a list from its sequences, and returns them. */
export const releaseSequences = statement.all(
  { list_id: int, now: time },
  (_, p) => sql<{ id: number }>`update mailkeep_sequence set list_id = null, updated_at = ${p.now}
    where list_id = ${p.list_id} returning id`,
)

/** Lists enrolments that depend on the list of their sequence. */
export const listMembers = statement.all(
  { sequence_id: int, after: int, limit: int },
  (_, p, dialect) => sql<{ id: number }>`select id from mailkeep_enrolment
    where sequence_id = ${p.sequence_id} and id > ${p.after} and is_member order by id limit ${p.limit} ${dialect.forUpdate}`,
)

/** Makes enrolments independent of the list. With `stop`, those that are active stop, because the list was deleted. */
export const releaseMembers = statement(
  { ids: ints },
  (_, p, dialect, { stop }) =>
    sql`update mailkeep_enrolment set ${
      stop
        ? sql`reason = case when status = 'active' then 'left_list' else reason end,
        due_at = case when status = 'active' then null else due_at end,
        status = case when status = 'active' then 'stopped' else status end`
        : sql`is_member = ${sql.lit(false)}`
    } where ${dialect.inList(sql.ref('id'), p.ids)}`,
  ['stop'],
)
