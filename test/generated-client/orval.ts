/** The README's first session, through the client that orval generates. */
import {
  addContactToList,
  createEndpoint,
  createList,
  createTag,
  listContacts,
  listDeliveries,
  updateContact,
  updateEndpoint,
} from './client'

const [baseUrl = '', token = ''] = process.argv.slice(2)
const send = globalThis.fetch
globalThis.fetch = (path, init = {}) =>
  send(`${baseUrl}${path}`, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } })

/** Returns the data of an answer that must have this status. */
function dataOf<T extends { status: number; data: unknown }, S extends T['status']>(
  answer: T,
  status: S,
): Extract<T, { status: S }>['data'] {
  if (answer.status !== status) throw new Error(`${answer.status}: ${JSON.stringify(answer.data)}`)
  return answer.data as Extract<T, { status: S }>['data']
}

const { id: listId } = dataOf(await createList({ name: 'News' }), 201).data
const hook = {
  url: 'http://127.0.0.1:9/hook',
  events: ['contact.subscribed' as const, 'contact.unsubscribed' as const],
}
const { id: endpointId, secret } = dataOf(await createEndpoint(hook), 201).data
const ada = { email: 'ada@example.org', name: 'Ada', tags: ['vip'], company: 'Engines' }
const added = await addContactToList(listId, ada, { headers: { 'Idempotency-Key': 'ada' } })
const { id: contactId, extra_attributes } = dataOf(added, 201).data
const change = { tags: ['vip', 'beta'], company: null, city: 'London' }
const changed = dataOf(await updateContact(contactId, change), 200).data
const tagId = changed.tags[0]?.id ?? 0

const filters = { search: 'ada', 'lists[]': [listId], 'tags[]': [tagId], per_page: 10 }
const found = dataOf(await listContacts(filters), 200)
const nothing = dataOf(await listContacts({ 'lists[]': [listId + 1] }), 200)
const deliveries = dataOf(await listDeliveries(endpointId), 200)
dataOf(await updateEndpoint(endpointId, { active: false }), 200)

const refused = dataOf(await createTag({ name: '' }), 422)

process.stdout.write(
  JSON.stringify({
    secret: secret.slice(0, 6),
    company: extra_attributes.company,
    city: changed.extra_attributes.city,
    tags: changed.tags.map(({ name }) => name),
    found: found.data.map(({ email }) => email),
    cursor: found.meta.next_cursor,
    nothing: nothing.data.length,
    events: deliveries.data.map(({ event_type }) => event_type),
    code: refused.code,
    fields: Object.keys(refused.errors ?? {}),
  }),
)
