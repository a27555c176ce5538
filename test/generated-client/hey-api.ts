/** The README's first session, through the client that @hey-api/openapi-ts generates. */
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
import { client } from './client/client.gen'

const [baseUrl = '', token = ''] = process.argv.slice(2)
client.setConfig({ baseUrl, headers: { authorization: `Bearer ${token}` } })
const throwOnError = true

const list = await createList({ body: { name: 'News' }, throwOnError })
const { id: listId } = list.data.data

const endpoint = await createEndpoint({
  body: { url: 'http://127.0.0.1:9/hook', events: ['contact.subscribed', 'contact.unsubscribed'] },
  throwOnError,
})
const { id: endpointId, secret } = endpoint.data.data

const added = await addContactToList({
  path: { listId },
  headers: { 'Idempotency-Key': 'ada' },
  body: { email: 'ada@example.org', name: 'Ada', tags: ['vip'], company: 'Engines' },
  throwOnError,
})
const { id: contactId, extra_attributes } = added.data.data

const changed = await updateContact({
  path: { contactId },
  body: { tags: ['vip', 'beta'], company: null, city: 'London' },
  throwOnError,
})
const tagId = changed.data.data.tags[0]?.id ?? 0

const found = await listContacts({
  query: { search: 'ada', 'lists[]': [listId], 'tags[]': [tagId], per_page: 10 },
  throwOnError,
})
const nothing = await listContacts({ query: { 'lists[]': [listId + 1] }, throwOnError })
const deliveries = await listDeliveries({ path: { endpointId }, throwOnError })
await updateEndpoint({ path: { endpointId }, body: { active: false }, throwOnError })

const refused = await createTag({ body: { name: '' } })

process.stdout.write(
  JSON.stringify({
    secret: secret.slice(0, 6),
    company: extra_attributes.company,
    city: changed.data.data.extra_attributes.city,
    tags: changed.data.data.tags.map(({ name }) => name),
    found: found.data.data.map(({ email }) => email),
    cursor: found.data.meta.next_cursor,
    nothing: nothing.data.data.length,
    events: deliveries.data.data.map(({ event_type }) => event_type),
    code: refused.error?.code,
    fields: Object.keys(refused.error?.errors ?? {}),
  }),
)
