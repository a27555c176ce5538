/** The README's first session, through the types of openapi-typescript and the client of openapi-fetch. */
import createClient from 'openapi-fetch'
import type { paths } from './api.d.ts'

const [baseUrl = '', token = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })

const list = await client.POST('/api/v1/lists', { body: { name: 'News' } })
if (!list.data) throw new Error(list.error.message)
const { id: listId } = list.data.data

const endpoint = await client.POST('/api/v1/webhook-endpoints', {
  body: { url: 'http://127.0.0.1:9/hook', events: ['contact.subscribed', 'contact.unsubscribed'] },
})
if (!endpoint.data) throw new Error(endpoint.error.message)
const { id: endpointId, secret } = endpoint.data.data

const added = await client.POST('/api/v1/lists/{listId}/contacts', {
  params: { path: { listId }, header: { 'Idempotency-Key': 'ada' } },
  body: { email: 'ada@example.org', name: 'Ada', tags: ['vip'], company: 'Engines' },
})
if (!added.data) throw new Error(added.error.message)
const { id: contactId, extra_attributes } = added.data.data

const changed = await client.PUT('/api/v1/contacts/{contactId}', {
  params: { path: { contactId } },
  body: { tags: ['vip', 'beta'], company: null, city: 'London' },
})
const tagId = changed.data?.data.tags[0]?.id ?? 0

const found = await client.GET('/api/v1/contacts', {
  params: { query: { search: 'ada', 'lists[]': [listId], 'tags[]': [tagId], per_page: 10 } },
})
const nothing = await client.GET('/api/v1/contacts', { params: { query: { 'lists[]': [listId + 1] } } })

const deliveries = await client.GET('/api/v1/webhook-endpoints/{endpointId}/deliveries', {
  params: { path: { endpointId } },
})
await client.PATCH('/api/v1/webhook-endpoints/{endpointId}', {
  params: { path: { endpointId } },
  body: { active: false },
})

// What has a default may be left out.
await client.POST('/api/v1/email-identities', { body: { email: 'news@example.org' } })
const sequence = await client.POST('/api/v1/sequences', { body: { name: 'Welcome' } })
await client.PATCH('/api/v1/sequences/{sequenceId}', {
  params: { path: { sequenceId: sequence.data?.data.id ?? 0 } },
  body: { name: 'Hello' },
})
await client.POST('/api/v1/portal-links', { body: { role: 'webhooks' } })

const refused = await client.POST('/api/v1/tags', { body: { name: '' } })
const code: 'validation_failed' | 'idempotency_mismatch' | undefined = refused.error?.code as never

process.stdout.write(
  JSON.stringify({
    secret: secret.slice(0, 6),
    company: extra_attributes.company,
    city: changed.data?.data.extra_attributes.city,
    tags: changed.data?.data.tags.map(({ name }) => name),
    found: found.data?.data.map(({ email }) => email),
    cursor: found.data?.meta.next_cursor,
    nothing: nothing.data?.data.length,
    events: deliveries.data?.data.map(({ event_type }) => event_type),
    code,
    fields: Object.keys(refused.error?.errors ?? {}),
  }),
)
