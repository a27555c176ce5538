import { sql } from 'kysely'
import { type BatchStep, batch, deleteRows, moveRows } from '../jobs/batches.ts'
import { recordStatements } from '../storage/records.ts'
import { int, ints, nullable, statement, text, time, word } from '../storage/statement.ts'
import type { Progress } from './places.ts'
import type { EnrolmentStatus, MessageStatus, SequenceStatus, SkipReason, StopReason } from './statuses.ts'

const key = { client_id: int, id: int }

/** `delete`: the steps are deleted by cascade. */
export const sequences = recordStatements('mailkeep_sequence')

const settings = {
  name: text,
  list_id: nullable(int),
  from_identity_id: nullable(int),
  reply_to: nullable(text),
  status: word<SequenceStatus>(),
  updated_at: time,
}

export const insertSequence = statement({ client_id: int, uuid: text, ...settings, created_at: time }, (db, row) =>
  db.insertInto('mailkeep_sequence').values(row).returningAll(),
)

/** Makes the enrolments independent of the list. */
export const releaseEnrolments = statement(key, (db, p) =>
  db
    .updateTable('mailkeep_sequence')
    .set((eb) => ({ list_version: eb('list_version', '+', 1) }))
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id),
)

export const findListVersion = statement({ id: int }, (db, p) =>
  db.selectFrom('mailkeep_sequence').select('list_version').where('id', '=', p.id),
)

export const updateSequence = statement({ ...key, ...settings }, (db, { client_id, id, ...row }) =>
  db.updateTable('mailkeep_sequence').set(row).where('client_id', '=', client_id).where('id', '=', id),
)

const enrolment = [
  'id',
  'sequence_id',
  'contact_id',
  sql<string | null>`(select email from mailkeep_contact where id = mailkeep_enrolment.contact_id)`.as('contact_email'),
  'status',
  'reason',
  'last_step_id',
  'passed_ids',
  'due_at',
  'created_at',
] as const

export const listEnrolments = statement.range({ sequence_id: int }, (db, p) =>
  db.selectFrom('mailkeep_enrolment').select(enrolment).where('sequence_id', '=', p.sequence_id),
)

export const listEnrolmentsOfContact = statement.all({ contact_id: int }, (db, p) =>
  db.selectFrom('mailkeep_enrolment').select(enrolment).where('contact_id', '=', p.contact_id).orderBy('id'),
)

export const findEnrolment = statement({ sequence_id: int, contact_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_enrolment')
    .select(enrolment)
    .where('sequence_id', '=', p.sequence_id)
    .where('contact_id', '=', p.contact_id),
)

/** Locks the active enrolment that a message belongs to. A message from before `since` is of an earlier step or enrolment. */
export const lockEnrolmentOfMessage = statement(
  { sequence_id: int, contact_id: int, message_id: int },
  (db, p, dialect) =>
    db
      .selectFrom('mailkeep_enrolment')
      .select(['id', 'last_step_id', 'passed_ids'])
      .where('sequence_id', '=', p.sequence_id)
      .where('contact_id', '=', p.contact_id)
      .where('status', '=', sql.lit('active' as const))
      .where('since', '<=', sql<string>`(select created_at from mailkeep_message where id = ${p.message_id})`)
      .modifyEnd(dialect.forUpdate),
)

const start = {
  client_id: int,
  sequence_id: int,
  list_version: nullable(int),
  since: time,
  due_at: nullable(time),
}

/** Enrols a contact by hand. An enrolment that has ended begins again. */
export const enrol = statement(
  { ...start, contact_id: int },
  (_, p) => sql<{ id: number }>`
  insert into mailkeep_enrolment (client_id, sequence_id, contact_id, status, list_version, since, due_at, created_at)
  values (${p.client_id}, ${p.sequence_id}, ${p.contact_id}, 'active', ${p.list_version}, ${p.since}, ${p.due_at}, ${p.since})
  on conflict (sequence_id, contact_id) do update set status = 'active', reason = null, last_step_id = null,
    passed_ids = null, list_version = excluded.list_version, since = excluded.since, due_at = excluded.due_at
  where mailkeep_enrolment.status <> 'active' returning id`,
)

/** Enrols subscribed contacts who joined the list of a sequence. Each is enrolled once. */
export const enrolAll = statement.affected(
  { ...start, contact_ids: ints },
  (_, p, dialect) => sql`
  insert into mailkeep_enrolment (client_id, sequence_id, contact_id, status, list_version, since, due_at, created_at)
  select ${p.client_id}, ${p.sequence_id}, c.id, 'active', ${p.list_version}, ${p.since}, ${p.due_at}, ${p.since}
  from ${dialect.unnest(p.contact_ids)} cross join mailkeep_contact as c
  where c.id = item.value and c.client_id = ${p.client_id} and c.unsubscribed_at is null
  on conflict (sequence_id, contact_id) do nothing`,
)

/** Lists the active sequences of a list. The delay is that of the first step; null if there is no step. */
export const listTriggered = statement.all(
  { list_id: int },
  (_, p) => sql<{ id: number; list_version: number; delay_seconds: number | null }>`
    select s.id, s.list_version, (select delay_seconds from mailkeep_step where sequence_id = s.id and not is_removed
      order by position limit 1) as delay_seconds
    from mailkeep_sequence as s where s.list_id = ${p.list_id} and s.status = 'active'`,
)

const stop = sql`status = 'stopped', due_at = null`

export const stopEnrolments = statement(
  { ids: ints, reason: word<StopReason>() },
  (_, p, dialect) => sql`
  update mailkeep_enrolment set ${stop}, reason = ${p.reason} where ${dialect.inList(sql.ref('id'), p.ids)}`,
)

/** Stops the active enrolments of contacts; with `list_id` those that depend on their membership of this list. */
export const stopEnrolmentsOf = statement(
  { contact_ids: ints, reason: word<StopReason>(), list_id: int },
  (_, p, dialect, { onList }) => sql`update mailkeep_enrolment set ${stop}, reason = ${p.reason}
    where ${dialect.inList(sql.ref('contact_id'), p.contact_ids)} and status = 'active'
      ${onList ? sql`and (sequence_id, list_version) in (select id, list_version from mailkeep_sequence where list_id = ${p.list_id})` : sql``}`,
  ['onList'],
)

export const stopEnrolment = statement.affected(
  { sequence_id: int, contact_id: int },
  (_, p) => sql`update mailkeep_enrolment set ${stop}, reason = 'manual'
    where sequence_id = ${p.sequence_id} and contact_id = ${p.contact_id} and status = 'active'`,
)

/** Saves the place of an enrolment that is active. */
export const saveProgress = statement.affected(
  {
    id: int,
    status: word<EnrolmentStatus>(),
    last_step_id: nullable(int),
    passed_ids: nullable(text),
    since: time,
    due_at: nullable(time),
  },
  (db, { id, ...row }) =>
    db
      .updateTable('mailkeep_enrolment')
      .set(row)
      .where('id', '=', id)
      .where('status', '=', sql.lit('active' as const)),
)

/** Waits for the outcome of the message of the step. */
export const setUnderWay = statement({ id: int }, (db, p) =>
  db.updateTable('mailkeep_enrolment').set({ due_at: null }).where('id', '=', p.id),
)

interface Waiting extends Progress {
  id: number
  contact_id: number
  since: string
}

/** Lists active enrolments that wait for a step, and not for the outcome of a message. */
export const listWaiting = statement.all(
  { sequence_id: int, after: int, limit: int },
  (_, p, dialect) => sql<Waiting>`
    select id, contact_id, last_step_id, passed_ids, since from mailkeep_enrolment as e
    where sequence_id = ${p.sequence_id} and status = 'active' and id > ${p.after}
      and (due_at is not null or not exists (select 1 from mailkeep_message as m
        where m.sequence_id = e.sequence_id and m.contact_id = e.contact_id and m.status = 'pending'))
    order by id limit ${p.limit} ${dialect.forUpdate}`,
)

export const setDue = statement.each(
  { id: int, due_at: nullable(time), passed_ids: nullable(text) },
  (item, from) => sql`
    update mailkeep_enrolment set due_at = ${item.due_at}, passed_ids = ${item.passed_ids} ${from} where mailkeep_enrolment.id = ${item.id}`,
)

export const insertStepMessage = statement.inserted(
  {
    client_id: int,
    uuid: text,
    created_at: time,
    contact_id: int,
    sequence_id: int,
    step_id: int,
    status: word<MessageStatus>(),
    reason: nullable(word<SkipReason>()),
    attempts: int,
    due_at: time,
    claim: nullable(text),
    claimed_at: nullable(time),
    lease_until: nullable(time),
  },
  (db, row) => db.insertInto('mailkeep_message').values(row),
)

const ofContact = (p: { target: unknown; limit: unknown }) => sql`select id from mailkeep_enrolment
  where contact_id = ${p.target} and status = 'active' limit ${p.limit}`

export const stopEnrolmentsOfErased: BatchStep = statement.affected(
  batch,
  (_, p) => sql`update mailkeep_enrolment set ${stop}, reason = 'erased' where id in (${ofContact(p)})`,
)

/** Moves the enrolments of a merged contact in sequences where the contact that stays has none. */
export const moveEnrolments = moveRows(
  (p) => sql`update mailkeep_enrolment set contact_id = ${p.into} where id in (select id from mailkeep_enrolment as own
    where own.contact_id = ${p.target} and not exists (select 1 from mailkeep_enrolment as other
      where other.sequence_id = own.sequence_id and other.contact_id = ${p.into}) limit ${p.limit})`,
)

export const deleteEnrolmentsOfClient: BatchStep = statement.affected(
  batch,
  (_, p) => sql`delete from mailkeep_enrolment where id in (select id from mailkeep_enrolment
    where sequence_id in (select id from mailkeep_sequence where client_id = ${p.target}) limit ${p.limit})`,
)

export const deleteSequencesOfClient = deleteRows('mailkeep_sequence', 'client_id')
