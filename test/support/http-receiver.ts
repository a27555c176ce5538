/** A webhook receiver on a loopback port. It records requests and answers as configured. */
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { assertWebhookDescribed } from './http-description.ts'

/** A status, or a whole answer. `reset` resets the connection, `hang` waits for `answer()`. */
export type Reply =
  | number
  | 'reset'
  | 'hang'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly raw: Buffer
  readonly body: ReturnType<typeof JSON.parse>
  /** Waits at most 10 s until the exchange ends or the sender closes the connection. */
  gone(): Promise<void>
  /** Answers a request that waits. */
  answer(reply: Reply): void
}

const patienceMs = 10_000

export async function openReceiver() {
  const receiver = new Receiver()
  await receiver.listen()
  return receiver
}

export class Receiver {
  /** All requests, in order of arrival. */
  readonly received: Received[] = []
  readonly #server = createServer((req, res) => void this.#take(req, res))
  #replies: Reply[] = [200]
  readonly #arrivals = new EventEmitter()
  #handedOut = 0

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** Returns a URL with its own path. */
  url(path = '/hook'): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`
  }

  /** Sets the answers from now on, in this order; the last one repeats. */
  replies(...replies: [Reply, ...Reply[]]): void {
    this.#replies = replies
  }

  /** Waits at most 10 s for the next delivery or deliveries; returns them in order of arrival. */
  next(): Promise<Received>
  next(count: number): Promise<Received[]>
  async next(count?: number): Promise<Received | Received[]> {
    const from = this.#handedOut
    const to = from + (count ?? 1)
    this.#handedOut = to
    const signal = AbortSignal.timeout(patienceMs)
    while (this.received.length < to) {
      await once(this.#arrivals, 'delivery', { signal }).catch(() => {
        throw new Error(`${this.received.length - from} of ${to - from} deliveries came in ${patienceMs} ms`)
      })
    }
    const taken = this.received.slice(from, to)
    return count === undefined ? taken[0]! : taken
  }

  async close(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #take(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    const raw = Buffer.concat(chunks)
    const reply = this.#replies.length > 1 ? this.#replies.shift()! : this.#replies[0]!
    const { method = '', url: path = '', headers } = req
    const body = JSON.parse(raw.toString())
    assertWebhookDescribed(headers, raw.toString())
    this.received.push({
      method,
      path,
      headers,
      raw,
      body,
      gone: () => closed(res),
      answer: (later) => answer(res, later),
    })
    answer(res, reply)
    this.#arrivals.emit('delivery')
  }
}

function answer(res: ServerResponse, reply: Reply): void {
  if (reply === 'hang') return
  if (reply === 'reset') {
    res.destroy()
    return
  }
  const { status, headers = {}, body = '' } = typeof reply === 'number' ? { status: reply } : reply
  res.writeHead(status, headers).end(body)
}

async function closed(res: ServerResponse): Promise<void> {
  if (res.closed) return
  await once(res, 'close', { signal: AbortSignal.timeout(patienceMs) }).catch(() => {
    throw new Error(`the exchange was still open after ${patienceMs} ms`)
  })
}
