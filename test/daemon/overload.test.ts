/**
 * Runs a daemon with 512 MB of heap under all large requests that its limits allow, all in parallel. A probe requests
 * /healthz during that time and reports its slowest answer (target on an idle machine: under 500 ms).
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'
import { Worker } from 'node:worker_threads'
import { onPostgres, openPostgres, test } from '../support/databases.ts'
import { commandLine, directory, listening, start } from '../support/program.ts'
import { assertFaster, isTimed } from '../support/timing.ts'

const heapMb = 512

/** Asserted on demand; see timing. Generous, because test machines run other work as well. */
const maxProbeMs = 5000

/** Each request is sent at least once, all of them in parallel. `npm run test:timing` repeats them, and sends longer files. */
const attackMs = isTimed ? 10_000 : 0
const rowsPerImport = isTimed ? 5000 : 300
const rowsPerFanOut = isTimed ? 200 : 50
const junkRows = isTimed ? 2 ** 19 : 2 ** 15

/** Starts a daemon with a limited heap, and creates a client with large contacts. */
async function openLoaded(t: TestContext, database: Readonly<Record<string, string>>) {
  const cwd = await directory(t)
  const token = `mk_${'t'.repeat(48)}`
  const [node = '', ...words] = commandLine([])
  const { child, said, closed } = start(['--port', '0', '--json'], {
    cwd,
    program: [node, `--max-old-space-size=${heapMb}`, ...words],
    env: {
      MAILKEEP_LOG_LEVEL: 'error',
      MAILKEEP_ADMIN_TOKEN: token,
      MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'true',
      ...database,
    },
  })
  t.after(async () => {
    child.kill('SIGKILL')
    await closed
  })
  const { url } = await listening(child, said, closed, cwd)
  const headers = { authorization: `Bearer ${token}` }
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, data: text && answer.ok ? JSON.parse(text).data : undefined, text }
  }
  const load = async (listId: number, rows: readonly object[]) => {
    const answer = await fetch(`${url}/api/v1/lists/${listId}/contacts/import`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/x-ndjson' },
      body: rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
    })
    const report = (await answer.json()) as { data: { refused: number } }
    assert.equal(report.data.refused, 0)
  }
  return { child, closed, said, url, token, headers, call, load }
}

type Loaded = Awaited<ReturnType<typeof openLoaded>>

const contacts = 100

/** Creates contacts of the maximum size, the maximum number of tags, and some lists. */
async function fill({ call, load }: Loaded): Promise<number> {
  const { data: list } = await call('POST', '/lists', { name: 'News' })
  const attributes = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`k${n}`, 'x'.repeat(2_600)]))
  const tags = Array.from({ length: 500 }, (_, n) => `${n} ${'t'.repeat(250)}`)
  const people = Array.from({ length: contacts }, (_, n) => ({ email: `p${n}@example.org` }))
  await load(
    list.id,
    people.map((person) => ({ ...person, ...attributes, tags })),
  )
  for (let n = 0; n < 20; n++) {
    const { data: other } = await call('POST', '/lists', { name: `${n} ${'l'.repeat(250)}` })
    await load(other.id, people)
  }
  return list.id
}

/** Webhook endpoints of the client: the default limit. */
const endpoints = 100

/** Opens a receiver that answers each request with endless interim responses, or with an endless body. */
async function floodingReceiver(t: TestContext): Promise<number> {
  const interim = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n'.repeat(400))
  const body = Buffer.alloc(interim.length, 'x')
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (head) => {
      const isInterim = head.includes('/interim')
      if (!isInterim) socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const flood = () => {
        while (!socket.destroyed && socket.write(isInterim ? interim : body));
      }
      socket.on('drain', flood)
      flood()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Creates as many endpoints as the limit allows, at a receiver that floods. @returns The id of an empty list. */
async function fillEndpoints(t: TestContext, { call }: Loaded): Promise<number> {
  const port = await floodingReceiver(t)
  for (let n = 0; n < endpoints; n++) {
    const url = `http://127.0.0.1:${port}/${n % 2 ? 'interim' : 'body'}/${n}`
    const { status, text } = await call('POST', '/webhook-endpoints', { url, events: ['contact.subscribed'] })
    assert.equal(status, 201, text)
  }
  return (await call('POST', '/lists', { name: 'Fan-out' })).data.id
}

/** Sends a request and reads no answer. */
function silent({ url, token }: Loaded, path: string, times = 1): void {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  socket.write(`GET /api/v1${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`.repeat(times))
  open.add(socket)
}

const open = new Set<{ destroy(): void }>()

/** Requests that are repeated until the time is over; counts answers by status. */
function attacks(
  loaded: Loaded,
  { listId, fanOutId }: { listId: number; fanOutId: number },
  endsMs: number,
  statuses: Map<string, number>,
): Promise<unknown> {
  const { url, headers } = loaded
  const ask = async (name: string, path: string, given: RequestInit | (() => RequestInit) = {}) => {
    do {
      const init = typeof given === 'function' ? given() : given
      try {
        const answer = await fetch(`${url}/api/v1${path}`, { ...init, headers: { ...headers, ...init.headers } })
        for await (const _ of answer.body ?? []);
        const key = `${name} ${answer.status}`
        statuses.set(key, (statuses.get(key) ?? 0) + 1)
      } catch {
        statuses.set(`${name} cut`, (statuses.get(`${name} cut`) ?? 0) + 1)
      }
    } while (performance.now() < endsMs)
  }
  const file = (type: string, body: string): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': type },
    body,
  })
  const json = (method: string, body: object): RequestInit => ({
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const repeated = Array.from({ length: rowsPerImport }, (_, n) => `{"email":"same@example.org","n":"${n}"}\n`).join('')
  const rows = Array.from({ length: rowsPerImport }, (_, n) => `{"email":"b${n}@example.org","tags":["a","b"]}\n`).join(
    '',
  )
  let round = 0
  // Each row is a new contact, and so an event for every endpoint.
  const fanOut = () => {
    round++
    return file(
      ndjson,
      Array.from({ length: rowsPerFanOut }, (_, n) => `{"email":"f${n}-${round}@example.org"}\n`).join(''),
    )
  }
  const junk = '1\n'.repeat(junkRows)
  const importPath = `/lists/${listId}/contacts/import`
  const ndjson = 'application/x-ndjson'
  const large = {
    email: 'large@example.org',
    ...Object.fromEntries(Array.from({ length: 90 }, (_, n) => [n, 'y'.repeat(10_000)])),
  }
  const times = <T>(count: number, make: () => T) => Array.from({ length: count }, make)
  return Promise.all([
    ...times(12, () => ask('page', '/contacts?per_page=100')),
    ...times(4, () => ask('export', '/contacts/export')),
    ...times(2, () => ask('csv', '/contacts/export?format=csv')),
    ...times(2, () => ask('blank', importPath, file(ndjson, '\n'.repeat(4 * 2 ** 20)))),
    ...times(2, () => ask('blank csv', importPath, file('text/csv', `email\n${'\n'.repeat(4 * 2 ** 20)}`))),
    ...times(2, () => ask('repeated', importPath, file(ndjson, repeated))),
    ...times(2, () => ask('junk', importPath, file(ndjson, junk))),
    ...times(2, () => ask('rows', importPath, file(ndjson, rows))),
    ...times(2, () => ask('fan-out', `/lists/${fanOutId}/contacts/import`, fanOut)),
    ...times(40, () => ask('body', `/lists/${listId}/contacts`, json('POST', large))),
    ...times(8, () => ask('change', '/contacts/1', json('PUT', { name: 'changed' }))),
    ...times(2, () => ask('description', '/openapi.json')),
  ])
}

/** Counts the endpoints at which an attempt has failed. */
async function failing({ call }: Loaded): Promise<number> {
  const { data } = await call('GET', '/webhook-endpoints?per_page=100')
  return data.filter(({ consecutive_failures }: { consecutive_failures: number }) => consecutive_failures > 0).length
}

/**
 * Requests /healthz every 100 ms in a thread of its own: the thread that sends the attacks is busy itself.
 * @returns A function that ends the probe and resolves to the slowest answer, in ms.
 */
function probe({ url }: Loaded): () => Promise<number> {
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads')
    let isOver = false
    parentPort.once('message', () => (isOver = true))
    async function run() {
      let slowest = 0
      while (!isOver) {
        const startedMs = performance.now()
        const answer = await fetch(workerData)
        if (answer.status !== 200) throw new Error('/healthz answered ' + answer.status)
        await answer.text()
        slowest = Math.max(slowest, performance.now() - startedMs)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      parentPort.postMessage(slowest)
    }
    run()`,
    { eval: true, workerData: `${url}/healthz` },
  )
  const slowest = once(worker, 'message').then(([ms]) => ms as number)
  slowest.catch(() => {})
  return () => {
    worker.postMessage('over')
    return slowest
  }
}

/** @param removeDatabase Called after the daemon has ended, because it would lock what is removed. */
async function overload(
  t: TestContext,
  database: Readonly<Record<string, string>> = {},
  removeDatabase = async () => {},
): Promise<void> {
  const loaded = await openLoaded(t, database)
  t.after(removeDatabase)
  const { child, call, said } = loaded
  const listId = await fill(loaded)
  const fanOutId = await fillEndpoints(t, loaded)
  t.after(() => {
    for (const socket of open) socket.destroy()
    open.clear()
  })
  for (let n = 0; n < 40; n++) {
    silent(loaded, '/contacts/export')
    silent(loaded, '/contacts/export?format=csv')
    silent(loaded, '/contacts?per_page=100', 8)
    silent(loaded, '/contacts/1', 8)
  }
  const endProbe = probe(loaded)
  const statuses = new Map<string, number>()
  const exited = once(child, 'exit').then(([code, signal]) => `${code} ${signal}: ${said.err.slice(0, 2000)}`)
  const startedMs = performance.now()
  const ended = await Promise.race([
    exited,
    attacks(loaded, { listId, fanOutId }, performance.now() + attackMs, statuses),
  ])
  assert.ok(typeof ended !== 'string', `the daemon ended: ${ended}`)
  t.diagnostic(`all attacks answered after ${Math.round(performance.now() - startedMs)} ms`)
  const slowest = await endProbe()
  t.diagnostic(
    `slowest /healthz: ${Math.round(slowest)} ms; ${[...statuses].map((each) => each.join(': ')).join(', ')}`,
  )
  if (process.platform === 'linux') {
    const status = await readFile(join('/proc', String(child.pid), 'status'), 'utf8')
    t.diagnostic(`peak resident memory: ${Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)![1]) / 1024)} MB`)
  }
  assertFaster(slowest, maxProbeMs, 'the slowest /healthz')
  const outcomes = [...statuses.keys()].filter((each) => !/ (20\d|422|503)$/.test(each))
  assert.deepEqual(outcomes, [])
  for (const socket of open) socket.destroy()
  t.diagnostic(`endpoints with a failed attempt: ${await failing(loaded)}`)
  let first = await call('GET', '/contacts?per_page=100')
  while (first.status === 503) first = await call('GET', '/contacts?per_page=100')
  assert.equal(first.data[0].email, 'p0@example.org')
  assert.equal((await call('PUT', '/contacts/1', { name: 'after' })).data.name, 'after')
  assert.doesNotMatch(said.err, /heap|fatal/i)
}

const timeout = 300_000

describe('a daemon with 512 MB of heap, on SQLite', () => {
  test('survives the largest requests that are allowed, all in parallel', { timeout }, (t) => overload(t))
})

onPostgres('a daemon with 512 MB of heap, on PostgreSQL', () => {
  test('survives the largest requests that are allowed, all in parallel', { timeout }, async (t) => {
    const { url, schema, close } = await openPostgres()
    const key = Buffer.alloc(32, 1).toString('base64')
    const settings = { MAILKEEP_DATABASE: url, MAILKEEP_DATABASE_SCHEMA: schema, MAILKEEP_ENCRYPTION_KEY: key }
    await overload(t, settings, close)
  })
})
