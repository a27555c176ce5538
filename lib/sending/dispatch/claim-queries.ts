/** The statements of the loop that sends mail. */
import { type RawBuilder, sql } from 'kysely'
import { isSuppressed } from '../../consent/suppressions.ts'
import { claimsOf } from '../../dispatch/claims.ts'
import type { Dialect } from '../../storage/dialect.ts'
import { int, ints, nullable, statement, text, time, word } from '../../storage/statement.ts'
import type { Progress } from '../places.ts'
import type { MessageStatus, SkipReason } from '../statuses.ts'

interface DueRow {
  kind: 'newsletter' | 'sequence'
  id: number
  client_id: number
  from_identity_id: number | null
  due_at: string
}

/**
 * `verified`: only those whose sender is verified. `local`: a client needs no sender. `waiting`: also those that wait for
 * a sender.
 */
interface CampaignFlags {
  readonly verified: boolean
  readonly local: boolean
  readonly waiting: boolean
}

/**
 * Whether the client exists and the sender may send; without a sender, whether the client has one. The messages of a
 * deleted client are deleted by a job.
 */
function canSend(campaign: string, { verified, local, waiting }: CampaignFlags): RawBuilder<unknown> {
  const [client, from] = [sql.ref(`${campaign}.client_id`), sql.ref(`${campaign}.from_identity_id`)]
  const isOpen = sql`exists (select 1 from mailkeep_client as k where k.id = ${client} and k.deleted_at is null)`
  if (waiting) return isOpen
  const isKnown = sql`exists (select 1 from mailkeep_identity as i where i.client_id = ${client}
    and (${from} is null or i.id = ${from}) ${verified ? sql`and i.identity_status = 'verified'` : sql``})`
  return sql`${isOpen} and ${local ? sql`(${from} is null or ${isKnown})` : isKnown}`
}

/** The identity that sends; without one, the one that `findSender` chooses. */
function senderOf(campaign: string, { verified }: CampaignFlags): RawBuilder<unknown> {
  return sql`coalesce(${sql.ref(`${campaign}.from_identity_id`)}, (select min(i.id) from mailkeep_identity as i
    where i.client_id = ${sql.ref(`${campaign}.client_id`)} ${verified ? sql`and i.identity_status = 'verified'` : sql``}))`
}

/**
 * Lists the campaigns that have work now or later, with the time of the first. Each costs a few index seeks. A campaign
 * without a sender waits for one. A sequence may be listed twice: for its messages, and for its enrolments.
 */
export const listCampaigns = statement.all(
  {},
  (_, __, ___, flags) => sql<DueRow>`select * from (
    select 'newsletter' as kind, n.id, n.client_id, ${senderOf('n', flags)} as from_identity_id, (select min(due_at) from mailkeep_message
      where newsletter_id = n.id and status = 'pending' and lease_until is null) as due_at
    from mailkeep_newsletter as n where n.status = 'sending' and ${canSend('n', flags)}
    union all
    select 'sequence', s.id, s.client_id, ${senderOf('s', flags)}, (select min(due_at) from mailkeep_message
      where sequence_id = s.id and status = 'pending' and lease_until is null)
    from mailkeep_sequence as s where s.status = 'active' and ${canSend('s', flags)}
    union all
    select 'sequence', s.id, s.client_id, ${senderOf('s', flags)}, (select min(due_at) from mailkeep_enrolment
      where sequence_id = s.id and status = 'active' and due_at is not null)
    from mailkeep_sequence as s where s.status = 'active' and ${canSend('s', flags)}) as campaign
    where due_at is not null`,
  ['verified', 'local', 'waiting'],
)

/** A message whose lease has ended. */
export interface ExpiredMessage {
  id: number
  client_id: number
  newsletter_id: number | null
  sequence_id: number | null
  contact_id: number | null
  step_id: number | null
}

export const claims = claimsOf<ExpiredMessage>(
  'mailkeep_message',
  sql`id, client_id, newsletter_id, sequence_id, contact_id, step_id`,
)

/** A message that is due, with its recipient as it is now. */
export interface DueMessage {
  id: number
  uuid: string
  attempts: number
  step_id: number | null
  /** null when the contact is erased. */
  contact_id: number | null
  contact_uuid: string
  email: string
  email_key: string
  name: string
  attributes: string
  is_unsubscribed: boolean
  is_suppressed: boolean
  left_list: boolean
  left_topic: boolean
  is_stopped: boolean
}

/**
 * Looks a condition up in an index for each row. PostgreSQL would read the whole table of an `exists` at once, because it
 * estimates the cost for all due rows, although the limit leaves few.
 */
function ofRow(condition: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(select ${condition})`
}

const recipient = sql`c.id as contact_id, c.uuid as contact_uuid, c.email, c.email_key, c.name, c.attributes,
  (c.unsubscribed_at is not null) as is_unsubscribed, ${ofRow(isSuppressed(sql.ref('c.client_id'), sql.ref('c.email_key')))} as is_suppressed`

/** Locks what remains of a select, but not the contacts, which other transactions may change. */
function locked(alias: string, dialect: Dialect): RawBuilder<unknown> {
  return dialect.concurrentWriters ? sql`for update of ${sql.ref(alias)} skip locked` : sql``
}

/** Locks the newsletter, unless another process has. While it is locked, it cannot be paused or cancelled. */
export const lockSending = statement(
  { id: int },
  (_, p, dialect) => sql<{
    audience: string
    segment_filters: string | null
    from_identity_id: number | null
    reply_to: string | null
  }>`
    select audience, segment_filters, from_identity_id, reply_to from mailkeep_newsletter
    where id = ${p.id} and status = 'sending' ${dialect.forUpdateSkipLocked}`,
)

export const lockActiveSequence = statement(
  { id: int },
  (_, p, dialect) => sql<{
    list_id: number | null
    list_version: number
    from_identity_id: number | null
    reply_to: string | null
  }>`
    select list_id, list_version, from_identity_id, reply_to from mailkeep_sequence
    where id = ${p.id} and status = 'active' ${dialect.forUpdateSkipLocked}`,
)

/** Lists messages of a newsletter that are due. The last columns say whether they must be skipped. */
export const listDueOfNewsletter = statement.all(
  { id: int, now: time, limit: int, lists: ints, topics: ints, segment_lists: ints, segment_topics: ints },
  (_, p, dialect, { byList, byTopic, bySegmentList, bySegmentTopic }) => {
    const hasLeft = (kind: 'list' | 'topic', ids: RawBuilder<unknown>, isAsked: boolean) =>
      isAsked ? sql`not ${ofRow(dialect.isMember(kind, sql.ref('m.contact_id'), ids))}` : sql`false`
    return sql<DueMessage>`
    select m.id, m.uuid, m.attempts, m.step_id, ${recipient}, false as is_stopped,
      (${hasLeft('list', p.lists, byList)} or ${hasLeft('list', p.segment_lists, bySegmentList)}) as left_list,
      (${hasLeft('topic', p.topics, byTopic)} or ${hasLeft('topic', p.segment_topics, bySegmentTopic)}) as left_topic
    from mailkeep_message as m left join mailkeep_contact as c on c.id = m.contact_id
    where m.newsletter_id = ${p.id} and m.status = 'pending' and m.lease_until is null and m.due_at <= ${p.now}
    order by m.due_at limit ${p.limit} ${locked('m', dialect)}`
  },
  ['byList', 'byTopic', 'bySegmentList', 'bySegmentTopic'],
)

/**
 * Lists messages of a sequence that are tried again. They are stopped if the enrolment was stopped, or the step removed.
 * A contact who has completed the sequence may get one that is sent again, but not after it left the list.
 */
export const listDueOfSequence = statement.all(
  { id: int, now: time, limit: int, list_id: int, list_version: int },
  (_, p, dialect) => sql<DueMessage>`
    select m.id, m.uuid, m.attempts, m.step_id, ${recipient}, false as left_topic,
      ${ofRow(sql`exists (select 1 from mailkeep_enrolment as e where e.sequence_id = m.sequence_id
        and e.contact_id = m.contact_id and e.status = 'completed' and ${hasLeftList(p)})`)} as left_list,
      ${ofRow(sql`not exists (select 1 from mailkeep_enrolment as e where e.sequence_id = m.sequence_id
        and e.contact_id = m.contact_id and e.status <> 'stopped') or not exists (select 1 from mailkeep_step as s
        where s.id = m.step_id and not s.is_removed)`)} as is_stopped
    from mailkeep_message as m left join mailkeep_contact as c on c.id = m.contact_id
    where m.sequence_id = ${p.id} and m.status = 'pending' and m.lease_until is null and m.due_at <= ${p.now}
    order by m.due_at limit ${p.limit} ${locked('m', dialect)}`,
)

/** Whether an enrolment `e` depends on the list of its sequence, and the contact is not on it. */
function hasLeftList(p: { list_id: unknown; list_version: unknown }): RawBuilder<unknown> {
  const isOffList = sql`not exists (
      select 1 from mailkeep_contact_list as m where m.contact_id = e.contact_id and m.list_id = ${p.list_id})`
  return sql`(e.list_version is not null and e.list_version = ${p.list_version} and ${ofRow(isOffList)})`
}

/** An enrolment whose next step is due, with its contact as it is now. */
export interface DueEnrolment
  extends Omit<DueMessage, 'id' | 'uuid' | 'attempts' | 'step_id' | 'is_stopped'>,
    Progress {
  id: number
  enrolled_id: number
}

export const listDueEnrolments = statement.all(
  { id: int, now: time, limit: int, list_id: int, list_version: int },
  (_, p, dialect) => sql<DueEnrolment>`
    select e.id, e.last_step_id, e.passed_ids, e.contact_id as enrolled_id, ${recipient},
      ${hasLeftList(p)} as left_list
    from mailkeep_enrolment as e left join mailkeep_contact as c on c.id = e.contact_id
    where e.sequence_id = ${p.id} and e.status = 'active' and e.due_at is not null and e.due_at <= ${p.now}
    order by e.due_at limit ${p.limit} ${locked('e', dialect)}`,
)

/** The name of the setting with the pace, which all processes share. Its value is JSON. */
export const paceSetting = 'mail_pace'

export const lockPace = statement(
  {},
  (_, __, dialect) => sql<{ value: string }>`
    select value from mailkeep_setting where name = ${sql.lit(paceSetting)} ${dialect.forUpdate}`,
)

export const skipMessages = statement({ ids: ints, reason: word<SkipReason>() }, (db, p, dialect) =>
  db
    .updateTable('mailkeep_message')
    .set({ status: 'skipped', reason: p.reason })
    .where(dialect.inList(sql.ref('id'), p.ids)),
)

/** Updates the message only if the claim is still current. What identifies an erased contact is not stored. */
export const recordOutcome = statement(
  {
    id: int,
    claim: text,
    status: word<MessageStatus>(),
    due_at: time,
    uncounted: int,
    error: nullable(text),
    provider_message_id: nullable(text),
    sent_at: nullable(time),
  },
  (_, p) => sql<{ newsletter_id: number | null; sequence_id: number | null; contact_id: number | null }>`
    update mailkeep_message set status = ${p.status}, due_at = ${p.due_at}, claim = null, claimed_at = null,
      lease_until = null, attempts = attempts - ${p.uncounted}, sent_at = ${p.sent_at},
      error = case when contact_id is not null then ${p.error} end,
      provider_message_id = case when contact_id is not null then ${p.provider_message_id} end
    where id = ${p.id} and claim = ${p.claim} returning newsletter_id, sequence_id, contact_id`,
)

export const markUncertain = statement(
  { ids: ints, error: text },
  (_, p, dialect) => sql`
  update mailkeep_message set status = 'uncertain', claim = null, claimed_at = null, lease_until = null,
    error = ${p.error} where ${dialect.inList(sql.ref('id'), p.ids)}`,
)

/** Makes messages due that were never tried. They are due from the start, so the clock was set back since. */
export const releaseUntried = statement.affected(
  { now: time, limit: int },
  (_, p, dialect) => sql`update mailkeep_message set due_at = ${p.now} where id in
    (select m.id from mailkeep_newsletter as n cross join mailkeep_message as m
      where n.status = 'sending' and m.newsletter_id = n.id and m.status = 'pending' and m.lease_until is null
        and m.due_at > ${p.now} and m.attempts = 0 limit ${p.limit} ${locked('m', dialect)})`,
)

/** Makes messages due whose next attempt is later than any retry can be: the clock was set back. */
export const releaseStale = statement.affected(
  { now: time, latest: time, limit: int },
  (_, p, dialect) => sql`update mailkeep_message set due_at = ${p.now} where id in
    (select id from mailkeep_message where status = 'pending' and lease_until is null and attempts > 0
      and due_at > ${p.latest} limit ${p.limit} ${dialect.forUpdateSkipLocked})`,
)
