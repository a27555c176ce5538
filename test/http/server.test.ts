import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { ApiRequest, ApiResponse } from '../../daemon/api/index.ts'
import { turnForBody } from '../../daemon/http/request-body.ts'
import { listen, type RunningServer, type ServerLimits } from '../../daemon/http/server.ts'
import { assertFaster } from '../support/timing.ts'
import { countTurns } from '../support/turns.ts'

type Answer = (request: ApiRequest) => Promise<ApiResponse>
type Line = { level: string; message: string } & Record<string, unknown>

/** Opens a server over `answer` that is closed after the test, and collects its log. */
async function open(t: TestContext, answer: Answer = async () => json({}), limits: Partial<ServerLimits> = {}) {
  const lines: Line[] = []
  const at = (level: string) => (fields: object, message: string) => void lines.push({ ...fields, level, message })
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const server = await listen({ surfaces: { '*': answer }, logger, host: '127.0.0.1', port: 0, limits })
  t.after(() => server.close(0))
  return { server, lines, requests: () => lines.filter((line) => line.message === 'request') }
}

function json(value: unknown, status = 200): ApiResponse {
  const body = JSON.stringify(value)
  return {
    status,
    headers: { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) },
    body,
  }
}

/** Answers with the size of the body, like an operation that reads it. */
const sizes: Answer = async (request) => {
  try {
    return json({ bytes: (await request.body()).length })
  } catch (error) {
    const { code } = error as { code: string }
    return json({ code }, code === 'body_too_large' ? 413 : 400)
  }
}

/** Opens a raw connection; `received` grows with the bytes of the answer. */
function dial(t: TestContext, { port }: RunningServer) {
  const socket = connect(port, '127.0.0.1')
  const wire = {
    socket,
    received: '',
    connected: once(socket, 'connect'),
    closed: new Promise((resolve) => socket.once('close', resolve)),
  }
  socket.setEncoding('utf8').on('data', (text) => {
    wire.received += text
  })
  // A server may also end a connection by a reset.
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  return wire
}

async function until(wire: { socket: Socket; received: string }, pattern: RegExp): Promise<void> {
  while (!pattern.test(wire.received)) await once(wire.socket, 'data')
}

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

const get = (path = '/') => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const post = (length: number, more = '') => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n${more}\r\n`
const chunked = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'

test('port 0 takes a free port, and the server reports it', async (t) => {
  const { server } = await open(t)
  assert.ok(server.port > 0)
  assert.equal(server.url, `http://127.0.0.1:${server.port}`)
  assert.equal((await fetch(server.url)).status, 200)
})

test('a port in use is an error', async (t) => {
  const { server } = await open(t)
  const { logger } = { logger: { debug() {}, info() {}, warn() {}, error() {} } }
  const second = listen({ surfaces: {}, logger, host: '127.0.0.1', port: server.port })
  await assert.rejects(second, { code: 'EADDRINUSE' })
})

test('the request reaches the API as plain data', async (t) => {
  let seen: ApiRequest | undefined
  const { server } = await open(t, async (request) => {
    seen = request
    return json({ body: (await request.body()).toString() })
  })
  const response = await fetch(`${server.url}/a%20b?c=d`, { method: 'PATCH', body: 'é', headers: { 'X-Some': 'y' } })
  assert.deepEqual(await response.json(), { body: 'é' })
  assert.equal(seen?.method, 'PATCH')
  assert.equal(seen?.target, '/a%20b?c=d')
  assert.equal(seen?.headers['x-some'], 'y')
})

test('a header sent twice has both values', async (t) => {
  const { server } = await open(t, async ({ headers }) => json({ authorization: headers.authorization }))
  const wire = dial(t, server)
  wire.socket.write('GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n')
  await until(wire, /\{.*\}/)
  assert.match(wire.received, /"Bearer a, Bearer b"/)
})

test('a header after a thousand others is not overlooked', async (t) => {
  const { server } = await open(t, async ({ headers }) => json({ authorization: headers.authorization }))
  for (const [count, status] of [
    [400, 200],
    [2000, 431],
  ] as const) {
    const wire = dial(t, server)
    wire.socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(count)}Authorization: Bearer a\r\n\r\n`)
    await until(wire, /\{.*\}/)
    assert.match(wire.received, new RegExp(`^HTTP/1.1 ${status} `))
    if (status === 200) assert.match(wire.received, /"Bearer a"/)
    else assert.match(wire.received, /Connection: close.*"code":"body_too_large"/s)
  }
})

test('HEAD gets the headers only, and the connection stays open', async (t) => {
  const { server } = await open(t, async ({ method }) => {
    const whole = json({ some: 'thing' })
    return method === 'HEAD' ? { status: whole.status, headers: whole.headers } : whole
  })
  const wire = dial(t, server)
  wire.socket.write('HEAD / HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(wire, /\r\n\r\n/)
  assert.match(wire.received, /Content-Length: 16\r\n/)
  wire.socket.write(get())
  await until(wire, /\r\n\r\n\{"some":"thing"\}$/)
  assert.equal(wire.received.match(/some/g)?.length, 1)
})

test('pipelined requests are answered in order', async (t) => {
  const first = deferred()
  const { server } = await open(t, async ({ target }) => {
    if (target === '/1') await first.promise
    else first.resolve()
    return json({ target })
  })
  const wire = dial(t, server)
  wire.socket.write(get('/1') + get('/2'))
  await until(wire, /"\/2"/)
  assert.match(wire.received, /"\/1".*"\/2"/s)
})

test('a pipelined request that may change something runs alone, in its turn', async (t) => {
  const log: string[] = []
  const { server } = await open(t, async ({ method, target }) => {
    log.push(`${target} begins`)
    if (method !== 'GET') await new Promise(setImmediate)
    log.push(`${target} ends`)
    return json({ target })
  })
  const wire = dial(t, server)
  const put = (path: string) => `PUT ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`
  wire.socket.write(put('/1') + put('/2') + get('/3') + put('/4') + get('/5'))
  await until(wire, /"\/5"/)
  assert.deepEqual(
    log,
    [1, 2, 3, 4, 5].flatMap((at) => [`/${at} begins`, `/${at} ends`]),
  )
})

test('of hundreds of pipelined requests few run at a time, and all are answered in order', async (t) => {
  let [underWay, most] = [0, 0]
  const { server } = await open(t, async ({ target }) => {
    most = Math.max(most, ++underWay)
    await new Promise(setImmediate)
    underWay--
    return json({ target })
  })
  const wire = dial(t, server)
  const paths = Array.from({ length: 500 }, (_, at) => `/${at}`)
  wire.socket.write(paths.map(get).join(''))
  await until(wire, /"\/499"/)
  assert.deepEqual(
    [...wire.received.matchAll(/"target":"(.+?)"/g)].map(([, path]) => path),
    paths,
  )
  assert.ok(most > 1 && most <= 8, `${most} at a time`)
})

test('thousands of pipelined requests let other work run in between', async (t) => {
  const turn = countTurns(t)
  let answered = 0
  let first: number | undefined
  const { server } = await open(t, async () => {
    first ??= turn()
    answered += 1
    return json({ passed: turn() - first })
  })
  const wire = dial(t, server)
  wire.socket.write(get().repeat(1000))
  await until(wire, /^(?:[^{]*\{"passed":\d+\}){1000}$/)
  assert.equal(answered, 1000)
  const passed = Number(/\d+(?=\}$)/.exec(wire.received)![0])
  assert.ok(passed >= 30, `the event loop turned ${passed} times`)
})

test('a body among pipelined requests arrives complete', async (t) => {
  const { server } = await open(t, sizes)
  const wire = dial(t, server)
  wire.socket.write(get().repeat(20) + post(200_000))
  for (let sent = 0; sent < 10; sent++) wire.socket.write('x'.repeat(20_000))
  wire.socket.write(get('/last'))
  await until(wire, /\{"bytes":200000\}.*\{"bytes":0\}/s)
  assert.equal(wire.received.match(/HTTP\/1.1 200/g)?.length, 22)
})

test('when too many requests wait, only the connection that sends more is closed', async (t) => {
  const first = deferred()
  const { server } = await open(
    t,
    async ({ target }) => {
      if (target !== '/other') await first.promise
      return json({ target })
    },
    { waitingRequests: 20 },
  )
  const wire = dial(t, server)
  wire.socket.write(get().repeat(100))
  await wire.closed
  assert.equal((await fetch(`${server.url}/other`)).status, 200)
  first.resolve()
  // The waiting requests of the closed connection are discarded, so as many again can wait.
  const again = dial(t, server)
  again.socket.write(get().repeat(28))
  while ((again.received.match(/HTTP\/1.1 200/g)?.length ?? 0) < 28) await once(again.socket, 'data')
})

/** Answers with the length of the body, or with the code of the error. */
async function countBytes(request: ApiRequest): Promise<ApiResponse> {
  try {
    return json({ bytes: (await request.body()).length })
  } catch (error) {
    return json({ code: (error as { code: string }).code }, 503)
  }
}

test('large bodies share a budget of bytes; beyond it they get 503, and small ones are accepted', async (t) => {
  const { server } = await open(t, countBytes, { bodiesBytes: 300_000 })
  const slow = dial(t, server)
  slow.socket.write(`${post(200_000)}some`)
  await fetch(server.url) // the slow one has begun
  const large = () => fetch(server.url, { method: 'POST', body: 'x'.repeat(150_000) })
  assert.deepEqual(await (await large()).json(), { code: 'unavailable' })
  const small = await fetch(server.url, { method: 'POST', body: 'small' })
  assert.deepEqual(await small.json(), { bytes: 5 })
  slow.socket.write('x'.repeat(200_000 - 4))
  await until(slow, /\{"bytes":200000\}/)
  assert.deepEqual(await (await large()).json(), { bytes: 150_000 })
})

test('one client leaves a part of the budget to the bodies of others', async (t) => {
  const { server } = await open(
    t,
    async (request) => {
      request.identify!(Number(request.target.slice(1)))
      return await countBytes(request)
    },
    { bodiesBytes: 400_000 },
  )
  const slow = dial(t, server)
  slow.socket.write(`${post(250_000).replace('POST / ', 'POST /1 ')}some`)
  await fetch(server.url) // the slow one has begun
  const send = async (client: number) => {
    const sent = await fetch(`${server.url}/${client}`, { method: 'POST', body: 'x'.repeat(100_000) })
    return await sent.json()
  }
  assert.deepEqual(await send(1), { code: 'unavailable' })
  assert.deepEqual(await send(2), { bytes: 100_000 })
  slow.socket.write('x'.repeat(250_000 - 4))
  await until(slow, /\{"bytes":250000\}/)
  assert.deepEqual(await send(1), { bytes: 100_000 })
})

test('imports leave a part of the budget to other bodies', async (t) => {
  let clients = 0
  const { server } = await open(
    t,
    async (request) => {
      clients += 1
      request.identify!(clients)
      try {
        if (request.target !== '/import') return json({ bytes: (await request.body()).length })
        let bytes = 0
        for await (const chunk of request.stream()) bytes += chunk.length
        return json({ bytes })
      } catch (error) {
        return json({ code: (error as { code: string }).code }, 503)
      }
    },
    { bodiesBytes: 16 * 1024 * 1024 },
  )
  const imports = [1, 2, 3].map(() => {
    const wire = dial(t, server)
    wire.socket.write(`${post(200_000).replace('POST / ', 'POST /import ')}some`)
    return wire
  })
  await fetch(server.url) // they have begun
  const send = (path: string, length: number) =>
    fetch(new URL(path, server.url), { method: 'POST', body: 'x'.repeat(length) }).then((answer) => answer.json())
  assert.deepEqual(await send('/import', 200_000), { code: 'unavailable' })
  assert.deepEqual(await send('/', 1_000_000), { bytes: 1_000_000 })
  imports[0]!.socket.write('x'.repeat(200_000 - 4))
  await until(imports[0]!, /\{"bytes":200000\}/)
  assert.deepEqual(await send('/import', 200_000), { bytes: 200_000 })
})

test('of large bodies that arrive together each is processed in a turn of the event loop of its own', async (t) => {
  const turns: number[] = []
  let turn = () => 0
  const { server } = await open(t, async (request) => {
    const { length } = await request.body()
    turns.push(turn())
    return json({ bytes: length })
  })
  const wires = Array.from({ length: 10 }, () => dial(t, server))
  for (const { socket } of wires) socket.write(post(100_000) + 'x'.repeat(99_999))
  for (const { connected } of wires) await connected
  await fetch(server.url, { method: 'POST', body: 'small' }) // the large ones have begun
  turn = countTurns(t)
  for (const { socket } of wires) socket.write('x')
  await Promise.all(wires.map((wire) => until(wire, /\{"bytes":100000\}/)))
  const large = turns.slice(1)
  assert.equal(new Set(large).size, wires.length, `turns ${large}`)
})

test('of large bodies that arrive together several small ones are processed in one turn of the event loop', async (t) => {
  const turn = countTurns(t)
  const turns = Array.from({ length: 14 }, async () => {
    await turnForBody(Buffer.alloc(18_000))
    return turn()
  })
  const { size } = new Set(await Promise.all(turns))
  assert.ok(size >= 2 && size <= 3, `${size} turns`)
})

test('a chunked body arrives complete', async (t) => {
  const { server } = await open(t, sizes)
  const wire = dial(t, server)
  wire.socket.write(`${chunked}5\r\nabcde\r\n`)
  wire.socket.write('3\r\nfgh\r\n0\r\n\r\n')
  await until(wire, /\{"bytes":8\}/)
})

test('a body of exactly the limit is accepted, one byte more is not', async (t) => {
  const { server } = await open(t, sizes)
  const exactly = await fetch(server.url, { method: 'POST', body: Buffer.alloc(1024 * 1024) })
  assert.deepEqual(await exactly.json(), { bytes: 1024 * 1024 })
  const more = await fetch(server.url, { method: 'POST', body: Buffer.alloc(1024 * 1024 + 1) })
  assert.equal(more.status, 413)
})

for (const framing of ['with a length', 'in chunks']) {
  test(`413 is readable while the client still sends 10 MB ${framing}`, async (t) => {
    const { server, lines } = await open(t, sizes)
    const wire = dial(t, server)
    const piece = Buffer.alloc(64 * 1024)
    const [head, frame, end] =
      framing === 'in chunks'
        ? [chunked, Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')]), '0\r\n\r\n']
        : [post(160 * piece.length), piece, '']
    wire.socket.write(head)
    for (let sent = 0; sent < 160; sent++) if (!wire.socket.write(frame)) await once(wire.socket, 'drain')
    wire.socket.write(end)
    await wire.closed
    assert.match(wire.received, /^HTTP\/1.1 413 .*Connection: close.*\{"code":"body_too_large"\}$/s)
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error'),
      [],
    )
  })
}

test('the connection of a body that never ends is closed after a number of bytes', async (t) => {
  const { server } = await open(t, sizes, { drainBytes: 1024 * 1024 })
  const wire = dial(t, server)
  wire.socket.write(chunked)
  const frame = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(64 * 1024), Buffer.from('\r\n')])
  const endless = () => {
    while (wire.socket.writable && wire.socket.write(frame));
  }
  wire.socket.on('drain', endless)
  endless()
  await wire.closed
  assert.match(wire.received, /^HTTP\/1.1 413 /)
})

test('the connection of a refused body that stops arriving is closed after some time', async (t) => {
  const { server } = await open(t, async () => json({}, 401), { drainMs: 50 })
  const wire = dial(t, server)
  wire.socket.write(`${post(2 ** 40)}some`)
  await wire.closed
  assert.match(wire.received, /^HTTP\/1.1 401 .*Connection: close/s)
})

test('after an answer that did not read the body the connection stays open if the body is small', async (t) => {
  const { server } = await open(t, async () => json({}, 401))
  const wire = dial(t, server)
  wire.socket.write(post(10))
  await until(wire, /401/)
  wire.socket.write(`0123456789${get()}`)
  await until(wire, /401.*401/s)
  assert.doesNotMatch(wire.received, /Connection: close/)
})

test('a small unread body that stops arriving closes its connection', async (t) => {
  const { server } = await open(t, async () => json({}, 401), { headersMs: 100, requestMs: 200 })
  const wire = dial(t, server)
  wire.socket.write(post(10))
  await wire.closed
  assert.equal(wire.received.match(/HTTP\/1.1/g)?.length, 1)
})

test('100 Continue is sent when the body is read', async (t) => {
  const { server } = await open(t, sizes)
  const wire = dial(t, server)
  wire.socket.write(post(4, 'Expect: 100-continue\r\n'))
  await until(wire, /^HTTP\/1.1 100 Continue\r\n\r\n/)
  wire.socket.write('abcd')
  await until(wire, /HTTP\/1.1 200 .*\{"bytes":4\}/s)
})

test('100 Continue is not sent when the request is refused', async (t) => {
  const refusing = await open(t, async () => json({}, 401))
  const tooLarge = await open(t, sizes)
  for (const [{ server }, length, status] of [
    [refusing, 4, /^HTTP\/1.1 401 .*Connection: close/s],
    [tooLarge, 2 ** 30, /^HTTP\/1.1 413 .*Connection: close/s],
  ] as const) {
    const wire = dial(t, server)
    wire.socket.write(post(length, 'Expect: 100-continue\r\n'))
    await until(wire, /\{.*\}$/)
    assert.match(wire.received, status)
  }
})

test('other expectations are ignored', async (t) => {
  const { server } = await open(t, sizes)
  const wire = dial(t, server)
  wire.socket.write(`${post(2, 'Expect: miracles\r\n')}ab`)
  await until(wire, /HTTP\/1.1 200 .*\{"bytes":2\}/s)
})

test('a client that disconnects during its body causes no error', async (t) => {
  const reading = deferred()
  const done = deferred()
  const { server, lines, requests } = await open(t, async (request) => {
    const answer = sizes(request)
    reading.resolve()
    return await answer.finally(() => setImmediate(done.resolve))
  })
  const wire = dial(t, server)
  wire.socket.write(`${post(100)}some`)
  await reading.promise
  wire.socket.destroy()
  await done.promise
  assert.deepEqual(
    requests().map(({ status, aborted }) => ({ status, aborted })),
    [{ status: 400, aborted: true }],
  )
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error'),
    [],
  )
  assert.equal((await fetch(server.url, { method: 'POST', body: 'x' })).status, 200)
})

/** Holds a request after it has arrived, until the client is gone. */
function held() {
  const [arrived, gone] = [deferred(), deferred()]
  const handle: typeof sizes = async (request) => {
    arrived.resolve()
    await gone.promise
    return await sizes(request)
  }
  return { arrived, gone, handle }
}

test('a client that disconnects before its body is read causes no error', async (t) => {
  const { arrived, gone, handle } = held()
  const { server, lines, requests } = await open(t, handle)
  const wire = dial(t, server)
  wire.socket.write(`${post(100)}some`)
  await arrived.promise
  wire.socket.resetAndDestroy()
  while (!lines.some(({ message }) => message === 'broken request')) await new Promise(setImmediate)
  gone.resolve()
  while (requests().length === 0) await new Promise(setImmediate)
  assert.equal(requests()[0]?.status, 400)
})

test('a client that ends its side of the connection after its request gets the answer', async (t) => {
  const { arrived, gone, handle } = held()
  const { server } = await open(t, handle)
  const wire = dial(t, server)
  wire.socket.end(`${post(4)}some`)
  await arrived.promise
  const later = dial(t, server)
  later.socket.write('garbage\r\n\r\n')
  await later.closed // by then the server has seen the end of the first connection, too
  gone.resolve()
  await wire.closed
  assert.match(wire.received, /^HTTP\/1.1 200 .*\{"bytes":4\}$/s)
})

test('a body that ends before its Content-Length is refused', async (t) => {
  const { server } = await open(t, sizes)
  const wire = dial(t, server)
  wire.socket.end(`${post(100)}some`)
  await wire.closed
  assert.doesNotMatch(wire.received, /HTTP\/1.1 200/)
})

const broken: readonly [what: string, sent: string, status: number, code: string][] = [
  ['a text that is not HTTP', 'some garbage\r\n\r\n', 400, 'invalid_json'],
  ['a request without a Host', 'GET / HTTP/1.1\r\n\r\n', 400, 'invalid_json'],
  ['a request with two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400, 'invalid_json'],
  [
    'a Content-Length that is not a number',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n',
    400,
    'invalid_json',
  ],
  [
    'a Content-Length with chunked encoding',
    `${chunked.replace('Host', 'Content-Length: 3\r\nHost')}`,
    400,
    'invalid_json',
  ],
  ['chunks that are not valid', `${chunked}xyz\r\n`, 400, 'invalid_json'],
  ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'invalid_json'],
  [
    'too many headers',
    `GET / HTTP/1.1\r\nHost: x\r\n${`A: ${'b'.repeat(100)}\r\n`.repeat(200)}\r\n`,
    431,
    'body_too_large',
  ],
]
for (const [what, sent, status, code] of broken) {
  test(`${what} is answered with the standard error shape`, async (t) => {
    const { server, lines } = await open(t, sizes)
    const wire = dial(t, server)
    wire.socket.write(sent)
    await wire.closed
    const [head = '', body = ''] = wire.received.split('\r\n\r\n')
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} `))
    assert.match(head, /^Connection: close$/m)
    assert.match(head, /^X-Request-Id: .+$/m)
    assert.deepEqual(Object.keys(JSON.parse(body)), ['message', 'code'])
    assert.equal(JSON.parse(body).code, code)
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error'),
      [],
    )
  })
}

const slow = [
  ['no bytes', ''],
  ['half a header', 'GET / HTTP/1.1\r\nHo'],
  ['half a body', `${post(10)}ab`],
] as const
for (const [what, sent] of slow) {
  test(`a client that sends ${what} and no more gets 408`, async (t) => {
    const { server } = await open(t, sizes, { headersMs: 100, requestMs: 200 })
    const wire = dial(t, server)
    wire.socket.write(sent)
    await wire.closed
    assert.match(wire.received, /^HTTP\/1.1 408 .*"code":"unavailable"/s)
  })
}

const drips = [
  ['headers', 'GET / HTTP/1.1\r\nHost: x\r\n', 'A: b\r\n'],
  ['body', post(1_000_000), 'x'],
  ['body in chunks', chunked, '1\r\nx\r\n'],
] as const
for (const [what, head, drop] of drips) {
  test(`a client that sends its ${what} byte by byte is disconnected in time`, async (t) => {
    const { server } = await open(t, sizes, { headersMs: 200, requestMs: 400, silenceMs: 10_000 })
    const wire = dial(t, server)
    wire.socket.write(head)
    const dripping = setInterval(() => wire.socket.write(drop), 10)
    await wire.closed
    clearInterval(dripping)
    assert.match(wire.received, /^HTTP\/1.1 408 .*"code":"unavailable"/s)
  })
}

test('garbage after a request does not replace its answer', async (t) => {
  const first = deferred()
  const { server, lines } = await open(t, async () => {
    await first.promise
    return json({ first: true })
  })
  const wire = dial(t, server)
  wire.socket.write(`${get()}garbage\r\n\r\n`)
  while (!lines.some(({ message }) => message === 'broken request')) await new Promise(setImmediate)
  first.resolve()
  await wire.closed
  assert.match(wire.received, /^HTTP\/1.1 200 .*\{"first":true\}$/s)
})

test('a request to upgrade is treated as an ordinary one, after which the connection ends', async (t) => {
  const { server } = await open(t)
  const wire = dial(t, server)
  const body = 'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
  wire.socket.write(`POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n${body}${get('/next')}`)
  await wire.closed
  assert.match(wire.received, /^HTTP\/1.1 200 .*\r\nConnection: close\r\n/s)
  assert.equal(wire.received.match(/HTTP\/1.1/g)?.length, 1)
})

test('an API that throws unexpectedly costs only its caller the connection', async (t) => {
  const { server, lines } = await open(t, async ({ target }) => {
    if (target === '/bad') throw new Error('broken promise')
    return json({})
  })
  await assert.rejects(fetch(`${server.url}/bad`))
  assert.equal(lines.filter(({ level }) => level === 'error').length, 1)
  assert.equal((await fetch(server.url)).status, 200)
})

test('a client that reads none of its answer is disconnected', async (t) => {
  const started = deferred()
  const large = json('x'.repeat(64 * 1024 * 1024))
  const answer = async () => {
    setImmediate(started.resolve)
    return large
  }
  const { server } = await open(t, answer, { silenceMs: 100 })
  const wire = dial(t, server)
  wire.socket.pause()
  wire.socket.write(get())
  await started.promise
  // Closing waits until the answer was read, or until the connection was closed.
  const startedMs = performance.now()
  await server.close(30_000)
  assertFaster(performance.now() - startedMs, 15_000, 'closing')
})

test('every request logs one line, without data that the caller sent', async (t) => {
  const { server, requests } = await open(t, async (request) => {
    const known = request.target.startsWith('/known')
    const answer = json({}, known ? 200 : 404)
    return {
      ...answer,
      headers: { ...answer.headers, 'X-Request-Id': 'abc' },
      ...(known ? { route: '/known/:id' } : {}),
    }
  })
  const headers = { authorization: 'Bearer secret' }
  await (await fetch(`${server.url}/known/7?search=ann@example.com`, { headers })).text()
  await (await fetch(`${server.url}/ann@example.com`, { headers })).text()
  const [known, unknown] = requests()
  assert.deepEqual(
    { ...known, ms: typeof known?.ms },
    {
      level: 'info',
      message: 'request',
      method: 'GET',
      path: '/known/:id',
      status: 200,
      ms: 'number',
      requestId: 'abc',
    },
  )
  assert.equal(unknown?.path, 'unknown')
  assert.doesNotMatch(JSON.stringify(requests()), /secret|ann/)
})

test('closing ends connections without a request soon', async (t) => {
  const { server } = await open(t)
  const [idle, silent] = [dial(t, server), dial(t, server)]
  idle.socket.write(get())
  await until(idle, /\{\}$/)
  await silent.connected
  await server.close()
  await Promise.all([idle.closed, silent.closed])
  await assert.rejects(fetch(server.url))
})

test('closing finishes a request in progress, and announces the end of the connection', async (t) => {
  const arrived = deferred()
  const finish = deferred()
  const { server } = await open(t, async () => {
    arrived.resolve()
    await finish.promise
    return json({ late: true })
  })
  const wire = dial(t, server)
  wire.socket.write(get())
  await arrived.promise
  const closed = server.close()
  finish.resolve()
  await Promise.all([closed, wire.closed])
  assert.match(wire.received, /^HTTP\/1.1 200 .*Connection: close.*\{"late":true\}$/s)
})

test('a request that was on its way when closing began gets 503', async (t) => {
  const { server } = await open(t)
  const wire = dial(t, server)
  wire.socket.write(get())
  await until(wire, /\{\}$/)
  const closed = server.close()
  wire.socket.write(get())
  await Promise.all([closed, wire.closed])
  assert.match(wire.received, /HTTP\/1.1 503 .*Retry-After: \d+.*Connection: close.*"code":"unavailable"/s)
})

test('a request that arrives during closing gets 503', async (t) => {
  const { server } = await open(t)
  const wire = dial(t, server)
  wire.socket.write(`${get()}GET / HTTP/1.1\r\n`)
  await until(wire, /\{\}$/)
  await fetch(server.url)
  const closed = server.close()
  wire.socket.write('Host: x\r\n\r\n')
  await Promise.all([closed, wire.closed])
  assert.match(wire.received, /HTTP\/1.1 503 .*Retry-After: \d+.*Connection: close.*"code":"unavailable"/s)
})

test('closing cuts requests that do not end in time', async (t) => {
  const arrived = deferred()
  const { server } = await open(t, () => {
    arrived.resolve()
    return new Promise(() => {})
  })
  const wire = dial(t, server)
  wire.socket.write(get())
  await arrived.promise
  await server.close(50)
  await wire.closed
  assert.equal(wire.received, '')
})

/** Streams an endless answer; `ended` resolves with the number of pieces made once the client has gone. */
function endless(characters = 2 ** 16) {
  let made = 0
  let stop = (_made: number) => {}
  const ended = new Promise<number>((resolve) => {
    stop = resolve
  })
  async function* text() {
    try {
      for (;;) yield `${made++} ${'x'.repeat(characters)}\n`
    } finally {
      stop(made)
    }
  }
  return { ended, answer: async (): Promise<ApiResponse> => ({ status: 200, headers: {}, stream: text() }) }
}

test('a streamed answer is produced no faster than it is read, and stops with its connection', async (t) => {
  const { ended, answer } = endless()
  const { server } = await open(t, answer)
  const wire = dial(t, server)
  wire.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(wire, /^HTTP\/1\.1 200 .*20 x/s)
  wire.socket.pause()
  wire.socket.destroy()
  const made = await ended
  assert.ok(made < 1000, `${made} pieces were made`)
})

test('a stream that is not read produces one piece, and is cut off after a time-out', async (t) => {
  const { ended, answer } = endless(8 * 2 ** 20)
  const { server } = await open(t, answer, { silenceMs: 300 })
  const wire = dial(t, server)
  wire.socket.pause()
  wire.socket.write(get())
  const made = await ended
  assert.ok(made <= 2, `${made} portions were made`) // the operating system may have buffered the first one
  wire.socket.resume()
  await wire.closed
})

test('large unread answers share a budget of bytes; beyond it they get 503, and small ones are sent', async (t) => {
  const large = 'x'.repeat(6 * 2 ** 20)
  const { server } = await open(t, async ({ target }) => json(target === '/large' ? large : {}), {
    answersBytes: 20 * 2 ** 20,
  })
  const wires = Array.from({ length: 3 }, () => dial(t, server))
  for (const wire of wires) {
    wire.socket.pause()
    wire.socket.write(get('/large'))
  }
  let refused: Response
  do refused = await fetch(`${server.url}/large`)
  while (refused.status === 200 && (await refused.text()))
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '2'])
  assert.equal(((await refused.json()) as { code: string }).code, 'unavailable')
  assert.equal((await fetch(`${server.url}/small`)).status, 200)
  for (const { socket } of wires) socket.destroy()
  for (;;) {
    const again = await fetch(`${server.url}/large`)
    await again.arrayBuffer()
    if (again.status === 200) break
  }
})

test('unread answers of one client leave room for answers and streams of another client', async (t) => {
  const megabyte = 2 ** 20
  const [slow, quick] = [1, 2]
  async function* text() {
    for (let made = 0; made < 3; made++) yield 'y'.repeat(2 ** 16)
  }
  const { server } = await open(
    t,
    async ({ target, identify }) => {
      identify!(target.startsWith('/slow') ? slow : quick)
      return target.endsWith('/stream')
        ? { status: 200, headers: {}, stream: text() }
        : json('x'.repeat(Number(target.split('/')[2]) * megabyte))
    },
    { answersBytes: 32 * megabyte },
  )
  const unread = ['/slow/12', '/slow/11'].map((path) => {
    const wire = dial(t, server)
    wire.socket.pause()
    wire.socket.write(get(path))
    return wire
  })
  const statusOf = async (path: string) => {
    const answer = await fetch(`${server.url}${path}`)
    await answer.arrayBuffer()
    return answer.status
  }
  while ((await statusOf('/slow/stream')) === 200) await new Promise(setImmediate)
  assert.deepEqual([await statusOf('/slow/6'), await statusOf('/slow/stream')], [503, 503])
  assert.deepEqual([await statusOf('/quick/6'), await statusOf('/quick/stream')], [200, 200])
  for (const { socket } of unread) socket.destroy()
  while ((await statusOf('/slow/6')) === 503) await new Promise(setImmediate)
})

test('large answers that one client waits for do not hold up those of another client', async (t) => {
  const slow = deferred()
  const [busy, quick] = [1, 2]
  const { server } = await open(t, async ({ target, identify, buildLarge }) => {
    const isSlow = target === '/slow'
    identify!(isSlow ? busy : quick)
    const make = async () => {
      if (isSlow) await slow.promise
      return target
    }
    return json(await buildLarge!(make))
  })
  const slowAnswers = Array.from({ length: 30 }, () => fetch(`${server.url}/slow`))
  await fetch(`${server.url}/quick`) // also proves that connections are accepted
  for (let times = 0; times < 30; times++) assert.equal(await (await fetch(`${server.url}/quick`)).json(), '/quick')
  slow.resolve()
  for (const answer of slowAnswers) assert.equal(await (await answer).json(), '/slow')
})

test('while large answers use up the budget a stream is refused', async (t) => {
  let made = 0
  async function* text() {
    for (; made < 3; made++) yield 'y'.repeat(2 ** 16)
  }
  const large = 'x'.repeat(12 * 2 ** 20)
  const { server } = await open(
    t,
    async ({ target }) => (target === '/large' ? json(large) : { status: 200, headers: {}, stream: text() }),
    { answersBytes: ((large.length + 2) * 4) / 3 }, // one client may have three quarters
  )
  const wire = dial(t, server)
  wire.socket.pause()
  wire.socket.write(get('/large'))
  let status = 200
  while (status === 200) {
    made = 3
    const answer = await fetch(`${server.url}/stream`)
    status = answer.status
    await answer.text()
  }
  assert.equal(status, 503)
  wire.socket.destroy()
  do {
    made = 0
    const answer = await fetch(`${server.url}/stream`)
    status = answer.status
    await answer.text()
  } while (status !== 200)
  assert.equal(made, 3)
})

test('an error in a stream cuts the answer off, so that the client sees that it is incomplete', async (t) => {
  async function* text() {
    yield 'first'
    throw new Error('the database is gone')
  }
  const { server } = await open(t, async () => ({ status: 200, headers: {}, stream: text() }))
  const wire = dial(t, server)
  wire.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await wire.closed
  assert.match(wire.received, /^HTTP\/1\.1 200 .*first\r\n$/s)
})

/** Clients on Node 20 and 22 take a reset for an ordinary end. */
const seesResets = Number(process.versions.node.split('.')[0]) >= 24
const needsResets = { skip: !seesResets && 'a client on Node 20 or 22 does not see a reset' }

/** Sends a request of HTTP/1.0, whose answer ends with the connection. `end` is how that ended. */
function dialOld(t: TestContext, server: RunningServer) {
  const { socket } = dial(t, server)
  const code = once(socket, 'error').then(([error]) => (error as NodeJS.ErrnoException).code)
  const end = Promise.race([code, once(socket, 'end').then(() => 'complete')])
  socket.write('GET / HTTP/1.0\r\n\r\n')
  return { socket, end }
}

test('a stream to an HTTP/1.0 client that breaks off ends with a reset', needsResets, async (t) => {
  async function* text() {
    yield 'first'
    throw new Error('the database is gone')
  }
  const { server } = await open(t, async () => ({ status: 200, headers: {}, stream: text() }))
  assert.equal(await dialOld(t, server).end, 'ECONNRESET')
})

test('a stream that an HTTP/1.0 client does not read in time ends with a reset', needsResets, async (t) => {
  const { ended, answer } = endless()
  const { server } = await open(t, answer, { silenceMs: 300 })
  const { socket, end } = dialOld(t, server)
  socket.pause()
  await ended
  socket.resume()
  assert.equal(await end, 'ECONNRESET')
})

test('a stream to an HTTP/1.0 client that closing cuts ends with a reset', needsResets, async (t) => {
  const { answer } = endless()
  const { server } = await open(t, answer)
  const { socket, end } = dialOld(t, server)
  await once(socket, 'data')
  await server.close(50)
  assert.equal(await end, 'ECONNRESET')
})

test('a stream works for HTTP/1.0 clients, and a connection takes the next request after one', async (t) => {
  async function* text() {
    yield 'one '
    yield 'two'
  }
  const { server } = await open(t, async () => ({ status: 200, headers: {}, stream: text() }))
  const old = dial(t, server)
  old.socket.write('GET / HTTP/1.0\r\n\r\n')
  await old.closed
  assert.match(old.received, /\r\n\r\none two$/)
  const wire = dial(t, server)
  const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
  wire.socket.write(request + request)
  await until(wire, /0\r\n\r\nHTTP.*two\r\n0\r\n\r\n/s)
})

test('a slow answer is no reason to disconnect the client', async (t) => {
  const answer: Answer = async (request) => {
    for await (const _ of request.stream!()) await new Promise((resolve) => setTimeout(resolve, 500))
    return json({ done: true })
  }
  const { server } = await open(t, answer, { silenceMs: 100 })
  const response = await fetch(server.url, { method: 'POST', body: 'x'.repeat(300_000) })
  assert.deepEqual(await response.json(), { done: true })
})

test('a body that is processed as a stream may take longer than others, but must not pause', async (t) => {
  const answer: Answer = async (request) => {
    let bytes = 0
    for await (const chunk of request.stream!()) bytes += chunk.length
    return json({ bytes })
  }
  const { server } = await open(t, answer, { headersMs: 50, requestMs: 100, silenceMs: 1000 })
  const wire = dial(t, server)
  wire.socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n')
  const began = performance.now()
  for (let n = 0; n < 6; n++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    wire.socket.write('x')
  }
  await until(wire, /"bytes":6/)
  assert.ok(performance.now() - began > 200)
  const silent = dial(t, server)
  silent.socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nx')
  await silent.closed
})
