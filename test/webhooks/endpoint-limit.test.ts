/** The maximum number of webhook endpoints of a client, and the cost of an event for many of them. */
import assert from 'node:assert/strict'
import { isMailkeepError } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertFaster } from '../support/timing.ts'
import {
  addEndpoint,
  type Opened,
  onEveryDatabase,
  onSharedDatabases,
  openSecondInstance,
} from '../support/webhook-harness.ts'

const isRefused = (error: unknown) => isMailkeepError(error, 'validation_failed') && /at most/.test(error.message)

overHttp('webhook endpoints beyond the limit', (open) => {
  test('are refused with 422; the default limit is 100', async (t) => {
    const { call, data } = await open(t)
    const body = { url: 'https://hook.example.com/', events: ['webhook.test'] }
    for (let n = 0; n < 100; n++) await data(201, 'POST', '/webhook-endpoints', { body })
    assertInvalid(await call('POST', '/webhook-endpoints', { body }), 'body')
    const { id } = (await data(200, 'GET', '/webhook-endpoints'))[0]
    await data(204, 'DELETE', `/webhook-endpoints/${id}`)
    await data(201, 'POST', '/webhook-endpoints', { body })
    assertInvalid(await call('POST', '/webhook-endpoints', { body }), 'body')
  })
})

onSharedDatabases('the limit of endpoints', (open) => {
  test('applies to simultaneous creations in several processes, and to each client separately', async (t) => {
    const webhooks = { endpointsPerClient: 3 }
    const first = await open(t, { webhooks, start: false })
    const second = await openSecondInstance(t, first, { webhooks, start: false })
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) => addEndpoint(n % 2 ? first : second, `http://127.0.0.1:9/${n}`)),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 3)
    for (const result of results) if (result.status === 'rejected') assert.ok(isRefused(result.reason))
    const other = first.mailkeep.forClient((await first.mailkeep.clients.create({ name: 'Other' })).id)
    await addEndpoint({ acme: other }, 'http://127.0.0.1:9/')
  })
})

/** Creates endpoints for `contact.subscribed`, every tenth of them inactive. Sends nothing. */
async function openFanOut(mk: Opened, endpoints: number) {
  for (let n = 0; n < endpoints; n++) {
    const { id } = await addEndpoint(mk, `http://127.0.0.1:9/${n}`, 'contact.subscribed')
    if (n % 10 === 0) await mk.acme.webhooks.updateEndpoint(id, { active: false })
  }
  return await mk.acme.lists.create({ name: 'News' })
}

/** Returns the most deliveries that one transaction wrote, or a lower bound where that cannot be queried. */
async function maxPerTransaction(mk: Opened, commitsBefore: number): Promise<number> {
  if (mk.place.kind === 'PostgreSQL') {
    const [row] = await mk.ask(
      'select cast(max(n) as integer) as n from (select count(*) as n from mailkeep_delivery group by xmin::text) as each',
    )
    return row!.n as number
  }
  return (await mk.count('mailkeep_delivery')) / ((await commits(mk)) - commitsBefore)
}

async function commits({ mailkeep }: Opened): Promise<number> {
  const sizes = (await mailkeep.stats()).database.groupSizes ?? []
  return sizes.reduce((sum, count) => sum + count, 0)
}

onEveryDatabase('an event for many endpoints', (open) => {
  test('creates one delivery for each of them, held where the endpoint is inactive', async (t) => {
    const mk = await open(t, { start: false, webhooks: { endpointsPerClient: 1100 } })
    const list = await openFanOut(mk, 20)
    await mk.acme.contacts.addToList(list.id, { email: 'ann@example.org' })
    const rows = await mk.ask(
      'select status, cast(count(*) as integer) as n, cast(count(distinct uuid) as integer) as u, cast(count(distinct endpoint_id) as integer) as e from mailkeep_delivery group by status order by status',
    )
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [
        { status: 'held', n: 2, u: 2, e: 2 },
        { status: 'pending', n: 18, u: 18, e: 18 },
      ],
    )
  })

  test('counts with its deliveries towards the size of an import’s transactions', async (t) => {
    const mk = await open(t, { start: false })
    const list = await openFanOut(mk, 50)
    const before = await commits(mk)
    const contacts = Array.from({ length: 300 }, (_, n) => ({ email: `person${n}@example.org` }))
    const results = await mk.acme.contacts.addManyToList(list.id, contacts)
    assert.ok(results.every(({ refused }) => !refused))
    assert.equal(await mk.count('mailkeep_delivery'), 300 * 50)
    const most = await maxPerTransaction(mk, before)
    assert.ok(most <= 1500, `${most} deliveries in one transaction`)
  })
})

onSharedDatabases('an import for a client with very many endpoints', (open) => {
  test('leaves the event loop free for other work in between', async (t) => {
    const mk = await open(t, { start: false, webhooks: { endpointsPerClient: 1000 } })
    const list = await openFanOut(mk, 300)
    let longestMs = 0
    let turns = 0
    let lastMs = performance.now()
    const timer = setInterval(() => {
      turns += 1
      longestMs = Math.max(longestMs, performance.now() - lastMs)
      lastMs = performance.now()
    }, 5)
    t.after(() => clearInterval(timer))
    const rows = Array.from({ length: 200 }, (_, n) => `${JSON.stringify({ email: `person${n}@example.org` })}\n`)
    const { created } = await mk.acme.contacts.import(list.id, rows, { format: 'ndjson' })
    assert.equal(created, 200)
    assert.equal(await mk.count('mailkeep_delivery'), 200 * 300)
    assert.ok(turns >= 10, `${turns} turns of the event loop`)
    assertFaster(longestMs, 1000, 'the longest turn of the event loop')
  })
})
