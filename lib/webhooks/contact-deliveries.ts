/** The deliveries that show one contact. */
import { sql } from 'kysely'
import type { Context } from '../context.ts'
import { readJson } from '../json.ts'
import { int, ints, statement } from '../storage/statement.ts'
import { wholeBody } from './queries.ts'
import { type EndpointDelivery, endpointDeliveryFrom } from './schema.ts'

/** A delivery with what it sends. */
export interface ContactDelivery extends EndpointDelivery {
  /** The event, without the link of a confirmation. */
  payload: unknown
}

/** An event has at most 64 KiB. */
const eventsPerBatch = 10

const listEvents = statement.all({ contact_id: int, after: int, limit: int }, (db, p) =>
  db
    .selectFrom('mailkeep_event as e')
    .select(['id', 'type', wholeBody.as('body')])
    .where('contact_id', '=', p.contact_id)
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.limit),
)

const listDeliveries = statement.all(
  { event_ids: ints },
  (_, p, dialect) => sql<Row>`
    select d.id, d.uuid, d.endpoint_id, d.event_id, d.event_type, d.status, d.attempts, d.response_status, d.delivered_at,
      d.created_at, e.active
    from mailkeep_delivery as d cross join mailkeep_endpoint as e
    where ${dialect.inList(sql.ref('d.event_id'), p.event_ids)} and e.id = d.endpoint_id`,
)

type Row = Parameters<typeof endpointDeliveryFrom>[0] & { readonly event_id: number; readonly active: boolean }

/** Returns the deliveries whose payload shows a contact, by event. Reads some events at a time. */
export async function* deliveriesOfContact(ctx: Context, contactId: number): AsyncGenerator<ContactDelivery> {
  for (let after = 0; ; ) {
    const events = await listEvents(ctx, { contact_id: contactId, after, limit: eventsPerBatch })
    if (events.length === 0) return
    const rows = await listDeliveries(ctx, { event_ids: events.map(({ id }) => id) })
    for (const event of events) {
      const payload = payloadOf(event)
      for (const row of rows.filter(({ event_id }) => event_id === event.id)) {
        yield { ...endpointDeliveryFrom(row, row.active), payload }
      }
    }
    after = events.at(-1)!.id
  }
}

/** Leaves out the link of a confirmation, because its holder could confirm in place of the contact. */
function payloadOf({ type, body }: { type: string; body: string }): unknown {
  const payload = readJson(body)
  if (type !== 'contact.confirmation_requested') return payload
  return { ...payload, data: { ...payload.data, confirm_url: null } }
}
