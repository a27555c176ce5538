/** Mistakes of a host: for any argument, a MailkeepError says what is wrong, and no other error is thrown. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { runInNewContext } from 'node:vm'
import Database from 'better-sqlite3'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import pg from 'pg'
import {
  createMailkeep,
  defaultMailSettings,
  defaultWebhookSettings,
  isMailkeepError,
  type Mailkeep,
} from '../../lib/index.ts'
import { smtp } from '../../lib/sending/transports/smtp.ts'
import { ses, sesMail } from '../../lib/ses.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { testMailkeep } from '../../lib/testing.ts'
import { databaseUrl, onPostgres, test } from '../support/databases.ts'
import { onKinds, openPlace } from '../support/kinds.ts'

const encryptionKey = randomBytes(32)
// biome-ignore lint/suspicious/noExplicitAny: these tests pass values that the types forbid.
type Any = any

const wrongValues: Record<string, Any> = {
  null: null,
  undefined: undefined,
  'an empty string': '',
  'a string': '1',
  'an empty object': {},
  'an array': [],
  'minus one': -1,
  NaN: Number.NaN,
  'a Promise': Promise.resolve({}),
}

/** Calls, and returns the error that is thrown or rejected; undefined without one. */
async function outcomeOf(call: () => unknown): Promise<Error | undefined> {
  try {
    await call()
    return undefined
  } catch (error) {
    assert.ok(error instanceof Error)
    return error
  }
}

function assertHelpful(error: Error | undefined, what: string, code?: string): void {
  assert.ok(isMailkeepError(error), `${what}: ${error ? `${error.stack}` : 'nothing was thrown'}`)
  if (code !== undefined) assert.equal(error.code, code, `${what}: ${error.message}`)
  assert.match(error.message, /^.{10,}$/, what)
  assert.doesNotMatch(error.message, /undefined is not|Cannot read|is not a function|not iterable/, what)
}

/** Calls that must refuse all of the values above, except the values listed as allowed. */
const calls: Record<string, { run: (mailkeep: Mailkeep, value: Any) => unknown; allows?: readonly string[] }> = {
  forClient: { run: (mailkeep, value) => mailkeep.forClient(value) },
  using: { run: (mailkeep, value) => mailkeep.using(value) },
  'start, options': {
    run: (mailkeep, value) => mailkeep.start(value),
    allows: ['undefined', 'an empty object'],
  },
  'start, dispatch': { run: (mailkeep, value) => mailkeep.start({ dispatch: value }), allows: ['undefined'] },
  'close, options': {
    run: (mailkeep, value) => mailkeep.close(value),
    allows: ['undefined', 'an empty object'],
  },
  'close, timeoutMs': { run: (mailkeep, value) => mailkeep.close({ timeoutMs: value }), allows: ['undefined'] },
  'on, types': { run: (mailkeep, value) => mailkeep.on(value, () => {}, { name: 'n' }) },
  'on, handler': { run: (mailkeep, value) => mailkeep.on('contact.subscribed', value, { name: 'n' }) },
  'on, options': { run: (mailkeep, value) => mailkeep.on('contact.subscribed', () => {}, value) },
  'on, name': {
    run: (mailkeep, value) => mailkeep.on('contact.subscribed', () => {}, { name: value }),
    allows: ['a string'],
  },
  'clients.create': { run: ({ clients }, value) => clients.create(value) },
  'clients.get': { run: ({ clients }, value) => clients.get(value) },
  'clients.delete': { run: ({ clients }, value) => clients.delete(value) },
  'clients.bootstrap, token': {
    run: ({ clients }, value) => clients.bootstrap({ token: value }),
    allows: ['undefined', 'a string'],
  },
  'tokens.create': { run: ({ tokens }, value) => tokens.create(value) },
  'tokens.list, clientId': { run: ({ tokens }, value) => tokens.list({ clientId: value }), allows: ['undefined'] },
  'tokens.revoke': { run: ({ tokens }, value) => tokens.revoke(value) },
  'tokens.authenticate': {
    run: ({ tokens }, value) => tokens.authenticate(value),
    allows: ['an empty string', 'a string'],
  },
  'links.open, token': { run: ({ links }, value) => links.open(value, 'preferences') },
  'links.open, purpose': { run: ({ links }, value) => links.open('token', value) },
  'withIdempotencyKey, key': {
    run: (mailkeep, value) => mailkeep.forClient(1).withIdempotencyKey(value, {}, async () => 1),
    allows: ['a string'],
  },
  'withIdempotencyKey, work': { run: (mailkeep, value) => mailkeep.forClient(1).withIdempotencyKey('k', {}, value) },
  'contacts.import, source': {
    run: (mailkeep, value) => mailkeep.forClient(1).contacts.import(1, value, { format: 'csv' }),
    allows: ['an array'],
  },
  'contacts.import, options': { run: (mailkeep, value) => mailkeep.forClient(1).contacts.import(1, [], value) },
  'contacts.export': { run: (mailkeep, value) => mailkeep.forClient(1).contacts.export(value).next() },
  'contacts.addManyToList': {
    run: (mailkeep, value) => mailkeep.forClient(1).contacts.addManyToList(1, value),
    allows: ['an array'],
  },
}

const contact = { email: 'ada@example.org' }

/** Calls with one wrong id; all other arguments are valid. */
const takesId: Record<string, (client: ReturnType<Mailkeep['forClient']>, id: Any) => Promise<unknown>> = {
  'contacts.get': ({ contacts }, id) => contacts.get(id),
  'contacts.getJson': ({ contacts }, id) => contacts.getJson(id),
  'contacts.addToList': ({ contacts }, id) => contacts.addToList(id, contact),
  'contacts.addManyToList': ({ contacts }, id) => contacts.addManyToList(id, [contact]),
  'contacts.import': ({ contacts }, id) => contacts.import(id, [], { format: 'csv' }),
  'contacts.update': ({ contacts }, id) => contacts.update(id, { name: 'Ada' }),
  'contacts.unsubscribe': ({ contacts }, id) => contacts.unsubscribe(id),
  'contacts.resubscribe': ({ contacts }, id) => contacts.resubscribe(id),
  'contacts.removeFromList, the list': ({ contacts }, id) => contacts.removeFromList(id, 1),
  'contacts.removeFromList, the contact': ({ contacts }, id) => contacts.removeFromList(1, id),
  'contacts.subscribeToTopic, the contact': ({ contacts }, id) => contacts.subscribeToTopic(id, 1),
  'contacts.subscribeToTopic, the topic': ({ contacts }, id) => contacts.subscribeToTopic(1, id),
  'contacts.unsubscribeFromTopic, the contact': ({ contacts }, id) => contacts.unsubscribeFromTopic(id, 1),
  'contacts.unsubscribeFromTopic, the topic': ({ contacts }, id) => contacts.unsubscribeFromTopic(1, id),
  'contacts.delete': ({ contacts }, id) => contacts.delete(id),
  'lists.get': ({ lists }, id) => lists.get(id),
  'lists.update': ({ lists }, id) => lists.update(id, { name: 'x' }),
  'lists.delete': ({ lists }, id) => lists.delete(id),
  'tags.update': ({ tags }, id) => tags.update(id, { name: 'x' }),
  'tags.delete': ({ tags }, id) => tags.delete(id),
  'topics.list': ({ topics }, id) => topics.list(id),
  'topics.create': ({ topics }, id) => topics.create(id, { name: 'x' }),
  'topics.update': ({ topics }, id) => topics.update(id, { name: 'x' }),
  'topics.delete': ({ topics }, id) => topics.delete(id),
  'identities.get': ({ identities }, id) => identities.get(id),
  'identities.refresh': ({ identities }, id) => identities.refresh(id),
  'identities.remove': ({ identities }, id) => identities.remove(id),
  'webhooks.getEndpoint': ({ webhooks }, id) => webhooks.getEndpoint(id),
  'webhooks.updateEndpoint': ({ webhooks }, id) => webhooks.updateEndpoint(id, { active: true }),
  'webhooks.deleteEndpoint': ({ webhooks }, id) => webhooks.deleteEndpoint(id),
  'webhooks.rotateSecret': ({ webhooks }, id) => webhooks.rotateSecret(id),
  'webhooks.testEndpoint': ({ webhooks }, id) => webhooks.testEndpoint(id),
  'webhooks.listDeliveries': ({ webhooks }, id) => webhooks.listDeliveries(id),
  'webhooks.getDelivery, the endpoint': ({ webhooks }, id) => webhooks.getDelivery(id, 1),
  'webhooks.getDelivery, the delivery': ({ webhooks }, id) => webhooks.getDelivery(1, id),
  'webhooks.redeliver, the endpoint': ({ webhooks }, id) => webhooks.redeliver(id, 1),
  'webhooks.redeliver, the delivery': ({ webhooks }, id) => webhooks.redeliver(1, id),
  'webhooks.recover': ({ webhooks }, id) => webhooks.recover(id, { since: '2026-01-02T03:04:05Z' }),
  'webhooks.getRecovery, the endpoint': ({ webhooks }, id) => webhooks.getRecovery(id, 1),
  'webhooks.getRecovery, the recovery': ({ webhooks }, id) => webhooks.getRecovery(1, id),
}

/** Creates a client, list, topic and endpoint with the id 1, and a contact on the list. */
async function filled(mailkeep: Mailkeep) {
  const { id } = await mailkeep.clients.create({ name: 'Acme' })
  const client = mailkeep.forClient(id)
  const list = await client.lists.create({ name: 'News' })
  await client.topics.create(list.id, { name: 'Products' })
  await client.contacts.addToList(list.id, contact)
  const url = 'http://127.0.0.1:9/'
  const endpoint = await client.webhooks.createEndpoint({ url, events: ['contact.subscribed'] })
  await client.webhooks.testEndpoint(endpoint.id)
  return client
}

const kinds = ['a SQLite file', "a host's handle of a file", 'SQLite in memory', ':memory:', 'PostgreSQL'] as const

onKinds(kinds, 'a host’s mistakes', (kind) => {
  const open = async (t: TestContext) => {
    const { source, close } = await openPlace(kind)
    const mailkeep = await createMailkeep({ database: source, encryptionKey, webhooks: { allowPrivate: true } })
    t.after(async () => {
      await mailkeep.close()
      await close()
    })
    return mailkeep
  }

  test('wrong arguments throw an error that names them', async (t) => {
    const mailkeep = await open(t)
    await filled(mailkeep)
    for (const [name, { run, allows = [] }] of Object.entries(calls)) {
      for (const [kind, value] of Object.entries(wrongValues)) {
        if (!allows.includes(kind)) assertHelpful(await outcomeOf(() => run(mailkeep, value)), `${name}: ${kind}`)
      }
    }
  })

  test('an id of the wrong type is the same error everywhere, and the error names it', async (t) => {
    const client = await filled(await open(t))
    for (const [name, run] of Object.entries(takesId)) {
      for (const [kind, value] of Object.entries(wrongValues)) {
        if (name === 'contacts.import' && kind === 'null') continue // the lists that an export names
        const error = await outcomeOf(() => run(client, value))
        assertHelpful(error, `${name}: ${kind}`, 'validation_failed')
        assert.match(error!.message, /^\w+Id must be a positive whole number\.$/, name)
      }
      const unknown = await outcomeOf(() => run(client, 999_999))
      assertHelpful(unknown, name, 'not_found')
    }
  })

  test('a client id of the wrong type is refused, with a caller too', async (t) => {
    const mailkeep = await open(t)
    const { id } = await mailkeep.clients.create({ name: 'Acme' })
    mailkeep.forClient(id, { source: 'api' })
    for (const wrong of [`${id}`, [id], BigInt(id), Symbol('id'), Object.create(null)] as Any[]) {
      for (const caller of [undefined, { source: 'api' }] as const) {
        const error = await outcomeOf(() => mailkeep.forClient(wrong, caller))
        assertHelpful(error, `${typeof wrong}: ${caller?.source}`, 'validation_failed')
        assert.equal(error!.message, 'clientId must be a positive whole number.')
      }
    }
  })

  test('calls after close() throw an error that says so', async (t) => {
    const mailkeep = await open(t)
    const client = await filled(mailkeep)
    await mailkeep.close()
    const late: Record<string, () => unknown> = {
      'a read': () => client.contacts.list(),
      'a read of one contact': () => client.contacts.get(1),
      'a write': () => client.lists.create({ name: 'Late' }),
      'an export': () => client.contacts.export({ format: 'csv' }).next(),
      authenticate: () => mailkeep.tokens.authenticate(`mk_${'x'.repeat(43)}`),
      using: () => mailkeep.using({}),
      start: () => mailkeep.start(),
      on: () => mailkeep.on('contact.subscribed', () => {}, { name: 'late' }),
      deliverDue: () => mailkeep.deliverDue(),
      stats: () => mailkeep.stats(),
      resealSecrets: () => mailkeep.resealSecrets(),
    }
    for (const [name, run] of Object.entries(late)) {
      const error = await outcomeOf(run)
      assertHelpful(error, name, 'unavailable')
      assert.match(error!.message, /closed/, name)
    }
    assert.equal((await mailkeep.ready()).ready, false)
    await mailkeep.close()
  })

  test('the outer client inside an idempotent call says what to do', { timeout: 20_000 }, async (t) => {
    const mailkeep = await open(t)
    const client = await filled(mailkeep)
    for (const outer of [() => client.lists.create({ name: 'Outer' }), () => client.lists.list()]) {
      const error = await outcomeOf(() => client.withIdempotencyKey('k', {}, outer as () => Promise<unknown>))
      assertHelpful(error, 'outer')
      assert.match(error!.message, /only the client that `work` is given/)
    }
    let kept: Any
    await client.withIdempotencyKey('k2', {}, async (inner) => {
      kept = inner
    })
    assert.match((await outcomeOf(() => kept.lists.list()))!.message, /has ended: await every call/)
    assertHelpful(await outcomeOf(() => kept.lists.list()), 'kept')
    const cyclic: Any = {}
    cyclic.self = cyclic
    for (const answer of [1n, cyclic]) {
      const error = await outcomeOf(() => client.withIdempotencyKey('k3', {}, async () => answer))
      assertHelpful(error, 'a result that is not JSON', 'validation_failed')
    }
  })
})

test('createMailkeep names the option that is wrong', async () => {
  const good = { database: sqlite(':memory:'), encryptionKey }
  const wrong: [field: string, options: Any][] = [
    ['options', undefined],
    ['options', null],
    ['options', Promise.resolve(good)],
    ['database', { ...good, database: undefined }],
    ['database', { ...good, database: 'mailkeep.db' }],
    ['database', { ...good, database: Promise.resolve(good.database) }],
    ['encryptionKey', { ...good, encryptionKey: undefined }],
    ['encryptionKey', { ...good, encryptionKey: null }],
    ['encryptionKey', { ...good, encryptionKey: '' }],
    ['encryptionKey', { ...good, encryptionKey: 5 }],
    ['encryptionKey', { ...good, encryptionKey: {} }],
    ['encryptionKey', { ...good, encryptionKey: Array.from({ length: 32 }, () => 1) }],
    ['previousEncryptionKeys', { ...good, previousEncryptionKeys: [undefined] }],
    ['previousEncryptionKeys', { ...good, previousEncryptionKeys: 'key' }],
    ['logger', { ...good, logger: {} }],
    ['logger', { ...good, logger: null }],
    ['clock', { ...good, clock: 5 }],
    ['sender', { ...good, sender: {} }],
    ['onEvent', { ...good, onEvent: 'event' }],
    ['identityProvider', { ...good, identityProvider: {} }],
    ['lookup', { ...good, lookup: 5 }],
    ['lookup.timeoutMs', { ...good, lookup: { timeoutMs: Number.NaN } }],
    ['webhooks', { ...good, webhooks: null }],
    ['webhooks', { ...good, webhooks: 'none' }],
    ['webhooks.allowPrivate', { ...good, webhooks: { allowPrivate: 'yes' } }],
    ['webhooks.ports', { ...good, webhooks: { ports: 443 } }],
    ['webhooks.ports', { ...good, webhooks: { ports: [443, 70_000] } }],
    ['webhooks.retryScheduleSeconds', { ...good, webhooks: { retryScheduleSeconds: [-5] } }],
    ['webhooks.retryScheduleSeconds', { ...good, webhooks: { retryScheduleSeconds: '5,300' } }],
    ['webhooks.timeoutSeconds', { ...good, webhooks: { timeoutSeconds: 0 } }],
    ['webhooks.timeoutSeconds', { ...good, webhooks: { timeoutSeconds: Number.NaN } }],
    ['webhooks.concurrency', { ...good, webhooks: { concurrency: 0 } }],
    ['webhooks.concurrency', { ...good, webhooks: { concurrency: '8' } }],
    ['webhooks.endpointConcurrency', { ...good, webhooks: { endpointConcurrency: 1.5 } }],
    ['webhooks.disableAfterFailures', { ...good, webhooks: { disableAfterFailures: 0 } }],
    ['webhooks.disableAfterHours', { ...good, webhooks: { disableAfterHours: -1 } }],
    ['webhooks.testDeliveriesPerMinute', { ...good, webhooks: { testDeliveriesPerMinute: null } }],
    ['webhooks.retentionDays', { ...good, webhooks: { retentionDays: 0 } }],
  ]
  for (const [field, options] of wrong) {
    const error = await outcomeOf(() => createMailkeep(options))
    assertHelpful(error, `${field}: ${JSON.stringify(options)}`, 'validation_failed')
    assert.deepEqual(isMailkeepError(error) && Object.keys(error.errors ?? {}), [field])
  }
  assert.match(
    (await outcomeOf(() => createMailkeep({ ...good, encryptionKey: undefined as Any })))!.message,
    /environment/,
  )
})

test('a function publicUrl that returns no URL makes no links', async (t) => {
  for (const url of [
    'mail.example.com',
    'https://mail.example.com/?a=1',
    null,
    5,
    Promise.resolve('https://x.example'),
    new Error('broken'),
  ]) {
    const publicUrl = () => {
      if (url instanceof Error) throw url
      return url as Any
    }
    const webhooks = { allowPrivate: true }
    const mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey, publicUrl, webhooks })
    t.after(() => mailkeep.close())
    const client = await filled(mailkeep)
    const error = await outcomeOf(() => client.contacts.links(contact))
    assertHelpful(error, String(url), 'validation_failed')
    assert.match(error!.message, /^The function publicUrl (?:threw an error|must return)/)
  }
})

test('a setting that is undefined keeps its default', async (t) => {
  const unset = (names: object) => Object.fromEntries(Object.keys(names).map((name) => [name, undefined]))
  const kit = await testMailkeep({ webhooks: unset(defaultWebhookSettings), mail: unset(defaultMailSettings) })
  t.after(() => kit.close())
  await kit.client.webhooks.createEndpoint({ url: 'https://partner.example/', events: ['contact.subscribed'] })
  kit.answer(503)
  await kit.contact({ email: 'ada@example.org' })
  await kit.clock.advance('1 hour')
  assert.equal(kit.deliveries().length, 4) // at once, and after 5 s, 5 min and 30 min
})

test('the clock of the test kit refuses what is not a duration, and still works', async (t) => {
  const kit = await testMailkeep({ now: 0 })
  t.after(() => kit.close())
  for (const duration of ['soon', '1 month', -1, Number.NaN, null, Number.POSITIVE_INFINITY, 1e20]) {
    const error = await outcomeOf(() => kit.clock.advance(duration as Any))
    assertHelpful(error, `${duration}`, 'validation_failed')
  }
  await kit.clock.advance('1.5 hours')
  assert.equal(kit.clock.now(), 5_400_000)
})

test('the test kit refuses answers, types of events and contacts that do not exist', async (t) => {
  const kit = await testMailkeep()
  t.after(() => kit.close())
  for (const reply of ['timout', null, Number.NaN, 99, 600, 204.5, {}, [], 1n, Symbol('reply')] as Any[]) {
    assertHelpful(await outcomeOf(() => kit.answer(reply)), `answer: ${typeof reply}`, 'validation_failed')
    assertHelpful(await outcomeOf(() => kit.answerMail(reply)), `answerMail: ${typeof reply}`, 'validation_failed')
  }
  for (const type of ['contact.subscribd', null, 1] as Any[]) {
    assertHelpful(await outcomeOf(() => kit.events(type)), `events: ${type}`, 'validation_failed')
  }
  for (const input of [null, 'ada@example.org', Promise.resolve(contact), new Map()] as Any[]) {
    assertHelpful(await outcomeOf(() => kit.contact(input)), 'contact', 'validation_failed')
  }
  await kit.client.webhooks.createEndpoint({ url: 'https://partner.example/', events: ['contact.subscribed'] })
  kit.answer({ status: 503, retryAfterSeconds: 60 })
  kit.answer()
  kit.answerMail()
  await kit.contact({})
  await kit.deliver()
  assert.equal((await kit.client.webhooks.listDeliveries(1)).data[0]?.status, 'success')
})

test('an import without its options names them', async () => {
  await using kit = await testMailkeep()
  const error = await outcomeOf(() => (kit.client as Any).contacts.import(1, []))
  assertHelpful(error, 'no options', 'validation_failed')
  assert.match(error!.message, /^options /)
})

test('an import refuses a source that is not a stream or chunks of text or bytes', async (t) => {
  const kit = await testMailkeep()
  t.after(() => kit.close())
  const list = await kit.client.lists.create({ name: 'News' })
  const csv = 'email\nada@example.org\n'
  for (const source of [
    csv,
    Buffer.from(csv),
    [1, 2],
    [Buffer.from('email\n'), { email: 'ada@example.org' }],
    [null],
    [new Uint16Array(4)],
    [new DataView(new ArrayBuffer(4))],
  ]) {
    const error = await outcomeOf(() => kit.client.contacts.import(list.id, source as Any, { format: 'csv' }))
    assertHelpful(error, JSON.stringify(source), 'validation_failed')
    assert.deepEqual(isMailkeepError(error) && Object.keys(error.errors ?? {}), ['source'])
  }
  const { created } = await kit.client.contacts.import(list.id, [Buffer.from(csv)], { format: 'csv' })
  assert.equal(created, 1)
})

test('an object whose fields mailkeep cannot read is refused, not taken for an empty one', async (t) => {
  const kit = await testMailkeep()
  t.after(() => kit.close())
  const { contacts, segments, newsletters, events } = kit.client
  const ada = await kit.contact({ name: 'Ada' })
  const segment = await segments.create({ name: 'Ada', filters: { search: 'ada' } })
  const mail = { name: 'First', subject: 'Hello', html: '<a href="{{ unsubscribe_url }}">Unsubscribe</a>' }
  const newsletter = await newsletters.create({ ...mail, audience: { segment: segment.id } })
  const unreadable: Any[] = [
    Promise.resolve({ tags: [1] }),
    new Map([['tags', [1]]]),
    new URLSearchParams('tags=1'),
    new FormData(),
    new Date(0),
  ]
  for (const value of unreadable) {
    const name = value.constructor.name
    const calls: Record<string, () => unknown> = {
      'contacts.list': () => contacts.list(value),
      'contacts.list, attributes': () => contacts.list({ attributes: value }),
      'contacts.count': () => contacts.count(value),
      'contacts.iterate': () => contacts.iterate(value).next(),
      'contacts.export': () => contacts.export({ format: 'csv', attributes: value }).next(),
      'contacts.update': () => contacts.update(ada.id, value),
      'contacts.updatePreferences': () => contacts.updatePreferences(ada.id, value),
      'segments.create': () => segments.create({ name, filters: value }),
      'segments.update': () => segments.update(segment.id, { filters: value }),
      'newsletters.create': () => newsletters.create({ ...mail, audience: value }),
      'newsletters.update': () => newsletters.update(newsletter.id, { audience: value }),
      'events.raise': () => events.raise({ type: 'newsletter.sent', data: value }),
    }
    for (const [what, run] of Object.entries(calls)) {
      assertHelpful(await outcomeOf(run), `${what}: ${name}`, 'validation_failed')
    }
    assert.match((await outcomeOf(() => contacts.list(value)))!.message, new RegExp(`not ${name}: `))
  }
  class Filters {
    search = 'ada'
  }
  class Getters {
    get search() {
      return 'ada'
    }
  }
  for (const filters of [new Filters(), new Getters(), Object.assign(Object.create(null), { search: 'ada' })]) {
    assert.equal(await contacts.count(filters), 1)
    assert.equal(await contacts.count({ ...filters, search: 'bob' }), 0)
  }
})

test('the test kit, smtp() and ses() name the option that is wrong', async (t) => {
  const kit = await testMailkeep()
  t.after(() => kit.close())
  const url = 'smtp://127.0.0.1'
  const dkim = { domain: 'example.org', selector: 's', privateKey: 'PEM' }
  const wrong: [field: string, call: () => unknown][] = [
    ['options', () => smtp(undefined as Any)],
    ['options', () => smtp(null as Any)],
    ['connections', () => smtp({ url, connections: Number.NaN })],
    ['connections', () => smtp({ url, connections: '5' as Any })],
    ['timeoutMs', () => smtp({ url, timeoutMs: 0 })],
    ['ca', () => smtp({ url, ca: 5 as Any })],
    ['options', () => smtp({ url, dkim: 'PEM' as Any })],
    ['dkim.selector', () => smtp({ url, dkim: { ...dkim, selector: undefined as Any } })],
    ['options', () => ses(null as Any)],
    ['options', () => sesMail('eu-central-1' as Any)],
    ['timeoutMs', () => ses({ timeoutMs: Number.NaN })],
    ['timeoutMs', () => sesMail({ timeoutMs: -1 })],
    ['region', () => sesMail({ region: 5 as Any })],
    ['client', () => ses({ client: {} as Any })],
    ['retryAfter', () => kit.answer({ status: 503, retryAfter: 7200 } as Any)],
    ['retryAfterSeconds', () => kit.answer({ status: 503, retryAfterSeconds: Number.NaN })],
    ['list', () => kit.contact({}, { list: null as Any })],
    ['options', () => kit.contact({}, null as Any)],
    ['now', () => testMailkeep({ now: 'tomorrow' as Any })],
    ['now', () => testMailkeep({ now: Number.NaN })],
  ]
  for (const [field, call] of wrong) {
    const error = await outcomeOf(call)
    assertHelpful(error, `${field}: ${call}`, 'validation_failed')
    assert.deepEqual(isMailkeepError(error) && Object.keys(error.errors ?? {}), [field], `${call}`)
  }
})

test('sqlite() and postgres() refuse values that are not a database', async () => {
  const closed = new Database(':memory:')
  closed.close()
  for (const [kind, value] of Object.entries({ ...wrongValues, 'a closed handle': closed })) {
    if (kind === 'a string') continue
    assertHelpful(await outcomeOf(() => sqlite(value)), `sqlite: ${kind}`, 'validation_failed')
  }
  for (const [kind, value] of Object.entries({ ...wrongValues, 'a URL of another database': 'mysql://x' })) {
    assertHelpful(await outcomeOf(() => postgres(value)), `postgres: ${kind}`, 'validation_failed')
  }
  for (const connections of [0, -1, 1.5, Number.NaN, '5', null] as Any[]) {
    assertHelpful(
      await outcomeOf(() => postgres('postgres://x', { connections })),
      `${connections}`,
      'validation_failed',
    )
  }
  for (const schema of [5, null, '', 'a b'] as Any[]) {
    assertHelpful(await outcomeOf(() => postgres('postgres://x', { schema })), `${schema}`, 'validation_failed')
  }
  for (const run of [sqlite, postgres] as Any[]) {
    assertHelpful(await outcomeOf(() => run('postgres://x', null)), 'options', 'validation_failed')
  }
  for (const url of ['file:mail.db', 'sqlite:mail.db', 'postgres://127.0.0.1/mail', 'file:///var/mail.db']) {
    const error = await outcomeOf(() => sqlite(url))
    assertHelpful(error, url, 'validation_failed')
    assert.match(error!.message, /no URL/)
  }
  for (const path of [' mail.db', 'mail.db ', 'mail.db\n', ' ']) {
    assertHelpful(await outcomeOf(() => sqlite(path)), JSON.stringify(path), 'validation_failed')
  }
  const missing = join(tmpdir(), 'mailkeep-no-such-directory', 'mailkeep.db')
  const error = await outcomeOf(() => createMailkeep({ database: sqlite(missing), encryptionKey }))
  assertHelpful(error, 'a missing directory', 'unavailable')
})

function file(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'mailkeep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return join(folder, 'mailkeep.db')
}

test('sqlite() refuses a handle that is open for reading only, and leaves its file as it is', async (t) => {
  const path = file(t)
  new Database(path).exec('create table users (id)').close()
  const before = readFileSync(path)
  const handle = new Database(path, { readonly: true })
  t.after(() => handle.close())
  const error = await outcomeOf(() => createMailkeep({ database: sqlite(handle), encryptionKey }))
  assertHelpful(error, 'a handle for reading', 'validation_failed')
  assert.match(String(error), /readonly/)
  assert.deepEqual(readFileSync(path), before)
})

test('a handle that its host has closed makes each call fail as closed', async () => {
  const handle = new Database(':memory:')
  const mailkeep = await createMailkeep({ database: sqlite(handle), encryptionKey })
  const { client, token } = (await mailkeep.clients.bootstrap())!
  handle.close()
  const acme = mailkeep.forClient(client.id)
  for (const call of [() => mailkeep.tokens.authenticate(token.token), () => acme.tags.list()]) {
    assertHelpful(await outcomeOf(call), 'a closed handle', 'unavailable')
  }
})

test('sqlite() refuses a handle with an open transaction', () => {
  const handle = new Database(':memory:').exec('begin')
  assert.throws(
    () => sqlite(handle),
    (error) => isMailkeepError(error, 'validation_failed') && /transaction open/.test(error.message),
  )
})

test('using() refuses a handle that is iterating, or does not check foreign keys', async (t) => {
  const path = file(t)
  const mailkeep = await createMailkeep({ database: sqlite(path), encryptionKey })
  t.after(() => mailkeep.close())
  const handle = new Database(path).exec('create table users (id); insert into users values (1), (2); begin immediate')
  t.after(() => handle.close())
  const rows = handle.prepare('select id from users').iterate()
  rows.next()
  const early = await outcomeOf(() => mailkeep.using(handle))
  rows.return?.()
  const within = mailkeep.using(handle)
  const others = handle.prepare('select id from users').iterate()
  others.next()
  const late = await outcomeOf(() => within.clients.create({ name: 'Acme' }))
  others.return?.()
  for (const error of [early, late]) {
    assertHelpful(error, 'iterating', 'validation_failed')
    assert.match(error!.message, /let iterate\(\) end/)
  }
  await within.clients.create({ name: 'Acme' })
  handle.exec('commit; pragma foreign_keys = off; begin immediate')
  const unchecked = await outcomeOf(() => mailkeep.using(handle))
  assertHelpful(unchecked, 'without foreign keys', 'validation_failed')
  assert.match(unchecked!.message, /foreign_keys = on/)
  handle.exec('rollback')
  assert.equal((await mailkeep.clients.list()).length, 1)
})

test('a handle whose default is BigInt works like others', async (t) => {
  const path = file(t)
  const memory = new Database(':memory:')
  for (const handle of [memory, new Database(path)]) {
    handle.defaultSafeIntegers(true)
    const mailkeep = await createMailkeep({ database: sqlite(handle), encryptionKey })
    t.after(() => mailkeep.close())
    const { id } = await mailkeep.clients.create({ name: 'Acme' })
    handle.exec('begin immediate')
    const acme = mailkeep.using(handle).forClient(id)
    const list = await acme.lists.create({ name: 'News' })
    const { contact } = await acme.contacts.addToList(list.id, { email: 'ada@example.org', tags: ['vip'] })
    handle.exec('commit')
    assert.deepEqual(await mailkeep.forClient(id).contacts.get(contact.id), contact)
    assert.equal(await mailkeep.forClient(id).contacts.count({ lists: [list.id] }), 1)
    assert.equal((await mailkeep.ready()).ready, true)
    await mailkeep.deliverDue()
  }
})

test('using() on SQLite refuses other handles', async (t) => {
  const path = file(t)
  const mailkeep = await createMailkeep({ database: sqlite(path), encryptionKey })
  t.after(() => mailkeep.close())
  const other = new Database(file(t))
  other.exec('begin')
  const closed = new Database(path)
  closed.close()
  const drizzle = { session: {}, query: {}, insert: () => {} } // shaped like Drizzle's transaction
  const wrong: [handle: unknown, message: RegExp][] = [
    [other, /not on mailkeep's database/],
    [new Database(':memory:').exec('begin'), /not on mailkeep's database/],
    [closed, /is closed/],
    [drizzle, /Drizzle, the handle it runs on/],
    [new Kysely({ dialect: new SqliteDialect({ database: new Database(path) }) }), /^No transaction is open/],
  ]
  for (const [handle, message] of wrong) {
    const error = await outcomeOf(() => mailkeep.using(handle))
    assertHelpful(error, String(message), 'validation_failed')
    assert.match(error!.message, message)
  }
  const elsewhere = new Kysely({ dialect: new SqliteDialect({ database: new Database(':memory:') }) })
  const inOther = outcomeOf(() => elsewhere.transaction().execute((trx) => mailkeep.using(trx).clients.list()))
  assert.match((await inOther)!.message, /not on mailkeep's database/)
  assertHelpful(await inOther, "Kysely's transaction on another database", 'validation_failed')
  const kysely = new Kysely({ dialect: new SqliteDialect({ database: new Database(path) }) })
  let late: ReturnType<Mailkeep['using']> | undefined
  await kysely.transaction().execute(async (trx) => {
    late = mailkeep.using(trx)
  })
  for (const call of [() => late!.clients.list(), () => late!.clients.create({ name: 'Late' })]) {
    const error = await outcomeOf(call)
    assertHelpful(error, "Kysely's transaction after its end", 'validation_failed')
    assert.match(error!.message, /has ended/)
  }
})

onPostgres('using() on PostgreSQL', () => {
  test('refuses other handles', async (t) => {
    const url = await databaseUrl()
    const mailkeep = await createMailkeep({ database: postgres(url, { schema: 'mistakes' }), encryptionKey })
    t.after(() => mailkeep.close())
    const client = new pg.Client(url)
    await client.connect()
    t.after(() => client.end())
    const pool = new pg.Pool({ connectionString: url })
    t.after(() => pool.end())
    const drizzle = { session: {}, query: {}, insert: () => {} }
    const onSqlite = new Kysely({ dialect: new SqliteDialect({ database: new Database(':memory:') }) })
    for (const handle of [
      pool,
      drizzle,
      onSqlite,
      new Database(':memory:'),
      new Kysely({ dialect: new PostgresDialect({ pool }) }),
    ]) {
      assertHelpful(await outcomeOf(() => mailkeep.using(handle)), 'using', 'validation_failed')
    }
    const inOther = await outcomeOf(() => onSqlite.transaction().execute((trx) => mailkeep.using(trx).clients.list()))
    assertHelpful(inOther, 'a transaction on SQLite', 'validation_failed')
    assert.match(inOther!.message, /not on mailkeep's database/)

    await client.query('set search_path = mistakes')
    const withoutBegin = await outcomeOf(() => mailkeep.using(client).clients.create({ name: 'Acme' }))
    assertHelpful(withoutBegin, 'no BEGIN', 'validation_failed')
    assert.match(withoutBegin!.message, /^No transaction is open.*begin one first/)

    await client.query('begin')
    await outcomeOf(() => client.query('select nonsense'))
    const afterFailure = await outcomeOf(() => mailkeep.using(client).clients.create({ name: 'Acme' }))
    assertHelpful(afterFailure, 'a failed transaction', 'validation_failed')
    await client.query('rollback')

    await client.query('begin read only')
    const inReadOnly = await outcomeOf(() => mailkeep.using(client).clients.create({ name: 'Acme' }))
    assertHelpful(inReadOnly, 'a transaction that can only read', 'validation_failed')
    assert.match(inReadOnly!.message, /only read/)
    await client.query('rollback')

    await client.query('set search_path = public')
    await client.query('begin')
    for (const call of [
      () => mailkeep.using(client).clients.list(),
      () => mailkeep.using(client).clients.create({ name: 'Acme' }),
    ]) {
      const error = await outcomeOf(call)
      assertHelpful(error, 'another schema', 'validation_failed')
      await client.query('rollback')
      await client.query('begin')
    }
    await client.query('rollback')
  })
})

test('an import whose stream fails before it is read is rejected, and the process continues', async (t) => {
  const kit = await testMailkeep()
  t.after(() => kit.close())
  const list = await kit.client.lists.create({ name: 'News' })
  for (const [listId, code] of [
    [list.id, 'ENOENT'],
    [999_999, 'not_found'],
  ] as const) {
    const source = new Readable({ read() {} })
    const importing = kit.client.contacts.import(listId, source, { format: 'csv' })
    source.destroy(Object.assign(new Error('no such file'), { code: 'ENOENT' }))
    await assert.rejects(importing, { code })
  }
})

test('an import whose source throws no error is rejected with what it threw', async (t) => {
  const kit = await testMailkeep()
  t.after(() => kit.close())
  const list = await kit.client.lists.create({ name: 'News' })
  for (const thrown of [undefined, null, 5, 'no more']) {
    const source = (async function* () {
      yield 'email\n'
      throw thrown
    })()
    const importing = kit.client.contacts.import(list.id, source, { format: 'csv' })
    assert.equal(await importing.then(() => 'imported').catch((error) => error), thrown)
  }
})

/** Functions with an optional query or caller. */
const takesQuery: Record<string, (mailkeep: Mailkeep, query: Any) => unknown> = {
  forClient: (mailkeep, caller) => mailkeep.forClient(1, caller),
  'contacts.list': (mailkeep, query) => mailkeep.forClient(1).contacts.list(query),
  'contacts.listJson': (mailkeep, query) => mailkeep.forClient(1).contacts.listJson(query),
  'contacts.count': (mailkeep, query) => mailkeep.forClient(1).contacts.count(query),
  'contacts.iterate': (mailkeep, query) => mailkeep.forClient(1).contacts.iterate(query).next(),
  'contacts.history': (mailkeep, query) => mailkeep.forClient(1).contacts.history(1, query),
  'contacts.messages': (mailkeep, query) => mailkeep.forClient(1).contacts.messages(1, query),
  'lists.list': (mailkeep, query) => mailkeep.forClient(1).lists.list(query),
  'tags.list': (mailkeep, query) => mailkeep.forClient(1).tags.list(query),
  'topics.list': (mailkeep, query) => mailkeep.forClient(1).topics.list(1, query),
  'segments.list': (mailkeep, query) => mailkeep.forClient(1).segments.list(query),
  'newsletters.list': (mailkeep, query) => mailkeep.forClient(1).newsletters.list(query),
  'sequences.list': (mailkeep, query) => mailkeep.forClient(1).sequences.list(query),
  'suppressions.list': (mailkeep, query) => mailkeep.forClient(1).suppressions.list(query),
  'webhooks.listEndpoints': (mailkeep, query) => mailkeep.forClient(1).webhooks.listEndpoints(query),
  'webhooks.listDeliveries': (mailkeep, query) => mailkeep.forClient(1).webhooks.listDeliveries(1, query),
  'webhooks.listAllDeliveries': (mailkeep, query) => mailkeep.forClient(1).webhooks.listAllDeliveries(query),
  'identities.list': (mailkeep, query) => mailkeep.forClient(1).identities.list(query),
  'imports.list': (mailkeep, query) => mailkeep.forClient(1).imports.list(query),
  'tokens.list': (mailkeep, query) => mailkeep.forClient(1).tokens.list(query),
  'auditLog.list': (mailkeep, query) => mailkeep.forClient(1).auditLog.list(query),
  deliverDue: (mailkeep, query) => mailkeep.deliverDue(query),
  start: (mailkeep, options) => mailkeep.start(options),
}

test('a query, a caller and options are objects: null is refused', async (t) => {
  const webhooks = { allowPrivate: true }
  const mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey, webhooks })
  t.after(() => mailkeep.close())
  await filled(mailkeep)
  for (const [name, run] of Object.entries(takesQuery)) {
    assertHelpful(await outcomeOf(() => run(mailkeep, null)), name, 'validation_failed')
  }
  for (const role of ['owner', null, Symbol('admin')] as Any[]) {
    const refused = await outcomeOf(() => mailkeep.forClient(1, { source: 'api', role }))
    assert.deepEqual(isMailkeepError(refused) && Object.keys(refused.errors ?? {}), ['role'])
  }
})

async function onTwice(mailkeep: Mailkeep): Promise<void> {
  await mailkeep.on('contact.created', () => {}, { name: 'twice' })
  await mailkeep.on('contact.created', () => {}, { name: 'twice' })
}

test('the message of a wrong field names it', async (t) => {
  const kit = await testMailkeep()
  t.after(() => kit.close())
  const { contacts, lists } = kit.client
  const list = await lists.create({ name: 'News' })
  const wrong: [message: string, run: () => unknown][] = [
    ['email must be an e-mail address.', () => contacts.addToList(list.id, { email: 'ada' })],
    ['email is required.', () => contacts.addToList(list.id, {} as Any)],
    ['name must not be empty. (and more: see errors)', () => lists.create({ name: '', double_opt_in: 1 } as Any)],
    ['tags.1 must be a string.', () => contacts.tag({ email: 'ada@example.org' }, { tags: ['a', 1] } as Any)],
    ['body must be an object.', () => contacts.list(5 as Any)],
    ['This process already has a handler of that name.', () => onTwice(kit.mailkeep)],
    ['signal must be an AbortSignal.', () => contacts.addManyToList(list.id, [], { signal: 1 } as Any)],
  ]
  for (const [message, run] of wrong) assert.equal((await outcomeOf(run))?.message, message)
  const long = await outcomeOf(() => contacts.addToList(list.id, { email: 'a@b.example', ['x'.repeat(500)]: 1 } as Any))
  assert.ok(long!.message.length < 300)
  const unknown = await outcomeOf(() => contacts.addManyToList(list.id, [], { signl: 1 } as Any))
  assert.match(unknown!.message, /Known: signal\.$/)
})

test('takes the bytes of an encryption key of another realm, as tests with jsdom have them', async () => {
  const foreign = runInNewContext('new Uint8Array(32).fill(7)')
  const mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey: foreign })
  await mailkeep.close()
})

test('the errors by field are a plain object, which tests of the host compare with one', async (t) => {
  const kit = await testMailkeep()
  t.after(() => kit.close())
  const empty = await outcomeOf(() => kit.client.lists.create({ name: '' }))
  const raw = JSON.parse('{"name":"News","__proto__":"x"}')
  const unknown = await outcomeOf(() => kit.client.lists.create(raw))
  assert.ok(isMailkeepError(empty) && isMailkeepError(unknown))
  assert.deepEqual(empty.errors, { name: ['This must not be empty.'] })
  const message = 'There is no "__proto__" here. Known: name, double_opt_in.'
  assert.deepEqual(unknown.errors, { ['__proto__']: [message] }) // the key of a literal in brackets is a field
})

test('a logger whose functions are async and reject stops nothing', async (t) => {
  const broken = async () => {
    throw new Error('broken')
  }
  const kit = await testMailkeep({ logger: { debug: broken, info: broken, warn: broken, error: broken } })
  t.after(() => kit.close())
  const { listDeliveries } = await kit.mailkeep.on('contact.subscribed', broken, { name: 'broken' })
  await kit.contact()
  await kit.deliver() // logs that the handler failed; an unhandled rejection would fail this test
  assert.equal((await listDeliveries()).data[0]?.attempts, 1)
})

test('a logger that throws stops nothing, and a clock that is wrong is named', async (t) => {
  const broken = () => {
    throw new Error('broken')
  }
  let clock: Any = Date.now
  const mailkeep = await createMailkeep({
    database: sqlite(':memory:'),
    encryptionKey,
    logger: { debug: broken, info: broken, warn: broken, error: broken },
    clock: () => clock(),
    webhooks: { allowPrivate: true, retryScheduleSeconds: [] },
  })
  t.after(() => mailkeep.close())
  const client = await filled(mailkeep)
  const { listDeliveries } = await mailkeep.on('newsletter.sent', broken, { name: 'broken' })
  await client.events.raise({ type: 'newsletter.sent', data: {} })
  await mailkeep.deliverDue()
  assert.equal((await listDeliveries()).data[0]?.status, 'failed')
  for (const wrong of [broken, () => Number.NaN, () => 'now', () => undefined, () => 1e20]) {
    clock = wrong
    const error = await outcomeOf(() => client.lists.create({ name: 'Late' }))
    assertHelpful(error, String(wrong), 'validation_failed')
    assert.match(error!.message, /clock/)
  }
  clock = Date.now
})

test('an import ends with the error of an async callback', async (t) => {
  const kit = await testMailkeep()
  t.after(() => kit.close())
  const list = await kit.client.lists.create({ name: 'News' })
  const broken = () => Promise.reject(new Error('broken'))
  for (const callback of [{ onStart: broken }, { onProgress: broken }, { onResults: broken }]) {
    const source = ['email\nada@example.org\n']
    const error = await outcomeOf(() => kit.client.contacts.import(list.id, source, { format: 'csv', ...callback }))
    assert.equal(error?.message, 'broken')
  }
})
