/** An option that is undefined counts as absent, so that hosts can pass `process.env.NAME` and fields of their settings. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type ApiError, type CallOptions, type ClientOptions, createClient } from 'mailkeep/client'
import { type ContactPagesOptions, createContactPages, createFetchHandler, type MountOptions } from 'mailkeep/http'
import {
  type CloseOptions,
  createMailkeep,
  type ErrorDetails,
  type LookupSettings,
  MailkeepError,
  type MailkeepOptions,
  type MailOutcome,
  type MailSettings,
  type MailTransport,
  type Principal,
  type StartOptions,
  type WebhookSettings,
} from '../../lib/index.ts'
import { type SmtpOptions, smtp } from '../../lib/sending/transports/smtp.ts'
import { type SesMailOptions, type SesOptions, ses, sesMail } from '../../lib/ses.ts'
import { type PostgresOptions, postgres } from '../../lib/storage/postgres.ts'
import { type SqliteOptions, sqlite } from '../../lib/storage/sqlite.ts'
import { type ContactPlace, type TestOptions, testMailkeep } from '../../lib/testing.ts'
import { type VerifyOptions, verifyDelivery } from '../../lib/webhooks/receiver.ts'
import { databaseUrl, needsPostgres } from '../support/databases.ts'

/** All optional fields as undefined. The compiler checks that none is missing, and that callers may write it. */
type Absent<T> = {
  readonly [Name in keyof T as Record<never, never> extends Pick<T, Name> ? Name : never]-?: undefined
}

const encryptionKey = Buffer.alloc(32, 1)
const noOptions: Absent<MailkeepOptions> = {
  previousEncryptionKeys: undefined,
  logger: undefined,
  webhooks: undefined,
  mail: undefined,
  identityProvider: undefined,
  publicUrl: undefined,
  source: undefined,
  clock: undefined,
  sender: undefined,
  migrate: undefined,
  onEvent: undefined,
  lookup: undefined,
}
const noWebhooks: Absent<Partial<WebhookSettings>> = {
  allowPrivate: undefined,
  ports: undefined,
  retryScheduleSeconds: undefined,
  timeoutSeconds: undefined,
  concurrency: undefined,
  endpointConcurrency: undefined,
  disableAfterFailures: undefined,
  disableAfterHours: undefined,
  endpointsPerClient: undefined,
  testDeliveriesPerMinute: undefined,
  retentionDays: undefined,
}
const noMail: Absent<Partial<MailSettings>> = {
  transport: undefined,
  rate: undefined,
  identityRate: undefined,
  connections: undefined,
  allowUnverified: undefined,
  postalAddress: undefined,
  timeoutSeconds: undefined,
  retentionDays: undefined,
}
const noLookup: Absent<LookupSettings> = {
  resolver: undefined,
  timeoutMs: undefined,
  cacheMs: undefined,
  now: undefined,
}
const noSqlite: Absent<SqliteOptions> = { nativeBinding: undefined }
const noPostgres: Absent<PostgresOptions> = { schema: undefined, connections: undefined, pooler: undefined }
const noStart: Absent<StartOptions> = { dispatch: undefined }
const noClose: Absent<CloseOptions> = { timeoutMs: undefined }
const noMount: Absent<MountOptions<Request>> = {
  logger: undefined,
  publicUrl: undefined,
  authenticate: undefined,
  prefix: undefined,
  bodyBytes: undefined,
}
const noPages: Absent<ContactPagesOptions> = { logger: undefined, trustProxy: undefined, prefix: undefined }
const noClient: Absent<ClientOptions> = { retries: undefined, timeoutMs: undefined, fetch: undefined }
const noCall: Absent<CallOptions> = { signal: undefined, idempotencyKey: undefined }
const noSes: Absent<SesOptions> = { client: undefined, region: undefined, timeoutMs: undefined }
const noSesMail: Absent<SesMailOptions> = { ...noSes, configurationSet: undefined }
const noSmtp: Absent<SmtpOptions> = {
  connections: undefined,
  dkim: undefined,
  ca: undefined,
  timeoutMs: undefined,
  ehloName: undefined,
}
const noVerify: Absent<VerifyOptions> = { now: undefined, toleranceSeconds: undefined }
const noPlace: Absent<ContactPlace> = { list: undefined }
const noDetails: Absent<ErrorDetails> = { errors: undefined, rateLimit: undefined, cause: undefined }
const noTest: Absent<TestOptions> = {
  now: undefined,
  webhooks: undefined,
  mail: undefined,
  logger: undefined,
  identityProvider: undefined,
}
const noTransport: Absent<MailTransport> = { check: undefined, close: undefined, isLocal: undefined }
const noPrincipal: Absent<Principal> = { scope: undefined, tokenId: undefined }

async function openMailkeep(t: TestContext, options: Partial<MailkeepOptions> = {}) {
  const database = sqlite(':memory:', noSqlite)
  const mailkeep = await createMailkeep({ ...noOptions, database, encryptionKey, ...options })
  t.after(() => mailkeep.close(noClose))
  return mailkeep
}

/** A client whose requests reach the API without a server. */
async function openClient(t: TestContext, mount: Partial<MountOptions<Request>> = {}) {
  const mailkeep = await openMailkeep(t)
  const { id: clientId } = await mailkeep.clients.create({ name: 'Acme' })
  const { token } = await mailkeep.tokens.create({ clientId, role: 'admin', name: undefined, expiresInMs: undefined })
  const handler = createFetchHandler({ ...noMount, mailkeep, ...mount })
  t.mock.method(globalThis, 'fetch', (url: string, init: RequestInit) => handler(new Request(url, init)))
  return createClient({ ...noClient, baseUrl: 'http://mailkeep.test', token })
}

describe('an option that is undefined counts as absent', () => {
  test('of createMailkeep, its groups of settings, start and close', async (t) => {
    const groups = { webhooks: noWebhooks, mail: noMail, lookup: noLookup }
    for (const options of [{}, groups, { mail: { ...noMail, transport: { ...noTransport, send: sent } } }]) {
      const mailkeep = await openMailkeep(t, options)
      const { id } = await mailkeep.clients.create({ name: 'Acme' })
      const list = await mailkeep.forClient(id).lists.create({ name: 'News' })
      const handled = new Promise((resolve) => {
        void mailkeep.on('contact.subscribed', ({ data }) => resolve(data.contact.email), { name: 'one' })
      })
      mailkeep.start(noStart)
      await mailkeep.forClient(id).contacts.addToList(list.id, { email: 'ada@example.org', name: undefined })
      assert.equal(await handled, 'ada@example.org')
      assert.equal((await mailkeep.ready()).ready, true)
      await mailkeep.close(noClose)
    }
  })

  test('of postgres', needsPostgres, async (t) => {
    const mailkeep = await openMailkeep(t, { database: postgres(await databaseUrl(), noPostgres) })
    assert.equal((await mailkeep.clients.list()).length, 0)
  })

  test('of the HTTP API, of its client and of a call', async (t) => {
    const client = await openClient(t)
    const list = await client.lists.create({ name: 'News', double_opt_in: undefined }, noCall)
    const { id } = await client.contacts.addToList(list.id, {
      email: 'ada@example.org',
      name: undefined,
      tags: ['vip'] as const,
      company: undefined,
    })
    assert.equal((await client.lists.list(undefined, noCall)).data.length, 1)
    const { data } = await client.contacts.list({ search: undefined, lists: [list.id], cursor: undefined }, noCall)
    assert.deepEqual(
      data.map((contact) => [contact.id, contact.extra_attributes]),
      [[id, {}]],
    )
    const counts = await client.contacts.import(list.id, 'email\nbob@example.org\n', {
      ...noCall,
      format: undefined,
      query: { dry_run: undefined },
    })
    assert.equal(counts.created, 1)
  })

  test('of what authenticate returns', async (t) => {
    const client = await openClient(t, { authenticate: () => ({ ...noPrincipal, clientId: 1, role: 'viewer' }) })
    assert.deepEqual((await client.lists.list()).data, [])
    await assert.rejects(client.lists.create({ name: 'News' }), (error) => (error as ApiError).code === 'forbidden')
  })

  test('of the contact pages', async (t) => {
    const mailkeep = await openMailkeep(t, { publicUrl: 'https://mail.example.com' })
    const { id } = await mailkeep.clients.create({ name: 'Acme' })
    const client = mailkeep.forClient(id)
    const list = await client.lists.create({ name: 'News' })
    const { contact } = await client.contacts.addToList(list.id, { email: 'ada@example.org' })
    await client.settings.pages.update({ texts: { unsubscribe_title: undefined } })
    const { preferences_url } = await client.contacts.links(contact.id)
    const answer = await createContactPages({ ...noPages, mailkeep })(new Request(preferences_url))
    assert.equal(answer.status, 200)
  })

  test('of the transports and the identity provider', () => {
    assert.equal(typeof smtp({ ...noSmtp, url: 'smtp://127.0.0.1:2525' }).send, 'function')
    assert.equal(typeof sesMail(noSesMail).send, 'function')
    assert.equal(typeof ses(noSes).status, 'function')
  })

  test('of the test kit and of verifyDelivery', async () => {
    await using kit = await testMailkeep(noTest)
    const { secret } = await kit.client.webhooks.createEndpoint({
      url: 'https://partner.example/',
      events: ['contact.subscribed'],
      description: undefined,
    })
    const { email, name } = await kit.contact({ email: undefined, name: undefined }, noPlace)
    assert.deepEqual([email, name], ['contact1@example.org', 'Contact 1'])
    kit.answer({ status: 200, body: undefined, retryAfterSeconds: undefined })
    const [delivery] = await kit.deliver()
    assert.equal(verifyDelivery(delivery!.headers, delivery!.body, secret, noVerify).type, 'contact.subscribed')
  })

  test('of changes and filters of the library', async () => {
    await using kit = await testMailkeep()
    const list = await kit.list('News')
    assert.equal((await kit.client.lists.update(list.id, { name: undefined, double_opt_in: true })).name, 'News')
    const { id } = await kit.client.topics.create(list.id, { name: 'Daily', description: undefined })
    assert.equal((await kit.client.topics.update(id, { name: undefined })).name, 'Daily')
    assert.deepEqual(await kit.mailkeep.tokens.list({ clientId: undefined }), [])
    assert.deepEqual(new MailkeepError('conflict', 'No.', noDetails).issues, [])
  })
})

async function sent(): Promise<MailOutcome> {
  return { kind: 'sent', providerMessageId: undefined }
}
