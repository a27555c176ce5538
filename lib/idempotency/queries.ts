import { sql } from 'kysely'
import { int, ints, statement, text, time } from '../storage/statement.ts'

const answerKey = { client_id: int, key_hash: text }

/** Whether the key was free; until the transaction ends nobody else gets it. */
export const tryLockKey = statement({ name: text }, (_, p, dialect) => dialect.tryLock!(p.name))

/** With whether it is past its time, or shows a contact that is gone: then it is as if it were not there. */
export const findAnswer = statement({ ...answerKey, kept_since: time }, (db, p) =>
  db
    .selectFrom('mailkeep_kept_answer as a')
    .select(['id', 'answer'])
    .select(
      sql<boolean>`created_at < ${p.kept_since} or exists (select 1 from mailkeep_kept_answer_contact as shown
        where shown.answer_id = a.id
          and not exists (select 1 from mailkeep_contact as c where c.id = shown.contact_id))`.as('stale'),
    )
    .where('client_id', '=', p.client_id)
    .where('key_hash', '=', p.key_hash),
)

export const insertAnswer = statement.inserted({ ...answerKey, answer: text, created_at: time }, (db, row) =>
  db.insertInto('mailkeep_kept_answer').values(row),
)

/**
 * Notes whom an answer shows. The contacts are held until the transaction ends: whoever erases one of them comes before
 * this, and it is not noted, or after the commit, and finds the answer. By id alone: asked for their client as well, SQLite
 * would walk all of its contacts.
 */
export const insertShown = statement.affected(
  { answer_id: int, contact_ids: ints },
  (_, p, dialect) => sql`insert into mailkeep_kept_answer_contact (contact_id, answer_id)
    select id, ${p.answer_id} from mailkeep_contact
    where ${dialect.inList(sql.ref('id'), p.contact_ids)} order by id ${dialect.forUpdate}`,
)

export const deleteAnswer = statement({ id: int }, (db, p) =>
  db.deleteFrom('mailkeep_kept_answer').where('id', '=', p.id),
)

/** Of the oldest ones those past their time: by id, so that no index on the time is needed. */
export const deleteOldAnswers = statement.affected(
  { kept_since: time, limit: int },
  (_, p) => sql`delete from mailkeep_kept_answer where created_at < ${p.kept_since} and id in
    (select id from mailkeep_kept_answer order by id limit ${p.limit})`,
)

/** To be sealed anew. */
export const lockAnswers = statement.all({ after: int, limit: int }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_kept_answer')
    .select(['id', 'client_id', 'key_hash', 'answer'])
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.limit)
    .modifyEnd(dialect.forUpdate),
)

export const saveAnswer = statement({ id: int, sealed: text }, (db, p) =>
  db.updateTable('mailkeep_kept_answer').set({ answer: p.sealed }).where('id', '=', p.id),
)
