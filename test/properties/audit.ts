/** Compares all data of a client with the model: every record, and every event's delivery. */
import assert from 'node:assert/strict'
import type { ClientMailkeep, Contact } from '../../lib/index.ts'
import { ascending, type Model, type Raised } from './model.ts'

/** @throws AssertionError when any data differs from the model. */
export async function audit(client: ClientMailkeep, model: Model, endpointId: number): Promise<void> {
  const all = { per_page: 100 }
  assert.deepEqual((await client.tags.list(all)).data, sorted(model.tags))
  assert.deepEqual((await client.lists.list(all)).data, sorted(model.lists))
  for (const { id } of model.lists.values()) {
    const topics = sorted(model.topics).filter(({ list_id }) => list_id === id)
    assert.deepEqual((await client.topics.list(id, all)).data, topics)
  }
  const contacts = (await client.contacts.list({ ...all, include_unsubscribed: true })).data
  const known = sorted(model.contacts).map((contact) => model.shown(contact))
  assert.deepEqual(contacts.map(withSorted), known)
  await auditDeliveries(client, model, endpointId)
}

/** One page is large enough for all deliveries. */
async function auditDeliveries(client: ClientMailkeep, model: Model, endpointId: number): Promise<void> {
  const { data: newestFirst } = await client.webhooks.listDeliveries(endpointId, { per_page: 100 })
  const deliveries = newestFirst.toReversed()
  assert.deepEqual(
    deliveries.map(({ event_type }) => event_type),
    model.events.map(({ type }) => type),
  )
  for (const [at, { id }] of deliveries.entries()) {
    const { type, data, contactId } = model.events[at]!
    const { payload } = await client.webhooks.getDelivery(endpointId, id)
    const isErased = contactId !== undefined && !model.contacts.has(contactId)
    if (isErased) assert.equal(payload, null, 'erased data is still stored')
    else assert.deepEqual(plain(payload as Raised), plain({ type, data }))
  }
}

/** Sorts everything that a contact belongs to. */
export function withSorted(contact: Contact): Contact {
  const byId = (a: { id: number }, b: { id: number }) => ascending(a.id, b.id)
  const { tags, lists, topics, ...fields } = contact
  return { ...fields, tags: tags.toSorted(byId), lists: lists.toSorted(byId), topics: topics.toSorted(byId) }
}

/** Converts an event to plain JSON values. */
function plain({ type, data }: Raised) {
  const copy = JSON.parse(JSON.stringify(data))
  return { type, data: copy.contact?.tags ? { ...copy, contact: withSorted(copy.contact) } : copy }
}

function sorted<T>(records: ReadonlyMap<number, T>): T[] {
  return [...records].sort(([a], [b]) => ascending(a, b)).map(([, record]) => record)
}
