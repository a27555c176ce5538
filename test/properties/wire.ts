/**
 * A connection that sends arbitrary bytes and reads whole answers, since Node's own client refuses to send invalid
 * requests.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** One request as bytes. */
export interface Message {
  readonly head: string
  readonly body: Buffer
  /** Whether the client sends the body only after `100 Continue`. */
  readonly expects: boolean
  /** Whether the client half-closes the connection after the request. */
  readonly ends: boolean
  /** Whether the answer has no body, regardless of its Content-Length. */
  readonly isHead: boolean
}

export interface Reply {
  readonly status: number
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

const patienceMs = 10_000

/** Sends requests one after another; opens a new connection when the last one was closed. */
export class Wire {
  readonly #port: number
  #socket: Socket | undefined
  #received = Buffer.alloc(0)
  #wake = () => {}

  constructor(port: number) {
    this.#port = port
  }

  /** @throws AssertionError when no whole answer comes within 10 s, or more than one. */
  async exchange({ head, body, expects, ends, isHead }: Message): Promise<Reply> {
    const socket = this.#open()
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.#wake()
    }, patienceMs)
    const read = () => this.#reply(socket, isHead, () => late)
    try {
      socket.write(expects ? head : Buffer.concat([Buffer.from(head, 'latin1'), body]), 'latin1')
      if (ends) socket.end()
      let reply = await read()
      if (reply.status === 100) {
        assert.ok(expects, '100 Continue without an Expect header')
        socket.write(body)
        reply = await read()
      }
      // For invalid HTTP the service does not know that the method was HEAD, and sends a body.
      if (isHead && [400, 431].includes(reply.status)) this.#received = Buffer.alloc(0)
      if (ends || reply.headers.connection === 'close') await this.#closed(socket, () => late)
      assert.equal(this.#received.length, 0, `more than one answer: ${this.#received.subarray(0, 200)}`)
      return reply
    } catch (error) {
      this.close()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  #open(): Socket {
    if (this.#socket?.writable) return this.#socket
    const socket = connect(this.#port, '127.0.0.1').setNoDelay(true)
    this.#received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#wake()
    })
    // A reset or an end is detected from the received bytes.
    socket.on('error', () => {})
    socket.on('close', () => this.#wake())
    this.#socket = socket
    return socket
  }

  async #reply(socket: Socket, isHead: boolean, isLate: () => boolean): Promise<Reply> {
    for (;;) {
      const reply = this.#take(isHead)
      if (reply) return reply
      assert.ok(!isLate(), `no whole answer in ${patienceMs} ms: ${JSON.stringify(String(this.#received))}`)
      assert.ok(!socket.destroyed, `closed without a whole answer: ${JSON.stringify(String(this.#received))}`)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** Removes the first answer from the received bytes, once it is complete. */
  #take(isHead: boolean): Reply | undefined {
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const [first = '', ...lines] = this.#received.subarray(0, end).toString('latin1').split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
    assert.ok(status >= 100, `no status line: ${first}`)
    const headers: Record<string, string> = {}
    for (const line of lines) {
      const [, name, value] = /^([\w-]+): (.*)$/.exec(line) ?? assert.fail(`no header: ${line}`)
      assert.ok(!(name!.toLowerCase() in headers), `twice: ${line}`)
      headers[name!.toLowerCase()] = value!
    }
    const bodiless = isHead || status === 204 || status === 100
    const isStream = !bodiless && headers['transfer-encoding'] === 'chunked'
    if (!bodiless && !isStream) assert.ok('content-length' in headers, `an answer without its length: ${first}`)
    const length = bodiless ? 0 : Number(headers['content-length'])
    const rest = this.#received.subarray(end + 4)
    const taken = isStream
      ? dechunk(rest)
      : rest.length < length
        ? undefined
        : { body: rest.subarray(0, length), length }
    if (!taken) return undefined
    this.#received = rest.subarray(taken.length)
    return { status, headers, text: taken.body.toString('utf8') }
  }

  async #closed(socket: Socket, isLate: () => boolean): Promise<void> {
    if (this.#socket === socket) this.#socket = undefined
    socket.end()
    const closed = socket.destroyed ? undefined : once(socket, 'close').catch(() => {})
    await Promise.race([
      closed,
      new Promise<void>((resolve) => {
        this.#wake = resolve
      }),
    ])
    assert.ok(!isLate(), 'the connection was not closed')
  }
}

/** Decodes chunks by RFC 9112, section 7.1. @returns undefined while the last chunk is missing. */
function dechunk(bytes: Buffer): { body: Buffer; length: number } | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at)
    if (end < 0) return undefined
    const size = Number.parseInt(bytes.subarray(at, end).toString('latin1'), 16)
    assert.ok(Number.isSafeInteger(size), `no chunk: ${bytes.subarray(at, end)}`)
    at = end + 2 + size + 2
    if (bytes.length < at) return undefined
    if (size === 0) return { body: Buffer.concat(chunks), length: at }
    chunks.push(bytes.subarray(end + 2, end + 2 + size))
  }
}
