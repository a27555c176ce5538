import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { postgres } from '../../lib/storage/postgres.ts'
import { onPostgres, test, withoutPostgres } from '../support/databases.ts'
import { queryOnce } from '../support/find-postgres.ts'
import { openService } from '../support/harness.ts'
import type { Answer } from '../support/http-call.ts'
import { type OwnServer, startServer } from '../support/postgres-server.ts'
import { until } from '../support/webhook-harness.ts'

const leaseMs = 30_000
const writers = 8

/** Opens a service on its own PostgreSQL server, with a list, and an endpoint for contacts that join it. */
async function openWorld(t: TestContext, server: OwnServer) {
  const source = postgres(server.url)
  const service = await openService(t, { hasErrors: true }, async () => ({ source, close: () => server.close() }))
  const receiver = await service.receiver()
  await service.data(201, 'POST', '/webhook-endpoints', {
    body: { url: receiver.url(), events: ['contact.subscribed'] },
  })
  const { id: listId } = await service.data(201, 'POST', '/lists', { body: { name: 'News' } })
  const notifiedEmails = () => new Set(receiver.received.map(({ body }) => body.data.contact.email as string))
  return { ...service, listId, notifiedEmails }
}

/** Adds new contacts to the list as fast as possible, until it is ended. */
function startLoad({ call, listId }: Awaited<ReturnType<typeof openWorld>>) {
  const acknowledged: string[] = []
  const refused: Answer[] = []
  let ended = false
  const write = async (writer: number) => {
    for (let i = 0; !ended; i++) {
      const email = `user${i}@writer${writer}.example`
      const answer = await call('POST', `/lists/${listId}/contacts`, { body: { email, tags: [`t${i % 5}`] } })
      if (answer.status === 201) acknowledged.push(email)
      else refused.push(answer)
    }
  }
  const all = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
  return {
    acknowledged,
    refused,
    async end() {
      ended = true
      await all
    },
  }
}

onPostgres('a PostgreSQL that is stopped and started under load', () => {
  test('causes 503 answers; the service recovers automatically, and has everything it acknowledged', async (t) => {
    // Runs with fsync like a production server. Some machines have a server for tests but cannot start another.
    const server = await startServer().catch(() => undefined)
    if (!server) return t.skip(withoutPostgres)
    const world = await openWorld(t, server)
    const { call, notifiedEmails } = world
    const load = startLoad(world)
    const waitForMore = async (count: () => number, more: number) => {
      const wanted = count() + more
      await until(`there are ${wanted}`, () => count() >= wanted)
    }
    for (let round = 0; round < 2; round++) {
      await waitForMore(() => load.acknowledged.length, 100)
      await waitForMore(() => notifiedEmails().size, 20)
      await server.crash()
      await waitForMore(() => load.refused.length, 50)
      assert.equal((await call('GET', '/contacts')).status, 503, 'reading')
      const before = load.acknowledged.length
      await waitForMore(() => load.refused.length, 50)
      assert.equal(load.acknowledged.length, before, 'no write is acknowledged that cannot be stored')
      await server.restart()
    }
    await waitForMore(() => load.acknowledged.length, 100)
    const last = load.acknowledged.at(-1)!
    await until('deliveries are sent again', () => notifiedEmails().has(last))
    await load.end()

    for (const { status, headers, what } of load.refused) {
      assert.equal(status, 503, what)
      assert.match(String(headers['retry-after']), /^\d+$/, what)
    }
    const stored = await queryOnce(server.url, 'select email from mailkeep_contact')
    const emails = new Set(stored.map(({ email }) => email as string))
    assert.deepEqual(
      load.acknowledged.filter((email) => !emails.has(email)),
      [],
      'everything acknowledged is stored',
    )
    world.advance(leaseMs) // deliveries claimed at the moment of the crash wait for the end of their lease
    await call('POST', `/lists/${world.listId}/contacts`, { body: { email: 'wakes@example.org' } })
    await until('an event was delivered for every stored contact', () =>
      [...emails].every((email) => notifiedEmails().has(email)),
    )
  })
})

onPostgres('a PostgreSQL that becomes a replica', () => {
  test('causes 503 answers to writes until it is the primary server again; reads work', async (t) => {
    const server = await startServer().catch(() => undefined)
    if (!server) return t.skip(withoutPostgres)
    const { call } = await openWorld(t, server)
    await server.demote()
    await until('reads work', async () => (await call('GET', '/lists')).status === 200)
    const { status, headers, body } = await call('POST', '/tags', { body: { name: 'vip' } })
    assert.deepEqual([status, body.code], [503, 'unavailable'])
    assert.match(String(headers['retry-after']), /^\d+$/)
    await queryOnce(server.url, 'select pg_promote()')
    await until('writes work', async () => (await call('POST', '/tags', { body: { name: 'vip' } })).status === 201)
  })
})
