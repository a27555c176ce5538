import { sql } from 'kysely'
import { int, json, statement, text, texts, time } from '../storage/statement.ts'

export const insertJob = statement(
  { client_id: int, kind: text, target_id: int, state: json, created_at: time },
  (db, row) => db.insertInto('mailkeep_job').values(row).returningAll(),
)

/** The oldest job of these kinds that no other process is at; those to be done again, once they are old enough. */
export const claimOldestJob = statement({ kinds: texts, again_before: time }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_job')
    .selectAll()
    .where(dialect.inList(sql.ref('kind'), p.kinds))
    .where((eb) => eb.or([eb('kind', 'not like', '% again'), eb('created_at', '<', p.again_before)]))
    .orderBy('id')
    .limit(1)
    .modifyEnd(dialect.forUpdateSkipLocked),
)

/** Another kind is how a job that is done stays to be looked at. */
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

/** The one of these kinds, where there is one at most. */
export const findJobOfKinds = statement({ client_id: int, kinds: texts }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_job')
    .select(['id', 'kind', 'state'])
    .where('client_id', '=', p.client_id)
    .where(dialect.inList(sql.ref('kind'), p.kinds)),
)

/** Puts a job off until it is as old as the kind asks for. */
export const restJob = statement({ id: int, kind: text, state: json, created_at: time }, (db, p) =>
  db.updateTable('mailkeep_job').set({ kind: p.kind, state: p.state, created_at: p.created_at }).where('id', '=', p.id),
)

export const deleteJob = statement({ id: int }, (db, p) => db.deleteFrom('mailkeep_job').where('id', '=', p.id))

/** Some of those of a kind that were stored before a time. */
export const deleteOldJobs = statement(
  { kind: text, before: time, limit: int },
  (_, p) => sql`delete from mailkeep_job where id in
    (select id from mailkeep_job where kind = ${p.kind} and created_at < ${p.before} order by id limit ${p.limit})`,
)
