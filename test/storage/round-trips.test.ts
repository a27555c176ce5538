/** Counts how often an operation waits for the PostgreSQL server, by a proxy before it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { createMailkeep } from '../../lib/index.ts'
import { postgres } from '../../lib/postgres.ts'
import { onPostgres, openPostgres, test } from '../support/databases.ts'
import { openReceiver, until } from '../support/webhook-harness.ts'

/** How long the proxy holds answers back. What the client sends in that time did not wait for them. */
const holdMs = 20

/**
 * Opens a proxy before the server of a URL. `trips` counts those of the connection on which a transaction began, and
 * `tripsOfTurns` those of each transaction that records attempts.
 */
async function proxyTo(t: TestContext, url: string) {
  const { hostname, port } = new URL(url)
  let connections: { trips: number; wrote: boolean }[] = []
  let turns: { trips: number }[] = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const target = connect(Number(port || 5432), hostname)
    const own = { trips: 0, wrote: false }
    let answers: Buffer[] | undefined
    let turn: { trips: number } | undefined
    for (const socket of [client, target]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    client.on('data', (data) => {
      if (!connections.includes(own)) {
        Object.assign(own, { trips: 0, wrote: false })
        connections.push(own)
      }
      const begins = data.includes('begin isolation level')
      if (begins) turn = data.includes('"rescheduled"') ? { trips: 0 } : undefined
      if (begins && turn) turns.push(turn)
      if (!answers) own.trips += 1
      if (turn && (!answers || begins)) turn.trips += 1
      if (data.includes('commit\0')) turn = undefined
      answers ??= []
      own.wrote ||= begins
      target.write(data)
    })
    target.on('data', (data) => {
      if (!answers) return void client.write(data)
      answers.push(data)
      if (answers.length > 1) return
      setTimeout(() => {
        const held = Buffer.concat(answers ?? [])
        answers = undefined
        client.write(held)
      }, holdMs)
    })
    client.on('close', () => target.destroy())
    target.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const near = new URL(url)
  near.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: near.href,
    /** @returns The trips of the transaction in `work`. */
    async trips(work: () => Promise<unknown>): Promise<number> {
      connections = []
      await work()
      return Math.max(...connections.filter(({ wrote }) => wrote).map(({ trips }) => trips))
    },
    /** @returns The trips of each turn that began in `work`, in order. */
    async tripsOfTurns(work: () => Promise<unknown>): Promise<number[]> {
      turns = []
      await work()
      return turns.map(({ trips }) => trips)
    },
  }
}

/** Opens mailkeep on one connection behind the proxy, with a list, two tags, an endpoint and an indexed attribute. */
async function open(t: TestContext) {
  const { url, schema, close } = await openPostgres()
  const proxy = await proxyTo(t, url)
  const mailkeep = await createMailkeep({
    database: postgres(proxy.url, { schema, connections: 1 }),
    encryptionKey: Buffer.alloc(32, 1),
    webhooks: { allowPrivate: true, endpointConcurrency: 1 },
  })
  t.after(async () => {
    await mailkeep.close()
    await close()
  })
  const { id } = await mailkeep.clients.create({ name: 'Acme' })
  const client = mailkeep.forClient(id)
  await client.settings.attributes.update({ indexed: ['plan'] })
  await client.webhooks.createEndpoint({
    url: 'https://partner.example/',
    events: ['contact.created', 'contact.updated', 'contact.tagged', 'contact.subscribed', 'contact.unsubscribed'],
  })
  const list = await client.lists.create({ name: 'News' })
  const person = (email: string, plan = 'pro') => ({ email, name: 'Ada', tags: ['a', 'b'], plan })
  await client.contacts.addToList(list.id, person('first@example.org')) // prepares the statements
  return { mailkeep, client, list, person, ...proxy }
}

onPostgres('the round trips to a PostgreSQL server', () => {
  test('are at most five for a new contact with tags, an indexed attribute, a list and four events', async (t) => {
    const { client, list, person, trips } = await open(t)
    const count = await trips(() => client.contacts.addToList(list.id, person('ada@example.org')))
    assert.ok(count <= 5, `${count} round trips`)
    const { data } = await client.webhooks.listAllDeliveries({})
    assert.equal(data.filter(({ event_type }) => event_type === 'contact.subscribed').length, 2)
  })

  test('are at most five for a stored contact that gets a name, a tag, an attribute and a list', async (t) => {
    const { client, list, person, trips } = await open(t)
    const other = await client.lists.create({ name: 'Other' })
    await client.tags.create({ name: 'c' })
    await client.contacts.addToList(list.id, person('ada@example.org'))
    const change = { ...person('ada@example.org', 'free'), name: 'Ada Lovelace', tags: ['a', 'c'] }
    const count = await trips(() => client.contacts.addToList(other.id, change))
    assert.ok(count <= 5, `${count} round trips`)
  })

  test('are one for a raised event', async (t) => {
    const { client, trips } = await open(t)
    const endpoint = await client.webhooks.createEndpoint({ url: 'https://b.example/', events: ['newsletter.sent'] })
    await client.events.raise({ type: 'newsletter.sent', data: { n: 1 } })
    const count = await trips(() => client.events.raise({ type: 'newsletter.sent', data: { n: 2 } }))
    assert.equal(count, 1)
    const { data } = await client.webhooks.listDeliveries(endpoint.id)
    assert.equal(data.length, 2)
  })

  test('are at most four for a turn that records an attempt and claims the next delivery', async (t) => {
    const { mailkeep, client, tripsOfTurns } = await open(t)
    const receiver = await openReceiver(t)
    const endpoint = await client.webhooks.createEndpoint({ url: receiver.url(), events: ['newsletter.sent'] })
    await client.events.raiseMany([1, 2, 3].map((n) => ({ type: 'newsletter.sent' as const, data: { n } })))
    const counts = await tripsOfTurns(async () => {
      mailkeep.start()
      await until('all deliveries', async () => {
        const { data } = await client.webhooks.listDeliveries(endpoint.id, { status: 'success' })
        return data.length === 3 ? data : undefined
      })
    })
    assert.ok(counts.length >= 3, 'two turns record and claim, and the last records')
    assert.ok(Math.max(...counts) <= 4, `${counts.join(', ')} round trips`)
  })
})
