import { type RawBuilder, sql } from 'kysely'
import { type Context, now, type Tx } from '../context.ts'
import { type BatchSlots, type BatchStep, batch, deleteRows, inBatches, moveRows } from '../jobs/batches.ts'
import { enqueue, type JobHandlers } from '../jobs/operations.ts'
import { deleteFinal, deleteOldest } from '../jobs/retention.ts'
import { ints, statement, text, time } from '../storage/statement.ts'
import { dayMs } from '../time.ts'
import { deleteContactsWithoutEvent, type Sharing } from './shared-contacts.ts'

export const clearEndpoint = 'clear endpoint'

/** Deletes deliveries, and events that have no other delivery. */
function deleteDeliveries(where: (p: BatchSlots) => RawBuilder<unknown>): BatchStep {
  const deleteBatch = statement.all(
    batch,
    (_, p) => sql<{ event_id: number }>`delete from mailkeep_delivery where id in
      (select id from mailkeep_delivery where ${where(p)} limit ${p.limit}) returning event_id`,
  )
  return async (tx, batch) => {
    const deleted = await deleteBatch(tx, batch)
    if (deleted.length > 0) await deleteEventsWithoutDelivery(tx, { ids: deleted.map(({ event_id }) => event_id) })
    return deleted.length
  }
}

async function deleteEventsWithoutDelivery(tx: Tx, events: { ids: readonly number[] }): Promise<void> {
  await deleteContactsWithoutEvent(tx, await deleteEvents(tx, events))
}

const deleteEvents = statement.all(
  { ids: ints },
  (_, p, dialect) => sql<Sharing>`delete from mailkeep_event
    where ${dialect.inList(sql.ref('id'), p.ids)}
      and not exists (select 1 from mailkeep_delivery where event_id = mailkeep_event.id) returning shared_contact_id`,
)

export const endpointJobs: JobHandlers = {
  [clearEndpoint]: inBatches(deleteDeliveries((p) => sql`endpoint_id = ${p.target}`)),
}

/** Deletes a client's endpoints, deliveries and events, also those of the host's handlers. */
export const deleteWebhooksOfClient: readonly BatchStep[] = [
  deleteDeliveries((p) => sql`endpoint_id in (select id from mailkeep_endpoint where client_id = ${p.target})`),
  deleteDeliveries((p) => sql`client_id = ${p.target} and kind = 'handler'`),
  deleteRows('mailkeep_endpoint', 'client_id'),
  deleteRows('mailkeep_test_delivery', 'client_id'),
]

/** Error of a delivery that was not sent because its contact was erased. */
export const erasedError = "The payload was erased with its contact's data."

/**
 * Returns a step that erases the bodies of events. Deliveries not sent yet become `failed`, with the reason.
 *
 * @param events Selects the ids of some events. All statements of a batch must select the same ones.
 */
function eraseEvents(events: (p: BatchSlots) => RawBuilder<unknown>): BatchStep {
  const eraseResponses = statement(
    batch,
    (_, p, { inFew }) => sql`update mailkeep_attempt set response_body = null, error = null
      where ${inFew(
        sql.ref('delivery_id'),
        sql`select id from mailkeep_delivery where ${inFew(sql.ref('event_id'), events(p))}`,
      )}`,
  )
  /**
   * Logs running attempts as interrupted. They were counted, but lose their claim and so cannot record their outcome. Locks
   * all deliveries that are about to fail, so that no further attempt begins.
   */
  const recordInterruptedAttempts = statement(
    { ...batch, now: time, error: text },
    (_, p, dialect) => sql`insert into mailkeep_attempt (delivery_id, number, client_id, started_at, error)
      with failing as (select id, attempts, client_id, claim from mailkeep_delivery
        where ${dialect.inFew(sql.ref('event_id'), events(p))} and status in ('pending', 'held') ${dialect.forUpdate})
      select id, attempts, client_id, ${p.now}, ${p.error} from failing where claim is not null
      on conflict do nothing`,
  )
  const failErasedDeliveries = statement(
    { ...batch, now: time },
    (_, p, { inFew }) => sql`update mailkeep_delivery set status = 'failed', claim = null, claimed_at = null,
        lease_until = null, scheduled_at = null, ended_at = ${p.now}, error = ${sql.lit(erasedError)}
      where ${inFew(sql.ref('event_id'), events(p))} and status in ('pending', 'held')`,
  )
  const listShared = statement.all(
    batch,
    (_, p, { inFew }) => sql<Sharing>`select distinct shared_contact_id from mailkeep_event
      where ${inFew(sql.ref('id'), events(p))} and shared_contact_id is not null`,
  )
  const eraseBodies = statement.affected(
    batch,
    (_, p, { inFew }) => sql`update mailkeep_event set body = '', contact_id = null, shared_contact_id = null
      where ${inFew(sql.ref('id'), events(p))}`,
  )
  return async (tx, batch) => {
    await eraseResponses(tx, batch)
    const error = 'The attempt was interrupted by an erasure.'
    await recordInterruptedAttempts(tx, { ...batch, now: now(tx), error })
    await failErasedDeliveries(tx, { ...batch, now: now(tx) })
    const shared = await listShared(tx, batch)
    const erased = await eraseBodies(tx, batch)
    await deleteContactsWithoutEvent(tx, shared)
    return erased
  }
}

/** Erases the events of an erased contact, oldest first. */
export const eraseEventsOfContact = eraseEvents(
  (p) => sql`select id from mailkeep_event where contact_id = ${p.target} order by id limit ${p.limit}`,
)

/** Moves the events of a merged contact. */
export const moveEventsOfContact = moveRows(
  (p) => sql`update mailkeep_event set contact_id = ${p.into} where id in
    (select id from mailkeep_event where contact_id = ${p.target} order by id limit ${p.limit})`,
)

const eraseEvent = 'erase event'

export const eventJobs: JobHandlers = {
  [eraseEvent]: inBatches(
    eraseEvents((p) => sql`select id from mailkeep_event where id = ${p.target} and body <> '' limit ${p.limit}`),
  ),
}

/** Erases an event when the retries of its deliveries are over. Delays vary by up to a fifth. */
export async function eraseEventLater(tx: Tx, targetId: number): Promise<void> {
  const { retryScheduleSeconds } = tx.local.webhooks.settings
  const retriesMs = retryScheduleSeconds.reduce((sum, seconds) => sum + seconds * 1200, 0)
  await enqueue(tx, eraseEvent, { targetId }, tx.clock() + retriesMs + dayMs)
}

const deleteOldestDeliveries = deleteOldest('mailkeep_delivery', deleteFinal('mailkeep_delivery'))
const deleteOldestEvents = deleteOldest('mailkeep_event', deleteEventsWithoutDelivery)

/** Deletes deliveries with their attempts, and events, older than the retention time. Pending deliveries stay. */
export async function deleteExpiredDeliveries(ctx: Context): Promise<void> {
  const { retentionDays } = ctx.local.webhooks.settings
  await deleteOldestDeliveries(ctx, retentionDays)
  await deleteOldestEvents(ctx, retentionDays)
}
