import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../context.ts'
import { int, ints, statement, text, time } from '../storage/statement.ts'

const chunk = { target: int, limit: int }

/** Clears some of the rows that hang on a deleted record; gives their number. */
export type DeleteRows = (tx: Tx, chunk: { target: number; limit: number }) => Promise<number>

/** Deletes at most `limit` rows of `table` whose `column` is the target; `key` tells them apart. */
function deleteRows(table: string, column: string, key = 'id') {
  return statement.affected(
    chunk,
    (_, p) => sql`delete from ${sql.table(table)} where ${sql.ref(column)} = ${p.target} and ${sql.ref(key)} in
      (select ${sql.ref(key)} from ${sql.table(table)} where ${sql.ref(column)} = ${p.target} limit ${p.limit})`,
  )
}

export const deleteContactTags = deleteRows('mailkeep_contact_tag', 'tag_id', 'contact_id')
export const deleteContactLists = deleteRows('mailkeep_contact_list', 'list_id', 'contact_id')
export const deleteContactTopics = deleteRows('mailkeep_contact_topic', 'topic_id', 'contact_id')

const deleteDeliveriesOfEndpoint = deleteDeliveries((p) => sql`endpoint_id = ${p.target}`)
const deleteDeliveriesOfClient = deleteDeliveries(
  (p) => sql`endpoint_id in (select id from mailkeep_endpoint where client_id = ${p.target})`,
)

/** Those to the host's subscribers. */
const deleteHandledOfClient = deleteDeliveries((p) => sql`client_id = ${p.target} and kind = 'handler'`)

function deleteDeliveries(where: (p: { target: unknown }) => RawBuilder<unknown>) {
  return statement.all(
    chunk,
    (_, p) => sql<{ event_id: number }>`delete from mailkeep_delivery where id in
      (select id from mailkeep_delivery where ${where(p)} limit ${p.limit}) returning event_id`,
  )
}

const deleteEventsWithoutDelivery = statement(
  { ids: ints },
  (_, p, dialect) => sql`delete from mailkeep_event where ${dialect.inList(sql.ref('id'), p.ids)}
    and not exists (select 1 from mailkeep_delivery where event_id = mailkeep_event.id)`,
)

/** Deliveries, and the events that none is left of. */
function deleteWithEvents(deleteSome: typeof deleteDeliveriesOfClient): DeleteRows {
  return async (tx, chunk) => {
    const deleted = await deleteSome(tx, chunk)
    if (deleted.length > 0) await deleteEventsWithoutDelivery(tx, { ids: deleted.map(({ event_id }) => event_id) })
    return deleted.length
  }
}

export const deleteEndpointDeliveries = deleteWithEvents(deleteDeliveriesOfEndpoint)

const deleteContacts = statement.all(
  chunk,
  (_, p) => sql<{ id: number; search: string }>`delete from mailkeep_contact where id in
    (select id from mailkeep_contact where client_id = ${p.target} limit ${p.limit}) returning id, search`,
)

/** Contacts count for more than other rows: each leaves memberships and the index of searches with it. */
async function deleteClientContacts(tx: Tx, { target, limit }: { target: number; limit: number }): Promise<number> {
  const weight = 5
  const deleted = await deleteContacts(tx, { target, limit: Math.ceil(limit / weight) })
  for (const { id, search } of deleted) {
    tx.transaction.indexSearch({ clientId: target, contactId: id, before: search, after: null })
  }
  return deleted.length * weight
}

/** Each may have a megabyte and more. */
function deleteAnswers(deleteSome: DeleteRows): DeleteRows {
  const weight = 25
  return async (tx, { target, limit }) => (await deleteSome(tx, { target, limit: Math.ceil(limit / weight) })) * weight
}

/** The kept answers that show an erased contact. */
export const deleteContactAnswers = deleteAnswers(
  statement.affected(
    chunk,
    (_, p) => sql`delete from mailkeep_kept_answer where id in
      (select answer_id from mailkeep_kept_answer_contact where contact_id = ${p.target} limit ${p.limit})`,
  ),
)

/** A client's rows, what hangs on other rows first; the client itself last. */
export const deleteClientRows: readonly DeleteRows[] = [
  deleteWithEvents(deleteDeliveriesOfClient),
  deleteWithEvents(deleteHandledOfClient),
  deleteRows('mailkeep_endpoint', 'client_id'),
  deleteAnswers(deleteRows('mailkeep_kept_answer', 'client_id')),
  deleteClientContacts,
  deleteRows('mailkeep_tag', 'client_id'),
  deleteRows('mailkeep_topic', 'client_id'),
  deleteRows('mailkeep_list', 'client_id'),
  deleteRows('mailkeep_identity', 'client_id'),
  deleteRows('mailkeep_test_delivery', 'client_id'),
  deleteRows('mailkeep_token', 'client_id'),
  statement.affected(
    chunk,
    // Clearings stay until they are done.
    (_, p) => sql`delete from mailkeep_job where id in
      (select id from mailkeep_job where client_id = ${p.target} and kind not like 'clear %' limit ${p.limit})`,
  ),
  deleteRows('mailkeep_client', 'id'),
]

/** Why a delivery failed that was still to be sent. */
export const erasedError = "The payload was erased with its contact's data."

/** Of an erased contact's events, the oldest: each statement of one chunk sees the same ones. */
const someEvents = (p: { target: unknown; limit: unknown }) =>
  sql`select id from mailkeep_event where contact_id = ${p.target} order by id limit ${p.limit}`

/** What is under way loses its claim, and so its outcome: the attempt was counted, and stays in the log. */
export const noteCutAttempts = statement(
  { ...chunk, now: time, error: text },
  (_, p) => sql`insert into mailkeep_attempt (delivery_id, number, client_id, started_at, error)
    select id, attempts, client_id, ${p.now}, ${p.error} from mailkeep_delivery
    where event_id in (${someEvents(p)}) and status in ('pending', 'held') and claim is not null
    on conflict do nothing`,
)

export const failErasedDeliveries = statement.affected(
  { ...chunk, now: time },
  (_, p) => sql`update mailkeep_delivery set status = 'failed', claim = null, claimed_at = null,
      lease_until = null, scheduled_at = null, ended_at = ${p.now}, error = ${sql.lit(erasedError)}
    where event_id in (${someEvents(p)}) and status in ('pending', 'held')`,
)

export const eraseAnswers = statement.affected(
  chunk,
  (_, p) => sql`update mailkeep_attempt set response_body = null, error = null
    where delivery_id in (select id from mailkeep_delivery where event_id in (${someEvents(p)}))`,
)

export const eraseEvents = statement.affected(
  chunk,
  (_, p) => sql`update mailkeep_event set body = '', contact_id = null where id in (${someEvents(p)})`,
)
