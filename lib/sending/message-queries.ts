import { sql } from 'kysely'
import { type BatchStep, batch, deleteRows, moveRows } from '../jobs/batches.ts'
import { int, ints, nullable, rows, statement, text, time, word } from '../storage/statement.ts'
import type { Message } from './message-schema.ts'
import { type MessageStatus, messageStatuses, type SkipReason } from './statuses.ts'

const listed = sql`m.id, m.uuid, m.contact_id,
  (select email from mailkeep_contact where id = m.contact_id) as contact_email, m.newsletter_id, m.sequence_id,
  m.step_id, m.status, m.reason, m.attempts, m.error, m.provider_message_id, m.created_at, m.sent_at`

/** @param ofSequence Whether the campaign is a sequence, instead of a newsletter. */
const campaignColumn = (ofSequence: boolean) => sql.ref(ofSequence ? 'sequence_id' : 'newsletter_id')

/** Lists the messages of a newsletter or sequence by id. The index has them by status, so all statuses are merged. */
export const listMessages = statement.all(
  { campaign_id: int, after: int, limit: int, status: word<MessageStatus>() },
  (_, p, dialect, { desc, byStatus, ofSequence }) => {
    const range = (status: unknown) => sql`select id from (select id from mailkeep_message
      where ${campaignColumn(ofSequence)} = ${p.campaign_id} and status = ${status} and id ${desc ? sql`<` : sql`>`} ${p.after}
      order by id ${desc ? sql`desc` : sql`asc`} limit ${p.limit}) as ranged`
    const ranges = byStatus ? [range(p.status)] : messageStatuses.map((status) => range(sql.lit(status)))
    return sql<Message>`select ${listed} from mailkeep_message as m where m.id in
      (select id from (${dialect.merge(ranges, { distinct: false, desc, limit: p.limit })}) as merged)
      order by m.id ${desc ? sql`desc` : sql`asc`}`
  },
  ['desc', 'byStatus', 'ofSequence'],
)

export const listMessagesOfContact = statement.all(
  { client_id: int, contact_id: int, after: int, limit: int },
  (_, p, __, { desc }) => sql<Message>`select ${listed} from mailkeep_message as m
    where m.contact_id = ${p.contact_id} and m.client_id = ${p.client_id} and m.id ${desc ? sql`<` : sql`>`} ${p.after}
    order by m.id ${desc ? sql`desc` : sql`asc`} limit ${p.limit}`,
  ['desc'],
)

const recipient = { uuid: text, contact_id: int }

/** Inserts one message for each contact that has none of this newsletter. */
export const insertRecipients = statement.affected(
  { client_id: int, newsletter_id: int, now: time, recipients: rows(recipient) },
  (_, p, dialect) => sql`
    insert into mailkeep_message (client_id, uuid, created_at, contact_id, newsletter_id, status, attempts, due_at)
    select ${p.client_id}, item.uuid, ${p.now}, item.contact_id, ${p.newsletter_id}, 'pending', 0, ${p.now}
    from ${dialect.unnestRows(p.recipients, recipient)} where true
    on conflict do nothing`,
)

/** Ends messages of a newsletter that no process is handing over. With an order, PostgreSQL uses the index. */
export const skipPending = statement.affected(
  { newsletter_id: int, limit: int },
  (_, p, dialect) => sql`update mailkeep_message set status = 'skipped', reason = 'cancelled' where id in
    (select id from mailkeep_message where newsletter_id = ${p.newsletter_id} and status = 'pending'
      and lease_until is null order by due_at limit ${p.limit} ${dialect.forUpdate})`,
)

/** Ends messages of an earlier enrolment that wait for their next attempt. */
export const skipPendingSteps = statement(
  { sequence_id: int, contact_id: int },
  (_, p) => sql`update mailkeep_message set status = 'skipped', reason = 'stopped'
    where contact_id = ${p.contact_id} and sequence_id = ${p.sequence_id} and status = 'pending' and lease_until is null`,
)

export const listUncertain = statement.all(
  { campaign_id: int, after: int, limit: int },
  (_, p, dialect, { ofSequence }) => sql<{ id: number }>`select id from mailkeep_message
    where ${campaignColumn(ofSequence)} = ${p.campaign_id} and status = 'uncertain' and id > ${p.after}
    order by id limit ${p.limit} ${dialect.forUpdate}`,
  ['ofSequence'],
)

/** Resends or skips messages whose outcome is not known. */
export const changeUncertain = statement(
  { ids: ints, status: word<MessageStatus>(), reason: nullable(word<SkipReason>()), now: time },
  (db, p, dialect) =>
    db
      .updateTable('mailkeep_message')
      .set({ status: p.status, reason: p.reason, due_at: p.now, error: null })
      .where(dialect.inList(sql.ref('id'), p.ids)),
)

/** Pending messages come first: the claim would skip those of a merged contact, because the contact is gone. */
const ofContact = (p: { target: unknown; limit: unknown }) => sql`select id from mailkeep_message
  where contact_id = ${p.target} order by case status when 'pending' then 0 else 1 end, id limit ${p.limit}`

/** Removes what the messages of an erased contact say about it. The counts of their newsletters stay. */
export const eraseMessagesOfContact: BatchStep = statement.affected(
  batch,
  (_, p) => sql`update mailkeep_message set contact_id = null, error = null, provider_message_id = null
    where id in (${ofContact(p)})`,
)

/**
 * Takes a pending message from the contact that stays if the merged contact got the same newsletter, or is getting it. It is
 * skipped then. One that is being handed over may still be sent, but is not tried again. If both are, the outcome is open.
 */
export const releaseRepeated = moveRows(
  (p) => sql`update mailkeep_message set contact_id = null, error = null
    where status = 'pending' and id in (select other.id
      from mailkeep_message as own cross join mailkeep_message as other
      where own.contact_id = ${p.target} and (own.status in ('sent', 'uncertain')
          or own.lease_until is not null and other.lease_until is null)
        and other.newsletter_id = own.newsletter_id and other.contact_id = ${p.into}
        and other.status = 'pending' limit ${p.limit})`,
)

/**
 * Moves the messages of a merged contact. A newsletter that both get is sent once. So is a step of a sequence in which both
 * are: the enrolment of the merged contact was not moved before this. A message that is not moved belongs to no contact, so it
 * says nothing about the contact either.
 */
export const moveMessages = moveRows((p) => {
  const isMoved = sql`not exists (select 1 from mailkeep_message as other
      where other.newsletter_id = mailkeep_message.newsletter_id and other.contact_id = ${p.into})
    and not (status = 'pending' and exists (select 1 from mailkeep_enrolment as e
      where e.sequence_id = mailkeep_message.sequence_id and e.contact_id = mailkeep_message.contact_id))`
  return sql`update mailkeep_message set contact_id = case when ${isMoved} then ${p.into} end,
      error = case when ${isMoved} then error end,
      provider_message_id = case when ${isMoved} then provider_message_id end
    where id in (${ofContact(p)})`
})

export const deleteMessagesOfNewsletter = deleteRows('mailkeep_message', 'newsletter_id')
export const deleteMessagesOfSequence = deleteRows('mailkeep_message', 'sequence_id')

/** Deletes the messages of a client's newsletters or sequences. */
function deleteMessagesOf(kind: 'newsletter' | 'sequence'): BatchStep {
  const column = sql.ref(`${kind}_id`)
  return statement.affected(
    batch,
    (_, p) => sql`delete from mailkeep_message where id in (select id from mailkeep_message
      where ${column} in (select id from ${sql.table(`mailkeep_${kind}`)} where client_id = ${p.target}) limit ${p.limit})`,
  )
}

export const deleteMessagesOfClient = [deleteMessagesOf('newsletter'), deleteMessagesOf('sequence')]
