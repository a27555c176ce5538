import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Client } from 'mailkeep/client'
import type * as v from 'valibot'
import type * as clients from '../../lib/clients/schema.ts'
import type * as contacts from '../../lib/contacts/schema.ts'
import type * as identities from '../../lib/identities/schema.ts'
import type * as lib from '../../lib/index.ts'
import { isMailkeepError, type Mailkeep, MailkeepError, unchecked } from '../../lib/index.ts'
import type * as lists from '../../lib/lists/schema.ts'
import type { PageQuery } from '../../lib/page.ts'
import type * as tags from '../../lib/tags/schema.ts'
import type { TestKit } from '../../lib/testing.ts'
import type * as topics from '../../lib/topics/schema.ts'
import type * as webhooks from '../../lib/webhooks/schema.ts'

/** Never runs: compiling it is the test. */
export async function goodCallsCompile(mailkeep: Mailkeep) {
  const acme = mailkeep.forClient(1)
  const row: { email: string; company: string | null; age?: string } = { email: 'ada@example.org', company: null }
  await acme.contacts.addToList(1, row)
  await acme.contacts.addToList(1, { email: 'ada@example.org', name: 'Ada', tags: ['vip'], company: undefined })
  await acme.contacts.update(1, { tags: ['vip'] as const, company: 'Engines' })
  await acme.contacts.list({
    lists: [1, 2],
    tags: 3,
    topics: '4',
    search: 'ada',
    per_page: 5,
    include_unsubscribed: true,
  })
  await acme.contacts.unsubscribe(1, { byContact: true })
  const { secret } = await acme.webhooks.createEndpoint({ url: 'https://example.org/', events: ['contact.subscribed'] })
  const text: string = secret
  await acme.topics.create(1, { name: 'Daily', description: null })
  await acme.identities.list({ identity_status: 'verified' })
  await mailkeep.tokens.create({ clientId: 1, role: 'member' })
  await unchecked(acme).contacts.addToList(1, JSON.parse(text))
  const { answer, replayed } = await acme.withIdempotencyKey('order 1', row, ({ contacts }) =>
    contacts.addToList(1, row),
  )
  const flags: [boolean, boolean] = [answer.created, replayed]
  await mailkeep.on('contact.unsubscribed', ({ data }) => data.contact.email, { name: 'one' })
  await mailkeep.on(['contact.subscribed', 'webhook.test'], (event) => event.type, { name: 'several' })
  await mailkeep
    .using(flags)
    .forClient(1)
    .withIdempotencyKey('order 1', row, async () => 1)
}

/** Never runs: the test is that each of these lines is a compile error. */
export async function badCallsDoNot(mailkeep: Mailkeep) {
  const acme = mailkeep.forClient(1)
  // @ts-expect-error not an id
  mailkeep.forClient('1')
  // @ts-expect-error not an e-mail address
  await acme.contacts.addToList(1, { name: 'Ada' })
  // @ts-expect-error attributes are strings
  await acme.contacts.addToList(1, { email: 'ada@example.org', age: 36 })
  // @ts-expect-error tags are names
  await acme.contacts.addToList(1, { email: 'ada@example.org', tags: [1] })
  // @ts-expect-error the address cannot be changed
  await acme.contacts.update(1, { email: 'ada@example.org' })
  // @ts-expect-error an unknown filter
  await acme.contacts.list({ list: 1 })
  // @ts-expect-error an unknown event
  await acme.webhooks.createEndpoint({ url: 'https://example.org/', events: ['contact.changed'] })
  // @ts-expect-error the URL cannot be changed
  await acme.webhooks.updateEndpoint(1, { url: 'https://example.org/' })
  // @ts-expect-error only the library raises this type
  await acme.events.raise({ type: 'contact.subscribed', data: {} })
  // @ts-expect-error an unknown status
  await acme.identities.list({ identity_status: 'ok' })
  // @ts-expect-error an unknown role
  await mailkeep.tokens.create({ clientId: 1, role: 'owner' })
  // @ts-expect-error a misspelt field
  await acme.lists.create({ nome: 'News' })
  // @ts-expect-error a Date is not a string
  await acme.webhooks.recover(1, { since: new Date() })
  // @ts-expect-error ids must be numbers, even when unchecked
  await unchecked(acme).contacts.get('1')
  // @ts-expect-error a nested idempotency key
  await acme.withIdempotencyKey('order 1', 1, (client) => client.withIdempotencyKey('order 2', 1, async () => 1))
  // @ts-expect-error an unknown code
  isMailkeepError(undefined, 'gone')
  // @ts-expect-error a contact has no such field
  ;(await acme.contacts.get(1)).shoe_size
}

/** Never runs: checks the event data types of handlers and the test kit. */
export async function eventsAreTyped(mailkeep: Mailkeep, kit: TestKit) {
  const name = { name: 'greeter' }
  await mailkeep.on('contact.subscribed', ({ data }) => data.list.name satisfies string, name)
  await mailkeep.on('contact.unsubscribed', ({ data }) => data.contact.email satisfies string, name)
  await mailkeep.on(
    'contact.resubscribed',
    ({ data, clientId }) => [data.contact.tags, clientId satisfies number],
    name,
  )
  await mailkeep.on('newsletter.sent', ({ data }) => data.subject satisfies unknown, name)
  await mailkeep.on('sequence_step.sent', ({ data, type }) => [data.step, type satisfies 'sequence_step.sent'], name)
  await mailkeep.on('sequence.completed', ({ data, id }) => [data.sequence, id satisfies string], name)
  await mailkeep.on('webhook.test', ({ data }) => data.message satisfies string, name)
  await mailkeep.on(['contact.subscribed', 'contact.unsubscribed'], ({ data }) => data.contact.email, name)
  await mailkeep.on(
    ['contact.subscribed', 'newsletter.sent'],
    (event) => (event.type === 'contact.subscribed' ? event.data.list.id : event.data.subject),
    name,
  )
  // @ts-expect-error only contact.subscribed has a list
  await mailkeep.on('contact.unsubscribed', ({ data }) => data.list, name)
  // @ts-expect-error newsletter.sent has no contact of a known type
  await mailkeep.on(['contact.subscribed', 'newsletter.sent'], ({ data }) => data.contact.email, name)
  kit.events('contact.unsubscribed')[0]?.data.contact.email satisfies string | undefined
  for (const event of kit.events()) {
    if (event.type === 'contact.subscribed') event.data.list.name satisfies string
    else if (event.type === 'webhook.test') event.data.message satisfies string
    else event.data satisfies object
  }
}

/** Never runs: checks what the client of the HTTP API takes. */
export async function clientInputsAreTyped(client: Client) {
  await client.lists.update(1, { name: 'News' })
  // @ts-expect-error a misspelt field
  await client.lists.update(1, { nome: 'News' })
  const plan = undefined as string | undefined
  await client.contacts.upsert({ email: 'ada@example.org', plan })
  await client.contacts.list({ tags: undefined, attributes: undefined })
  // @ts-expect-error a filter without its value would match every contact
  await client.contacts.list({ attributes: { plan } })
  // @ts-expect-error a filter without its value would match every contact
  await client.segments.create({ name: 'Pro', filters: { attributes: { plan } } })
  await client.events.raise({ type: 'newsletter.sent', data: { subject: 'Hello' } })
  await client.events.raiseMany({ events: [{ type: 'sequence.completed', data: { step: 3 } }] })
}

/** Never runs: checks fields of answers that may have any value. */
export async function clientAnswersAreTyped(client: Client) {
  const { messages, deliveries } = await client.contacts.data(1)
  const { payload } = await client.deliveries.get(1, 1)
  for (const { status } of messages) 'sent' satisfies typeof status
  for (const delivery of deliveries) ({ type: 'contact.created' }) satisfies typeof delivery.payload
  if (payload?.type === 'newsletter.sent') ({ subject: 'Hello' }) satisfies typeof payload.data
}

/** Never runs: checks that the guard narrows to its code. */
export function guardNarrows(error: unknown): 'conflict' | undefined {
  return isMailkeepError(error, 'conflict') ? error.code : undefined
}

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T
/** Checks that a schema accepts exactly its input type: the same fields, of compatible types. */
type Agrees<Schema extends v.GenericSchema, Input extends object> =
  Input extends Frozen<v.InferInput<Schema>>
    ? keyof v.InferInput<Schema> extends keyof Input
      ? true
      : 'a field is missing'
    : 'a type differs'

/**
 * Each line compiles only while schema and input agree. Other fields of contacts are attributes, which only the input
 * type has.
 */
export const inputsAgree: {
  client: Agrees<typeof clients.NewClient, lib.ClientInput>
  token: Agrees<typeof clients.NewTokenInput, lib.TokenInput>
  page: Agrees<typeof PageQuery, lib.PageInput>
  contacts: Agrees<typeof contacts.ContactQuery, lib.ContactQueryInput>
  contact: Agrees<typeof contacts.NewContact, lib.ContactInput>
  contactChange: Agrees<typeof contacts.ContactChange, lib.ContactChangeInput>
  unsubscribe: Agrees<typeof contacts.UnsubscribeOptions, lib.UnsubscribeInput>
  list: Agrees<typeof lists.NewList, lib.ListInput>
  tag: Agrees<typeof tags.NewTag, lib.TagInput>
  topic: Agrees<typeof topics.NewTopic, lib.TopicInput>
  topicChange: Agrees<typeof topics.TopicChange, lib.TopicChangeInput>
  identity: Agrees<typeof identities.NewIdentity, lib.IdentityInput>
  identities: Agrees<typeof identities.IdentityQuery, lib.IdentityQueryInput>
  endpoint: Agrees<typeof webhooks.NewEndpoint, lib.EndpointInput>
  endpointChange: Agrees<Omitting<typeof webhooks.EndpointChange>, lib.EndpointChangeInput>
} = {
  client: true,
  token: true,
  page: true,
  contacts: true,
  contact: true,
  contactChange: true,
  unsubscribe: true,
  list: true,
  tag: true,
  topic: true,
  topicChange: true,
  identity: true,
  identities: true,
  endpoint: true,
  endpointChange: true,
}

/** The schema contains url and events only to refuse a change of them. */
type Omitting<Schema extends v.GenericSchema> = v.GenericSchema<Omit<v.InferInput<Schema>, 'url' | 'events'>>

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const slices = ['clients', 'contacts', 'sending', 'webhooks'].map((slice) => `lib/${slice}/api-types.ts`)
const apiTypes = ['lib/api-types.ts', ...slices].map(read)

describe('the public API', () => {
  test('has a docstring for every operation, which the editor shows', () => {
    const methods = apiTypes.flatMap((text) => [...text.matchAll(/(\*\/\n)?^ {2}(\w+)\(/gm)])
    assert.ok(methods.length >= 45, `${methods.length} operations`)
    assert.deepEqual(
      methods.filter(([, doc]) => !doc).map(([, , name]) => name),
      [],
    )
  })

  test('is fully typed: no operation takes unknown', () => {
    for (const text of apiTypes) assert.doesNotMatch(text, /: (unknown|any)\b/)
  })
})

describe('an error', () => {
  test('lists its issues with their paths', () => {
    const errors = { name: ['This is wrong.'], 'tags.0': ['Too long.', 'Too odd.'] }
    assert.deepEqual(new MailkeepError('validation_failed', 'No.', { errors }).issues, [
      { path: 'name', message: 'This is wrong.' },
      { path: 'tags.0', message: 'Too long.' },
      { path: 'tags.0', message: 'Too odd.' },
    ])
    assert.deepEqual(new MailkeepError('conflict', 'No.').issues, [])
  })

  test('is recognised by its guard, with a code if one is given', () => {
    const error = new MailkeepError('conflict', 'No.')
    assert.equal(isMailkeepError(error), true)
    assert.equal(guardNarrows(error), 'conflict')
    assert.equal(isMailkeepError(error, 'not_found'), false)
    assert.equal(isMailkeepError(new Error('conflict')), false)
  })
})
