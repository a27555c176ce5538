import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { errors } from 'undici'
import { test } from '../support/databases.ts'
import { assertFaster } from '../support/timing.ts'
import {
  addEndpoint,
  attempted,
  moment,
  type Opened,
  onSharedDatabases,
  open,
  openReceiver,
  openSocket,
  raise,
  until,
} from '../support/webhook-harness.ts'

const timeoutSeconds = 4
const timedOut = /No complete answer within 4 s/
const broken = /^The request failed: (ECONNRESET|HPE_\w+|UND_ERR_\w+|HTTPParserError)\.$/

const head = (length: number | undefined, status = '200 OK', more = '') =>
  `HTTP/1.1 ${status}\r\n${length === undefined ? '' : `Content-Length: ${length}\r\n`}${more}\r\n`

/** Writes one piece every 50 ms without end. */
function drip(socket: Socket, piece: string): void {
  const timer = setInterval(() => socket.write(piece), 50)
  socket.on('close', () => clearInterval(timer))
}

/** Writes without end, as fast as the other side reads. */
function flood(socket: Socket, start: string, piece: string): void {
  const more = piece.repeat(Math.ceil(16_384 / piece.length))
  const write = () => {
    while (socket.writable && socket.write(more)) {}
  }
  socket.on('drain', write).write(start)
  write()
}

interface Misbehaviour {
  readonly what: string
  readonly answer: (socket: Socket) => unknown
  /** The expected error; undefined for a success. */
  readonly error?: RegExp
  readonly status: number | null
  readonly body?: string
}

const bomb = gzipSync(Buffer.alloc(10_000_000))
const misbehaviours: Misbehaviour[] = [
  { what: 'a reset before headers', answer: (s) => s.resetAndDestroy(), error: broken, status: null },
  { what: 'a close before headers', answer: (s) => s.end(), error: broken, status: null },
  {
    what: 'a reset after headers',
    answer: (s) => s.write(`${head(10)}abc`, () => setImmediate(() => s.resetAndDestroy())),
    error: broken,
    status: 200,
  },
  { what: 'an end before the length', answer: (s) => s.end(`${head(10)}abc`), error: broken, status: 200 },
  { what: 'no answer', answer: () => {}, error: timedOut, status: null },
  { what: '200 and then no more data', answer: (s) => s.write(head(10)), error: timedOut, status: 200 },
  {
    what: 'a body sent byte by byte',
    answer: (s) => {
      s.write(head(1000))
      drip(s, 'x')
    },
    error: timedOut,
    status: 200,
  },
  {
    what: 'headers sent byte by byte',
    answer: (s) => {
      s.write('HTTP/1.1 200 OK\r\n')
      drip(s, 'X-Slow: 1\r\n')
    },
    error: timedOut,
    status: null,
  },
  {
    what: 'interim responses sent slowly',
    answer: (s) => drip(s, head(undefined, '102 P')),
    error: timedOut,
    status: null,
  },
  {
    what: '103 and then no more data',
    answer: (s) => s.write(head(undefined, '103 E')),
    error: timedOut,
    status: null,
  },
  {
    what: '103 and then 200',
    answer: (s) => s.write(`${head(undefined, '103 Early Hints')}${head(2)}ok`),
    status: 200,
    body: 'ok',
  },
  {
    what: '100 without an Expect header, and then 200',
    answer: (s) => s.write(`${head(undefined, '100 Continue')}${head(2)}ok`),
    status: 200,
    body: 'ok',
  },
  {
    what: 'switching protocols',
    answer: (s) => s.write(head(undefined, '101 Switching Protocols', 'Upgrade: x\r\nConnection: Upgrade\r\n')),
    error: broken,
    status: null,
  },
  {
    what: 'switching protocols in HTTP/1.0, with a body',
    answer: (s) => s.write('HTTP/1.0 101 Switching Protocols\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
    error: /^The receiver sent the status 101\.$/,
    status: null,
  },
  {
    what: 'a status below 100',
    answer: (s) => s.write(head(0, '099 Early')),
    error: /^The receiver sent the status 99\.$/,
    status: null,
  },
  { what: '204', answer: (s) => s.write(head(undefined, '204 No Content')), status: 204, body: '' },
  { what: '204 with the length of a body', answer: (s) => s.write(head(2, '204 No Content')), status: 204, body: '' },
  { what: '204 with a body', answer: (s) => s.write(`${head(2, '204 No Content')}ok`), status: 204, body: '' },
  {
    what: 'headers of 100 KB',
    answer: (s) => s.write(head(2, '200 OK', `X-Large: ${'x'.repeat(100_000)}\r\n`)),
    error: /HEADERS_OVERFLOW/,
    status: null,
  },
  { what: 'another protocol', answer: (s) => s.write('SSH-2.0-OpenSSH_9.6\r\n'), error: broken, status: null },
  {
    what: 'broken chunks',
    answer: (s) => s.write(head(undefined, '200 OK', 'Transfer-Encoding: chunked\r\n').concat('zz\r\nabc\r\n')),
    error: broken,
    status: 200,
  },
  {
    what: 'a body that ends with the connection',
    answer: (s) => s.end('HTTP/1.0 200 OK\r\n\r\nold'),
    status: 200,
    body: 'old',
  },
  {
    what: '64 KiB and then no more data',
    answer: (s) => s.write(head(1_000_000) + 'x'.repeat(65_536)),
    status: 200,
    body: 'x'.repeat(4096),
  },
  {
    what: 'a byte less and then no more data',
    answer: (s) => s.write(head(1_000_000) + 'x'.repeat(65_535)),
    error: timedOut,
    status: 200,
  },
  {
    what: 'a gzip bomb, stored without decompressing',
    answer: (s) =>
      s.write(Buffer.concat([Buffer.from(head(bomb.length, '200 OK', 'Content-Encoding: gzip\r\n')), bomb])),
    status: 200,
  },
  {
    what: 'characters across the limit of 4 KiB',
    answer: (s) => s.write(Buffer.from(`${head(6000)}${'a'.repeat(4095)}${'é'.repeat(1000)}`.padEnd(7000, ' '))),
    status: 200,
    body: 'a'.repeat(4095),
  },
]

const floods: Misbehaviour[] = [
  {
    what: '100 and 103 with headers, and then 200, byte by byte',
    answer: async (s) => {
      s.setNoDelay()
      const text = `${head(undefined, '100 Continue')}${head(undefined, '103 Early Hints', 'Link: </a>\r\n')}${head(2)}ok`
      for (const byte of text) await new Promise((written) => s.write(byte, written))
    },
    status: 200,
    body: 'ok',
  },
  {
    what: 'endless interim responses',
    answer: (s) => flood(s, '', head(undefined, '103 Early Hints')),
    error: /^The receiver sent more than 16 KiB of interim responses\.$/,
    status: null,
  },
  {
    what: 'one endless interim response',
    answer: (s) => flood(s, 'HTTP/1.1 103 Early Hints\r\n', 'Link: </a>\r\n'),
    error: /^The receiver sent more than 16 KiB of interim responses\.$/,
    status: null,
  },
  {
    what: 'endless chunk extensions: the answer counts as far as it was read',
    answer: (s) =>
      flood(s, head(undefined, '200 OK', 'Transfer-Encoding: chunked\r\n'), `1;${'x'.repeat(5000)}\r\na\r\n`),
    status: 200,
  },
  {
    what: 'endless trailers',
    answer: (s) => flood(s, `${head(undefined, '200 OK', 'Transfer-Encoding: chunked\r\n')}0\r\n`, 'A: b\r\n'),
    error: /OVERFLOW/,
    status: 200,
  },
]

/** Lets each receiver misbehave in one attempt, and compares the recorded attempts. */
async function attemptAll(t: TestContext, mk: Opened, all: readonly Misbehaviour[]): Promise<void> {
  const endpoints = new Map<Misbehaviour, number>()
  for (const one of all) {
    endpoints.set(one, (await addEndpoint(mk, (await openSocket(t, one.answer)).url)).id)
  }
  await raise(mk)
  for (const [{ what, status, error, body }, id] of endpoints) {
    const delivery = await attempted(mk, id, 1)
    assert.equal(delivery.status, error ? 'pending' : 'success', `${what}: ${delivery.error}`)
    assert.equal(delivery.response_status, status, what)
    if (error) assert.match(delivery.error!, error, what)
    const [attempt] = delivery.attempt_log
    assert.equal(attempt!.error, delivery.error, what)
    assert.equal(attempt!.response_status, status, what)
    if (body !== undefined) assert.equal(attempt!.response_body, body, what)
    assert.ok(Buffer.byteLength(attempt!.response_body ?? '') <= 4096, what)
  }
}

/** Counts the errors that undici creates for too many headers. */
function countErrors(t: TestContext): { readonly count: number } {
  const { HeadersOverflowError, UndiciError } = errors
  const created = { count: 0 }
  class Counted extends UndiciError {
    constructor(message?: string) {
      super(message)
      created.count += 1
    }
  }
  Object.setPrototypeOf(HeadersOverflowError, Counted)
  t.after(() => Object.setPrototypeOf(HeadersOverflowError, UndiciError))
  return created
}

onSharedDatabases('a receiver that misbehaves', (open) => {
  test('fails the attempt, or does not, and has no other effect', async (t) => {
    await attemptAll(t, await open(t, { webhooks: { timeoutSeconds } }), misbehaviours)
  })

  test('by sending a lot or in pieces is disconnected long before the time-out', async (t) => {
    await attemptAll(t, await open(t), floods)
  })

  test('with a flood of short headers or trailers costs one error, not one for each header', async (t) => {
    const created = countErrors(t)
    const mk = await open(t)
    const trailers = `${head(undefined, '200 OK', 'Transfer-Encoding: chunked\r\n')}0\r\n`
    for (const start of ['HTTP/1.1 200 OK\r\n', trailers]) {
      const { url } = await openSocket(t, (socket) => flood(socket, start, 'a:b\r\n'.repeat(10_000)))
      const { id } = await addEndpoint(mk, url)
      await raise(mk)
      assert.match((await attempted(mk, id, 1)).error!, /OVERFLOW/)
    }
    // The parser creates one for each header that it has been given.
    assert.ok(created.count < 2000, `${created.count} errors`)
  })

  test('with 10 MB is disconnected after 64 KiB, of which 4 KiB are stored', async (t) => {
    const mk = await open(t)
    let written = 0
    const receiver = await openSocket(t, (socket) => {
      const more = () => {
        while (written < 10_000_000 && socket.write(Buffer.alloc(65_536, 'x'))) written += 65_536
      }
      socket.write(head(10_000_000))
      socket.on('drain', more)
      more()
    })
    const { id } = await addEndpoint(mk, receiver.url)
    await raise(mk)
    const { status, attempt_log } = await attempted(mk, id, 1)
    assert.deepEqual([status, attempt_log[0]!.response_body], ['success', 'x'.repeat(4096)])
    await until('the sender has closed the connection', () => receiver.sockets.size === 0 || undefined)
    assert.ok(written < 10_000_000, `the kernel took ${written} bytes`)
  })

  test('with interim responses without end, at sixteen endpoints: all are cut off long before the time-out', async (t) => {
    const mk = await open(t)
    const receivers = await Promise.all(
      Array.from({ length: 16 }, () =>
        openSocket(t, (socket) =>
          flood(socket, '', head(undefined, '103 Early Hints', `Link: <${'a'.repeat(100)}>\r\n`)),
        ),
      ),
    )
    const honest = await openReceiver(t)
    const ids = []
    for (const { url } of receivers) ids.push((await addEndpoint(mk, url)).id)
    const { id } = await addEndpoint(mk, honest.url())
    const startedMs = performance.now()
    await raise(mk)
    assert.equal((await attempted(mk, id, 1)).status, 'success')
    for (const one of ids) assert.match((await attempted(mk, one, 1)).error!, /interim responses/)
    assertFaster(performance.now() - startedMs, 7500, 'cutting off all, half the time-out,')
    await until('all connections are closed', () => receivers.every(({ sockets }) => sockets.size === 0) || undefined)
  })

  test('with many interim responses is complete, also several times on one connection', async (t) => {
    const mk = await open(t)
    let connections = 0
    const server = createHttpServer((_, response) => {
      for (let n = 0; n < 10; n++) response.writeEarlyHints({ link: `</${'a'.repeat(1000)}>; rel=preload` })
      response.writeHead(204).end()
    }).on('connection', () => {
      connections += 1
    })
    t.after(() => server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { id } = await addEndpoint(mk, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    for (const count of [1, 2, 3]) {
      await raise(mk)
      const { attempt_log } = await until('the attempt is recorded', async () => {
        const { data } = await mk.acme.webhooks.listDeliveries(id)
        const last = data.length === count && (await mk.acme.webhooks.getDelivery(id, data[0]!.id))
        return last && last.attempt_log.length > 0 ? last : undefined
      })
      assert.deepEqual([attempt_log[0]!.error, connections], [null, 1])
    }
  })

  test('with binary data: the stored answer is text of at most 4 KiB, without NUL', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t, ({ path }) => ({
      status: 200,
      body: Buffer.alloc(5000, Number(path.slice(1))),
    }))
    for (const byte of [0, 0xff, 0xc3]) {
      const { id } = await addEndpoint(mk, receiver.url(`/${byte}`))
      await raise(mk)
      const body = (await attempted(mk, id, 1)).attempt_log[0]!.response_body!
      assert.ok(Buffer.byteLength(body) > 4000 && Buffer.byteLength(body) <= 4096)
      assert.match(body, /^\ufffd+$/)
    }
  })

  test('by not listening: refused connections are failures', async (t) => {
    const mk = await open(t)
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    server.close()
    const { id } = await addEndpoint(mk, `http://127.0.0.1:${port}/`)
    await raise(mk)
    const { status, error, attempts } = await attempted(mk, id, 1)
    assert.deepEqual([status, attempts], ['pending', 1])
    assert.match(error!, /ECONNREFUSED/)
  })
})

describe('attempts', () => {
  test('leave neither sockets nor timers behind', async (t) => {
    const kinds = ['TCPSocketWrap', 'TLSWrap', 'TCPConnectWrap', 'Timeout', 'Immediate', 'GetAddrInfoReqWrap']
    const active = () => process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind)).length
    const before = active()
    await t.test('that are in progress have some', async (t) => {
      const mk = await open(t, { webhooks: { timeoutSeconds: 0.3 } })
      const ids = []
      for (const { answer } of misbehaviours) ids.push((await addEndpoint(mk, (await openSocket(t, answer)).url)).id)
      await raise(mk)
      for (const id of ids) await attempted(mk, id, 1)
      assert.ok(active() > before)
      await mk.mailkeep.close()
    })
    await until('all connections are closed', () => active() <= before || undefined)
  })
})

onSharedDatabases('the log of attempts', (open) => {
  test('has each with its number, start, duration, status, error and the beginning of the answer', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t, () => {
      mk.clock.advance(1234)
      return { status: receiver.received.length === 1 ? 500 : 201, body: `answer ${receiver.received.length}` }
    })
    const { id } = await addEndpoint(mk, receiver.url())
    const startedMs = mk.clock.ms
    await raise(mk)
    await attempted(mk, id, 1)
    await mk.pass(6000)
    const { attempt_log, error } = await attempted(mk, id, 2)
    assert.deepEqual(attempt_log, [
      {
        number: 1,
        started_at: moment(startedMs),
        duration_ms: 1234,
        response_status: 500,
        error: 'The receiver answered 500.',
        response_body: 'answer 1',
      },
      {
        number: 2,
        started_at: moment(startedMs + 1234 + 6000),
        duration_ms: 1234,
        response_status: 201,
        error: null,
        response_body: 'answer 2',
      },
    ])
    assert.equal(error, null)
  })
})

onSharedDatabases('connections', (open) => {
  test('are reused for the next delivery after an answer that was read to its end, and only then', async (t: TestContext) => {
    const mk = await open(t)
    const ports = new Set<number>()
    const receiver = await openSocket(t, (socket, request) => {
      ports.add(socket.remotePort!)
      assert.match(request, /^POST \/hook HTTP\/1.1/)
      socket.write(`${head(2)}ok`)
      socket.removeAllListeners('data').on('data', () => socket.write(`${head(2)}ok`))
    })
    const { id } = await addEndpoint(mk, receiver.url)
    for (let i = 0; i < 3; i++) {
      await raise(mk)
      await attempted(mk, id, 1)
    }
    assert.equal(ports.size, 1)
  })

  test('end with an aborted attempt, and are not reopened for it', async (t) => {
    const mk = await open(t, { webhooks: { timeoutSeconds: 0.3 } })
    const receiver = await openSocket(t, () => {})
    const { id } = await addEndpoint(mk, receiver.url)
    await raise(mk)
    await attempted(mk, id, 1)
    await until('the sender has closed the connection', () => receiver.sockets.size === 0 || undefined)
    await raise(mk)
    await attempted(mk, id, 1)
    assert.equal(receiver.connections, 2)
  })

  test('may take at most 5 s of an attempt to open', async (t) => {
    const over = new AbortController()
    const never = () => new Promise<never>((_, reject) => over.signal.addEventListener('abort', reject))
    t.after(() => over.abort())
    const mk = await open(t, { lookup: { resolver: { resolve4: never, resolve6: never }, timeoutMs: 60_000 } })
    const { id } = await addEndpoint(mk, 'http://hook.example/')
    const started = performance.now()
    await raise(mk)
    assert.match((await attempted(mk, id, 1)).error!, /CONNECT_TIMEOUT/)
    const tookMs = performance.now() - started
    assert.ok(tookMs > 4500, `${tookMs} ms`)
    assertFaster(tookMs, 12_000, 'the attempt')
  })
})
