import type { Socket } from 'node:net'
import type { PendingResponses } from './broken-request.ts'
import type { HttpExchange } from './request-body.ts'

/** Maximum concurrent requests of one connection. Bounds the answers that stay in memory when the client does not read. */
const maxConcurrentRequests = 8

/** Requests that wait behind those, over all connections of a server. */
export interface WaitingRequests {
  count: number
  readonly max: number
}

/**
 * Queue of pipelined requests on one connection. While requests wait, the socket is paused. If too many requests wait
 * over all connections, the connection is destroyed.
 */
export class Pipeline implements PendingResponses {
  last: HttpExchange | undefined
  readonly #socket: Socket
  readonly #start: (exchange: HttpExchange) => void
  readonly #waiting: WaitingRequests
  #running = 0
  #queue: HttpExchange[] = []

  constructor(socket: Socket, waiting: WaitingRequests, start: (exchange: HttpExchange) => void) {
    this.#socket = socket
    this.#waiting = waiting
    this.#start = start
    socket.once('close', () => this.#dropQueue())
  }

  /** Requests without a complete answer. */
  get count(): number {
    return this.#running + this.#queue.length
  }

  add(exchange: HttpExchange): void {
    this.last = exchange
    if (this.#running < maxConcurrentRequests && this.#queue.length === 0) {
      this.#run(exchange)
      return
    }
    if (this.#waiting.count >= this.#waiting.max) {
      this.#socket.destroy()
      return
    }
    this.#waiting.count++
    this.#queue.push(exchange)
    this.#socket.pause()
  }

  #run(exchange: HttpExchange): void {
    this.#running++
    // 'close' means that the operating system has accepted the answer, so it no longer takes memory here.
    exchange.res.once('close', () => {
      this.#running--
      this.#next()
    })
    this.#start(exchange)
  }

  #next(): void {
    const exchange = this.#queue.shift()
    if (!exchange) return
    this.#waiting.count--
    if (this.#queue.length === 0) this.#socket.resume()
    this.#run(exchange)
  }

  #dropQueue(): void {
    this.#waiting.count -= this.#queue.length
    this.#queue = []
  }
}
