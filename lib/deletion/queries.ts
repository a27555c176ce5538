import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../context.ts'
import { int, ints, statement, text, time } from '../storage/statement.ts'

const batch = { target: int, limit: int }

/** Deletes a batch of the rows that depend on a deleted record. Returns their number. */
export type DeleteRows = (tx: Tx, batch: { target: number; limit: number }) => Promise<number>

/** Deletes at most `limit` rows of `table` whose `column` is the target. `key` identifies a row among them. */
function deleteRows(table: string, column: string, key = 'id') {
  return statement.affected(
    batch,
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

/** Deletes the deliveries to the host's handlers. */
const deleteHandlerDeliveriesOfClient = deleteDeliveries((p) => sql`client_id = ${p.target} and kind = 'handler'`)

function deleteDeliveries(where: (p: { target: unknown }) => RawBuilder<unknown>) {
  return statement.all(
    batch,
    (_, p) => sql<{ event_id: number }>`delete from mailkeep_delivery where id in
      (select id from mailkeep_delivery where ${where(p)} limit ${p.limit}) returning event_id`,
  )
}

const deleteEventsWithoutDelivery = statement(
  { ids: ints },
  (_, p, dialect) => sql`delete from mailkeep_event where ${dialect.inList(sql.ref('id'), p.ids)}
    and not exists (select 1 from mailkeep_delivery where event_id = mailkeep_event.id)`,
)

/** Deletes deliveries, and events that have no other delivery. */
function deleteWithEvents(deleteSome: typeof deleteDeliveriesOfClient): DeleteRows {
  return async (tx, batch) => {
    const deleted = await deleteSome(tx, batch)
    if (deleted.length > 0) await deleteEventsWithoutDelivery(tx, { ids: deleted.map(({ event_id }) => event_id) })
    return deleted.length
  }
}

export const deleteEndpointDeliveries = deleteWithEvents(deleteDeliveriesOfEndpoint)

const deleteContacts = statement.all(
  batch,
  (_, p) => sql<{ id: number; search: string }>`delete from mailkeep_contact where id in
    (select id from mailkeep_contact where client_id = ${p.target} limit ${p.limit}) returning id, search`,
)

/**
 * Deletes contacts. Each counts as several rows, because its memberships and its search index entry are deleted too.
 */
async function deleteClientContacts(tx: Tx, { target, limit }: { target: number; limit: number }): Promise<number> {
  const weight = 5
  const deleted = await deleteContacts(tx, { target, limit: Math.ceil(limit / weight) })
  for (const { id, search } of deleted) {
    tx.transaction.indexSearch({ clientId: target, contactId: id, before: search, after: null })
  }
  return deleted.length * weight
}

/** Counts each stored result as 25 rows, because it may be larger than 1 MB. */
function deleteResults(deleteSome: DeleteRows): DeleteRows {
  const weight = 25
  return async (tx, { target, limit }) => (await deleteSome(tx, { target, limit: Math.ceil(limit / weight) })) * weight
}

/** Deletes the stored results of idempotency keys that contain an erased contact. */
export const deleteContactResults = deleteResults(
  statement.affected(
    batch,
    (_, p) => sql`delete from mailkeep_kept_answer where id in
      (select answer_id from mailkeep_kept_answer_contact where contact_id = ${p.target} limit ${p.limit})`,
  ),
)

/** Deletes a client's rows. Dependent rows come first, and the client itself last. */
export const deleteClientRows: readonly DeleteRows[] = [
  deleteWithEvents(deleteDeliveriesOfClient),
  deleteWithEvents(deleteHandlerDeliveriesOfClient),
  deleteRows('mailkeep_endpoint', 'client_id'),
  deleteResults(deleteRows('mailkeep_kept_answer', 'client_id')),
  deleteClientContacts,
  deleteRows('mailkeep_tag', 'client_id'),
  deleteRows('mailkeep_topic', 'client_id'),
  deleteRows('mailkeep_list', 'client_id'),
  deleteRows('mailkeep_identity', 'client_id'),
  deleteRows('mailkeep_test_delivery', 'client_id'),
  deleteRows('mailkeep_token', 'client_id'),
  statement.affected(
    batch,
    // Keep the deletion jobs until they are complete.
    (_, p) => sql`delete from mailkeep_job where id in
      (select id from mailkeep_job where client_id = ${p.target} and kind not like 'clear %' limit ${p.limit})`,
  ),
  deleteRows('mailkeep_client', 'id'),
]

/** Error of a delivery that was not sent because its contact was erased. */
export const erasedError = "The payload was erased with its contact's data."

/** Selects the oldest events of an erased contact. All statements of a batch select the same ones. */
const oldestEvents = (p: { target: unknown; limit: unknown }) =>
  sql`select id from mailkeep_event where contact_id = ${p.target} order by id limit ${p.limit}`

/** Logs running attempts as interrupted. They were counted, but lose their claim and so cannot record their outcome. */
export const recordInterruptedAttempts = statement(
  { ...batch, now: time, error: text },
  (_, p) => sql`insert into mailkeep_attempt (delivery_id, number, client_id, started_at, error)
    select id, attempts, client_id, ${p.now}, ${p.error} from mailkeep_delivery
    where event_id in (${oldestEvents(p)}) and status in ('pending', 'held') and claim is not null
    on conflict do nothing`,
)

export const failErasedDeliveries = statement.affected(
  { ...batch, now: time },
  (_, p) => sql`update mailkeep_delivery set status = 'failed', claim = null, claimed_at = null,
      lease_until = null, scheduled_at = null, ended_at = ${p.now}, error = ${sql.lit(erasedError)}
    where event_id in (${oldestEvents(p)}) and status in ('pending', 'held')`,
)

export const eraseResponses = statement.affected(
  batch,
  (_, p) => sql`update mailkeep_attempt set response_body = null, error = null
    where delivery_id in (select id from mailkeep_delivery where event_id in (${oldestEvents(p)}))`,
)

export const eraseEvents = statement.affected(
  batch,
  (_, p) => sql`update mailkeep_event set body = '', contact_id = null where id in (${oldestEvents(p)})`,
)
