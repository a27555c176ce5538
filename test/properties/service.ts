/** The whole service in this process, for random requests. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createApi } from '../../daemon/api/index.ts'
import { listen } from '../../daemon/http/server.ts'
import { type ClientMailkeep, createMailkeep, type DatabaseSource, type Mailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'

interface OpenedDatabase {
  readonly source: DatabaseSource
  close(): Promise<void>
}

export interface Kind {
  readonly name: 'sqlite' | 'postgres'
  open(): Promise<OpenedDatabase>
}

export const inSqlite: Kind = {
  name: 'sqlite',
  open: async () => ({ source: sqlite(':memory:'), close: async () => {} }),
}

export const inPostgres: Kind = {
  name: 'postgres',
  // Imported late, because it loads Node's test runner, whose promise hooks cost a fifth of the time.
  open: async () => (await import('../support/databases.ts')).openPostgres(),
}

export interface Service {
  readonly mailkeep: Mailkeep
  readonly port: number
  /** @throws AssertionError when the service logged an error since the last call. */
  assertSilent(): void
  close(): Promise<void>
}

/** Starts no dispatcher, because the state of deliveries would depend on timing. */
export async function openService(kind: Kind): Promise<Service> {
  const errors: object[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void errors.push(fields) }
  const database = await kind.open()
  const mailkeep = await createMailkeep({
    database: database.source,
    encryptionKey: randomBytes(32),
    logger,
    webhooks: { allowPrivate: true },
    publicUrl: 'https://mail.example.com',
  })
  const { surfaces } = createApi({ mailkeep, logger })
  const server = await listen({ surfaces, logger, host: '127.0.0.1', port: 0 })
  return {
    mailkeep,
    port: server.port,
    assertSilent: () => assert.deepEqual(errors.splice(0), [], 'the service logged errors'),
    async close() {
      await server.close(0)
      await mailkeep.close({ timeoutMs: 0 })
      await database.close()
    },
  }
}

/** A client with a record of every kind. */
export interface Tenant {
  readonly tokens: { readonly admin: string; readonly member: string }
  readonly ids: Readonly<Record<string, readonly number[]>>
}

/** Uses the library, which takes a tenth of the time of HTTP; each run creates a new client. */
export async function makeTenant(mailkeep: Mailkeep): Promise<Tenant> {
  const { id } = await mailkeep.clients.create({ name: 'tenant' })
  const [admin, member] = await Promise.all(
    (['admin', 'member'] as const).map((role) => mailkeep.tokens.create({ clientId: id, role })),
  )
  const ids = await makeRecords(mailkeep.forClient(id))
  return { tokens: { admin: admin!.token, member: member!.token }, ids }
}

async function makeRecords(client: ClientMailkeep): Promise<Tenant['ids']> {
  const list = await client.lists.create({ name: 'News' })
  const topic = await client.topics.create(list.id, { name: 'Sport' })
  const events = ['contact.subscribed', 'contact.unsubscribed', 'newsletter.sent'] as const
  const endpoint = await client.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: [...events] })
  const { contact } = await client.contacts.addToList(list.id, { email: 'ada@example.org', tags: ['vip'] })
  const segment = await client.segments.create({ name: 'Fans', filters: { tags: contact.tags.map(({ id }) => id) } })
  const content = { subject: 'News', html: '<a href="{{ unsubscribe_url }}">x</a>' }
  const newsletter = await client.newsletters.create(content)
  const sequence = await client.sequences.create({ name: 'Welcome' })
  const { suppression } = await client.suppressions.create({ email: 'never@example.org' })
  const identity = await client.identities.add({ email: 'news@example.org' })
  const recovery = await client.webhooks.recover(endpoint.id, { since: '2999-01-01T00:00:00Z' })
  const importIds: number[] = []
  await client.contacts.import(list.id, [], { format: 'csv', onStart: (id) => importIds.push(id) })
  const deliveries = await client.webhooks.listDeliveries(endpoint.id)
  return {
    tagId: contact.tags.map((tag) => tag.id),
    contactId: [contact.id],
    listId: [list.id],
    topicId: [topic.id],
    segmentId: [segment.id],
    newsletterId: [newsletter.id],
    sequenceId: [sequence.id],
    suppressionId: [suppression.id],
    endpointId: [endpoint.id],
    deliveryId: deliveries.data.map((delivery) => delivery.id),
    recoveryId: [recovery.id],
    emailIdentityId: [identity.id],
    importId: importIds,
  }
}
