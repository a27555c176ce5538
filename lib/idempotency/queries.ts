import { sql } from 'kysely'
import { batch, deleteRows } from '../jobs/batches.ts'
import { deleteOldestBefore } from '../storage/records.ts'
import { int, ints, statement, text, time } from '../storage/statement.ts'

const answerKey = { client_id: int, key_hash: text }

/** Tries to lock the key until the transaction ends. */
export const tryLockKey = statement({ name: text }, (_, p, dialect) => dialect.tryLock!(p.name))

/** Finds the stored result. It is `stale` if it has expired or contains a deleted contact, and must then be ignored. */
export const findResult = statement({ ...answerKey, valid_since: time }, (db, p) =>
  db
    .selectFrom('mailkeep_kept_answer as a')
    .select(['id', 'answer'])
    .select(
      sql<boolean>`created_at < ${p.valid_since} or exists (select 1 from mailkeep_kept_answer_contact as shown
        where shown.answer_id = a.id
          and not exists (select 1 from mailkeep_contact as c where c.id = shown.contact_id))`.as('stale'),
    )
    .where('client_id', '=', p.client_id)
    .where('key_hash', '=', p.key_hash),
)

export const insertResult = statement.inserted({ ...answerKey, answer: text, created_at: time }, (db, row) =>
  db.insertInto('mailkeep_kept_answer').values(row),
)

/**
 * Records which contacts a result contains, and locks these contacts until the transaction ends. A concurrent erasure
 * either comes first, and the contact is not recorded, or waits for the commit and then finds the result. The query
 * does not filter by client, because SQLite would then scan all contacts of the client.
 */
export const insertResultContacts = statement.affected(
  { answer_id: int, contact_ids: ints },
  (_, p, dialect) => sql`insert into mailkeep_kept_answer_contact (contact_id, answer_id)
    select id, ${p.answer_id} from mailkeep_contact
    where ${dialect.inList(sql.ref('id'), p.contact_ids)} order by id ${dialect.forUpdate}`,
)

export const deleteResult = statement({ id: int }, (db, p) =>
  db.deleteFrom('mailkeep_kept_answer').where('id', '=', p.id),
)

export const deleteExpiredResults = deleteOldestBefore('mailkeep_kept_answer', 'created_at')

export const deleteResultsOfContact = statement.affected(
  batch,
  (_, p) => sql`delete from mailkeep_kept_answer where id in
    (select answer_id from mailkeep_kept_answer_contact where contact_id = ${p.target} limit ${p.limit})`,
)

/** Lets the results that contain a merged contact follow the contact it was merged into. */
export const copyResultsOfContact = statement(
  { target: int, into: int },
  (_, p) => sql`insert into mailkeep_kept_answer_contact (contact_id, answer_id)
    select ${p.into}, answer_id from mailkeep_kept_answer_contact where contact_id = ${p.target}
    on conflict do nothing`,
)

export const forgetContact = statement.affected(
  { target: int },
  (_, p) => sql`delete from mailkeep_kept_answer_contact where contact_id = ${p.target}`,
)

export const deleteResultsOfClient = deleteRows('mailkeep_kept_answer', 'client_id')

/** Reads and locks results that are to be re-encrypted. */
export const lockResults = statement.all({ after: int, limit: int }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_kept_answer')
    .select(['id', 'client_id', 'key_hash', 'answer'])
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.limit)
    .modifyEnd(dialect.forUpdate),
)

export const saveResult = statement({ id: int, sealed: text }, (db, p) =>
  db.updateTable('mailkeep_kept_answer').set({ answer: p.sealed }).where('id', '=', p.id),
)
