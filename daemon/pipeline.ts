import type { Socket } from 'node:net'
import type { Owed } from './broken-request.ts'
import type { HttpExchange } from './request-body.ts'

/** Requests of one connection that are worked on at a time: answers that nobody takes stay in memory. */
const mostUnderWay = 8

/** Requests that wait behind those, on all connections of a server. */
export interface Waiting {
  count: number
  readonly most: number
}

/**
 * What one client sends ahead of its answers. While anything of it waits, no more is read; what was read already
 * waits here. When too much does, on all connections together, the connection is cut.
 */
export class Pipeline implements Owed {
  last: HttpExchange | undefined
  readonly #socket: Socket
  readonly #start: (turn: HttpExchange) => void
  readonly #waiting: Waiting
  #underWay = 0
  #queue: HttpExchange[] = []

  constructor(socket: Socket, waiting: Waiting, start: (turn: HttpExchange) => void) {
    this.#socket = socket
    this.#waiting = waiting
    this.#start = start
    socket.once('close', () => this.#forget())
  }

  /** Requests without a complete answer. */
  get count(): number {
    return this.#underWay + this.#queue.length
  }

  add(turn: HttpExchange): void {
    this.last = turn
    if (this.#underWay < mostUnderWay && this.#queue.length === 0) {
      this.#begin(turn)
      return
    }
    if (this.#waiting.count >= this.#waiting.most) {
      this.#socket.destroy()
      return
    }
    this.#waiting.count++
    this.#queue.push(turn)
    this.#socket.pause()
  }

  #begin(turn: HttpExchange): void {
    this.#underWay++
    // The system has taken the answer: it is in memory no more.
    turn.res.once('close', () => {
      this.#underWay--
      this.#next()
    })
    this.#start(turn)
  }

  #next(): void {
    const turn = this.#queue.shift()
    if (!turn) return
    this.#waiting.count--
    if (this.#queue.length === 0) this.#socket.resume()
    this.#begin(turn)
  }

  #forget(): void {
    this.#waiting.count -= this.#queue.length
    this.#queue = []
  }
}
