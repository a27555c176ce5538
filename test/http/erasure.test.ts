/**
 * Properties that no answer shows: an erased contact leaves no trace, and an event without an endpoint is not stored.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'node:test'
import Database from 'better-sqlite3'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { test } from '../support/databases.ts'
import { openService, until } from '../support/harness.ts'
import { eventTypes } from '../support/http-shapes.ts'
import { bodyOf, openWorld, pathTo, routes } from '../support/http-world.ts'
import { onKinds, openPlace, type Place } from '../support/kinds.ts'
import { type Delivery, openHook } from './hook.ts'

/** A host's database that the test can query directly. */
const visible = (handle: Database.Database) => async () => ({
  source: sqlite(handle),
  close: async () => void handle.close(),
})

/** Returns the places in a database where a text occurs, in any case. */
function placesOf(handle: Database.Database, text: string): string[] {
  const tables = handle.prepare(`select name from sqlite_master where type = 'table'`).pluck().all() as string[]
  return tables.filter((table) =>
    (handle.prepare(`select * from "${table}"`).all() as object[]).some((row) =>
      Object.values(row).some((value) => String(value).toLowerCase().includes(text)),
    ),
  )
}

const contactTypes = eventTypes.slice(0, 3)

const person = { email: 'Zebedee@example.org', name: 'Mr Zebedee', zebedee: 'yes', motto: 'zebedee!' }

/** Creates a contact with events and deliveries of every status, and with traces in receivers' answers. */
async function leaveTraces(handle: Database.Database, t: Parameters<typeof openService>[0]) {
  const service = await openHook((t, options) => openService(t, options, visible(handle)), t, {
    retryScheduleSeconds: [3600],
  })
  const { addEndpoint, data, hook, receiver } = service
  const [echo, broken] = [await receiver(), await receiver()]
  echo.replies({ status: 200, body: JSON.stringify(person) })
  broken.replies({ status: 500, body: JSON.stringify(person) })
  const pathOf = async (url: string) => `/webhook-endpoints/${(await addEndpoint(url, contactTypes)).id}`
  const echoing = await pathOf(echo.url())
  const failing = await pathOf(broken.url())
  const holding = await pathOf('http://127.0.0.1:9/')
  await data(200, 'PATCH', holding, { body: { active: false } })
  const list = await data(201, 'POST', '/lists', { body: { name: 'list' } })
  const { id } = await data(201, 'POST', `/lists/${list.id}/contacts`, { body: person })
  await data(200, 'POST', `/contacts/${id}/unsubscribe`)
  for (const each of [hook, echo, broken]) await each.next(2)
  const recorded = (all: Delivery[]) => all.every(({ response_status }) => response_status !== null)
  for (const path of [service.path, echoing, failing]) await until(() => service.deliveries(path), recorded)
  return { ...service, id: id as number, broken, failing, holding }
}

describe('an erased contact', () => {
  test('is in no table, nor in stored payloads and answers', async (t) => {
    const handle = new Database(':memory:')
    const { data, id } = await leaveTraces(handle, t)
    assert.ok(placesOf(handle, 'zebedee').length > 1, 'the text was there before')
    await data(204, 'DELETE', `/contacts/${id}`)
    assert.deepEqual(placesOf(handle, 'zebedee'), [])
  })

  test('is not in the file', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'mailkeep-erasure-'))
    const file = join(directory, 'mailkeep.db')
    const handle = new Database(file)
    const { data, id } = await leaveTraces(handle, t)
    t.after(() => rm(directory, { recursive: true })) // runs after the service is closed
    const bytes = async () => {
      handle.pragma('wal_checkpoint(truncate)')
      return (await readFile(file, 'latin1')).toLowerCase()
    }
    assert.ok((await bytes()).includes('zebedee'), 'the text was there before')
    await data(204, 'DELETE', `/contacts/${id}`)
    assert.ok(!(await bytes()).includes('zebedee'))
  })

  test('leaves no trace when a receiver answers only afterwards', async (t) => {
    const handle = new Database(':memory:')
    const service = await openHook((t, options) => openService(t, options, visible(handle)), t)
    const { data, deliveries, hook, wakeDispatcher } = service
    hook.replies('hang')
    const list = await data(201, 'POST', '/lists', { body: { name: 'list' } })
    const { id } = await data(201, 'POST', `/lists/${list.id}/contacts`, { body: person })
    const waiting = await hook.next()
    await data(204, 'DELETE', `/contacts/${id}`)
    waiting.answer({ status: 200, body: JSON.stringify(person) })
    await waiting.gone()
    await wakeDispatcher()
    await wakeDispatcher()
    assert.deepEqual(placesOf(handle, 'zebedee'), [])
    assert.notEqual((await deliveries())[0]!.status, 'pending')
  })

  test('is sent nowhere any more, and its deliveries stay visible', async (t) => {
    const { advance, broken, data, deliveries, failing, holding, id, wakeDispatcher } = await leaveTraces(
      new Database(':memory:'),
      t,
    )
    const before = (await Promise.all([deliveries(), deliveries(failing), deliveries(holding)])).map(
      (all) => all.length,
    )
    await data(204, 'DELETE', `/contacts/${id}`)
    const after = await Promise.all([deliveries(), deliveries(failing), deliveries(holding)])
    assert.deepEqual(
      after.map((all) => all.length),
      before,
    )
    assert.deepEqual([...new Set(after.flat().map(({ status }) => status))].sort(), ['failed', 'success'])
    await data(200, 'PATCH', holding, { body: { active: true } })
    advance(5 * 3_600_000)
    await wakeDispatcher()
    await wakeDispatcher()
    assert.equal(broken.received.length, 2)
  })
})

/** Returns the number of rows of each table, but not of jobs, which stay for a while, and of settings, which have no client. */
async function countRows({ kind, ask }: Place): Promise<Record<string, number>> {
  const tables = (await ask(
    kind === 'PostgreSQL'
      ? "select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r'"
      : "select name from sqlite_master where type = 'table' and name like 'mailkeep%' and name not like 'mailkeep_search%'",
  )) as { name: string }[]
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    if (name === 'mailkeep_job' || name === 'mailkeep_setting') continue
    const [row] = await ask(`select count(*) as n from ${name}`)
    counts[name] = Number(row!.n)
  }
  return counts
}

onKinds(['SQLite in memory', 'PostgreSQL'], 'a deleted client', (kind) => {
  test('leaves no row in any table', async (t) => {
    const place = await openPlace(kind)
    const service = await openService(t, {}, async () => place)
    const before = await countRows(place)
    const tenant = await service.addTenant('gone')
    const world = await openWorld(tenant, 'gone')
    for (const route of routes) {
      if (route.method !== 'DELETE') await tenant.call(route.method, pathTo(route, world), { body: bodyOf(route) })
    }
    const tag = { body: { name: 'kept' }, headers: { 'Idempotency-Key': 'key' } }
    await tenant.data(201, 'POST', '/tags', tag)
    const during = await countRows(place)
    const filled = Object.keys(during).filter((name) => during[name]! > before[name]!)
    assert.ok(filled.length > 25, `only these have rows of the client: ${filled}`)
    const [client] = await place.ask('select max(id) as id from mailkeep_client')
    await service.mailkeep.clients.delete(Number(client!.id))
    await until(
      () => countRows(place),
      (counts) => JSON.stringify(counts) === JSON.stringify(before),
    )
  })
})

describe('an event', () => {
  test('that no endpoint takes leaves no row', async (t) => {
    const handle = new Database(':memory:')
    const { data } = await openService(t, {}, visible(handle))
    const count = () => handle.prepare('select count(*) from mailkeep_event').pluck().get()
    const endpoint = { url: 'http://127.0.0.1:9/', events: ['sequence.completed'] }
    const { id } = await data(201, 'POST', '/webhook-endpoints', { body: endpoint })
    await data(200, 'PATCH', `/webhook-endpoints/${id}`, { body: { active: false } })
    const list = await data(201, 'POST', '/lists', { body: { name: 'list' } })
    await data(201, 'POST', `/lists/${list.id}/contacts`, { body: { email: 'a@example.org' } })
    await data(202, 'POST', '/events', { body: { type: 'newsletter.sent', data: {} } })
    assert.equal(count(), 0)
    await data(202, 'POST', '/events', { body: { type: 'sequence.completed', data: {} } })
    assert.equal(count(), 1)
  })

  test('secrets and tokens are not readable in the database', async (t) => {
    const handle = new Database(':memory:')
    const { admin, data, member } = await openService(t, {}, visible(handle))
    const body = { url: 'http://127.0.0.1:9/', events: ['newsletter.sent'] }
    const { secret } = await data(201, 'POST', '/webhook-endpoints', { body })
    for (const text of [admin, member, secret, secret.slice(6)]) {
      assert.deepEqual(placesOf(handle, text.toLowerCase()), [])
    }
  })
})
