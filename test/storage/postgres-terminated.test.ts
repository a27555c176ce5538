/** Connections that the server ends at the worst moment: every client always has an error listener. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { createMailkeep } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { databaseUrl, onPostgres, test } from '../support/databases.ts'
import { openProxy } from '../support/tcp-proxy.ts'

const encryptionKey = randomBytes(32)

async function throughProxy(t: TestContext) {
  const url = new URL(await databaseUrl())
  const proxy = await openProxy({ host: url.hostname, port: Number(url.port || 5432) })
  t.after(() => proxy.close())
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  return { url: url.href, proxy }
}

/** Like any uncaught exception, an unhandled `error` event of a client fails the running test. */
onPostgres('a server that ends connections just as they become ready', () => {
  test('the pool of mailkeep recovers and retries', async (t) => {
    const { url, proxy } = await throughProxy(t)
    const mailkeep = await createMailkeep({ database: postgres(url, { connections: 4 }), encryptionKey })
    t.after(() => mailkeep.close())
    for (let round = 0; round < 5; round++) {
      proxy.terminateWhenReady(2)
      const { id } = await mailkeep.clients.create({ name: `Acme ${round}` })
      assert.equal((await mailkeep.clients.get(id)).name, `Acme ${round}`)
    }
    // Many in parallel: new connections are opened, and terminated as they become ready.
    proxy.cut()
    proxy.mend()
    proxy.terminateWhenReady(2)
    const clients = await Promise.all(Array.from({ length: 20 }, () => mailkeep.clients.list()))
    assert.ok(clients.every((list) => list.length >= 5))
  })

  test('a host’s own pool recovers too, with its earlier clients', async (t) => {
    const { url, proxy } = await throughProxy(t)
    const pool = new pg.Pool({ connectionString: url, max: 2 })
    t.after(() => pool.end())
    await pool.query('select 1')
    const mailkeep = await createMailkeep({ database: postgres(pool), encryptionKey })
    t.after(() => mailkeep.close())
    for (let round = 0; round < 5; round++) {
      proxy.terminateWhenReady(2)
      assert.ok(Array.isArray(await mailkeep.clients.list()))
    }
  })

  test('the client of a host’s transaction recovers too', async (t) => {
    const { url, proxy } = await throughProxy(t)
    const mailkeep = await createMailkeep({ database: postgres(url), encryptionKey })
    t.after(() => mailkeep.close())
    const client = new pg.Client(url)
    const ended = new Promise<void>((resolve) => client.on('end', resolve))
    await client.connect()
    await client.query('begin')
    const { clients } = mailkeep.using(client)
    proxy.terminateWhenReady(1)
    await client.query('select 1')
    await ended
    await assert.rejects(clients.list(), { name: 'MailkeepError', code: 'unavailable' })
  })

  test('a commit whose answer is lost is not repeated, whatever was sent together with it', async (t) => {
    const { url, proxy } = await throughProxy(t)
    const mailkeep = await createMailkeep({ database: postgres(url, { connections: 1 }), encryptionKey })
    t.after(() => mailkeep.close())
    const { id } = await mailkeep.clients.create({ name: 'Acme' })
    const { events, webhooks, contacts, lists } = mailkeep.forClient(id)
    const list = await lists.create({ name: 'News' })
    const types = ['newsletter.sent', 'contact.created'] as const
    const endpoint = await webhooks.createEndpoint({ url: 'https://example.org/hook', events: [...types] })
    const data = { id: 1 }
    const kinds: readonly (readonly [(typeof types)[number], () => Promise<unknown>])[] = [
      ['newsletter.sent', () => events.raise({ type: 'newsletter.sent', data })],
      ['newsletter.sent', () => events.raiseMany([{ type: 'newsletter.sent', data }])],
      ['contact.created', () => contacts.addToList(list.id, { email: 'ada@example.org', tags: ['vip'], plan: 'pro' })],
    ]
    let raised = 0
    for (const [, work] of kinds) {
      proxy.loseCommits(1)
      await assert.rejects(work(), { name: 'MailkeepError', code: 'unavailable' })
      raised += 1
      assert.equal((await webhooks.listDeliveries(endpoint.id)).data.length, raised)
    }
  })

  test('the connection for notifications is opened again', async (t) => {
    const { url, proxy } = await throughProxy(t)
    let announce = () => {}
    const back = new Promise<void>((resolve) => {
      announce = resolve
    })
    const info = (_: object, message: string) => void (/notifications is back/.test(message) && announce())
    const logger = { debug() {}, info, warn() {}, error() {} }
    const mailkeep = await createMailkeep({ database: postgres(url), encryptionKey, logger })
    t.after(() => mailkeep.close())
    proxy.cut()
    proxy.mend()
    proxy.terminateWhenReady(4)
    await back
    const { id } = await mailkeep.clients.create({ name: 'Acme' })
    assert.equal((await mailkeep.clients.get(id)).name, 'Acme')
  })
})
