import { sql } from 'kysely'
import { int, json, statement, text, texts, time } from '../storage/statement.ts'

export const insertJob = statement(
  { client_id: int, kind: text, target_id: int, state: json, created_at: time },
  (db, row) => db.insertInto('mailkeep_job').values(row).returningAll(),
)

/**
 * Locks the oldest job of these kinds that no other process has locked. Delayed jobs must be older than the given time.
 */
export const claimOldestJob = statement({ kinds: texts, delayed_before: time }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_job')
    .selectAll()
    .where(dialect.inList(sql.ref('kind'), p.kinds))
    .where((eb) => eb.or([eb('kind', 'not like', '% again'), eb('created_at', '<', p.delayed_before)]))
    .orderBy('id')
    .limit(1)
    .modifyEnd(dialect.forUpdateSkipLocked),
)

/** Updates a job's state and kind. A completed job gets another kind, so that it can still be read. */
export const updateJob = statement({ id: int, kind: text, state: json }, (db, p) =>
  db.updateTable('mailkeep_job').set({ kind: p.kind, state: p.state }).where('id', '=', p.id),
)

export const findJobOf = statement({ client_id: int, target_id: int, id: int, kinds: texts }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_job')
    .selectAll()
    .where('client_id', '=', p.client_id)
    .where('target_id', '=', p.target_id)
    .where('id', '=', p.id)
    .where(dialect.inList(sql.ref('kind'), p.kinds)),
)

/** Finds the job of these kinds, of which there is at most one. */
export const findJobOfKinds = statement({ client_id: int, kinds: texts }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_job')
    .select(['id', 'kind', 'state'])
    .where('client_id', '=', p.client_id)
    .where(dialect.inList(sql.ref('kind'), p.kinds)),
)

/** Delays a job. With a delayed kind, it runs once `created_at` is old enough. */
export const postponeJob = statement({ id: int, kind: text, state: json, created_at: time }, (db, p) =>
  db.updateTable('mailkeep_job').set({ kind: p.kind, state: p.state, created_at: p.created_at }).where('id', '=', p.id),
)

export const deleteJob = statement({ id: int }, (db, p) => db.deleteFrom('mailkeep_job').where('id', '=', p.id))

/** Deletes a batch of the jobs of a kind that were stored before a time. */
export const deleteOldJobs = statement(
  { kind: text, before: time, limit: int },
  (_, p) => sql`delete from mailkeep_job where id in
    (select id from mailkeep_job where kind = ${p.kind} and created_at < ${p.before} order by id limit ${p.limit})`,
)
