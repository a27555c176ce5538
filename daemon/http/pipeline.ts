import type { Socket } from 'node:net'
import type { HttpExchange } from './request-body.ts'

/**
 * Maximum concurrent requests of one connection. Bounds the answers that stay in memory when the client does not read. No
 * more start in one turn of the event loop: a chunk of 64 KiB may have thousands that are answered at once.
 */
const maxConcurrentRequests = 8

/** Methods of requests that change nothing. Only these run in parallel on one connection (RFC 9112, 9.3.2). */
const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

interface Queued {
  readonly exchange: HttpExchange
  readonly start: () => void
}

/** Requests that wait behind those, over all connections of a server. */
export interface WaitingRequests {
  count: number
  readonly max: number
}

/**
 * Queue of pipelined requests on one connection. A request that may change something runs alone, so that the changes
 * happen in the order in which they were sent. While requests wait, the socket is paused. If too many requests wait over
 * all connections, the connection is destroyed.
 */
export class Pipeline {
  /** The latest request. */
  last: HttpExchange | undefined
  readonly #socket: Socket
  readonly #waiting: WaitingRequests
  #running = 0
  #runsAlone = false
  #queue: Queued[] = []
  /** Requests that have started from the queue in this turn. */
  #starts = 0

  constructor(socket: Socket, waiting: WaitingRequests) {
    this.#socket = socket
    this.#waiting = waiting
    socket.once('close', () => this.#dropQueue())
  }

  /** Requests without a complete answer. */
  get count(): number {
    return this.#running + this.#queue.length
  }

  /** Whether an answer is being made, so that a silent connection is not the client's fault. */
  get isWorking(): boolean {
    return this.#running > 0 && this.#socket.writableLength === 0 && !this.last?.awaitsBody
  }

  /** @param start Called when it is the request's turn. */
  add(exchange: HttpExchange, start: () => void): void {
    this.last = exchange
    if (this.#queue.length === 0 && this.#canRun(exchange)) {
      this.#run({ exchange, start })
      return
    }
    if (this.#waiting.count >= this.#waiting.max) {
      this.#socket.destroy()
      return
    }
    this.#waiting.count++
    this.#queue.push({ exchange, start })
    this.#socket.pause()
  }

  #canRun({ req }: HttpExchange): boolean {
    if (this.#running === 0) return true
    return this.#running < maxConcurrentRequests && !this.#runsAlone && safeMethods.has(req.method)
  }

  #run({ exchange, start }: Queued): void {
    this.#running++
    this.#runsAlone = !safeMethods.has(exchange.req.method)
    // 'close' means that the operating system has accepted the answer, so it no longer takes memory here.
    exchange.res.once('close', () => {
      this.#running--
      this.#next()
    })
    start()
  }

  #next(): void {
    for (let next = this.#queue[0]; next && this.#canRun(next.exchange); next = this.#queue[0]) {
      if (this.#starts === maxConcurrentRequests) return
      if (this.#starts++ === 0) setImmediate(() => this.#nextTurn())
      this.#queue.shift()
      this.#waiting.count--
      if (this.#queue.length === 0) this.#socket.resume()
      this.#run(next)
    }
  }

  #nextTurn(): void {
    this.#starts = 0
    this.#next()
  }

  #dropQueue(): void {
    this.#waiting.count -= this.#queue.length
    this.#queue = []
  }
}
