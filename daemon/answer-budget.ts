import type { ServerResponse } from 'node:http'
import { MailkeepError } from '../lib/index.ts'

/** Answers of up to so many bytes are always sent: ordinary work continues while large answers use up the budget. */
const smallAnswerBytes = 16 * 1024

/** Large answers that are made at a time. The others wait, so that reads of other requests come between. */
const maxBuilding = 16

/** Requests that wait to make a large answer; more are refused. */
const maxWaitingBuilds = 1000

/** What the answers under way may take together: those made, and not yet taken by their sockets. */
export class AnswerBudget {
  #leftBytes: number
  readonly #spareBytes: number
  #building = 0
  readonly #builds: (() => void)[] = []
  readonly #waiting = new Set<() => void>()

  constructor(bytes: number) {
    this.#leftBytes = bytes
    this.#spareBytes = bytes / 16
  }

  /**
   * Makes an answer that may be large, when it is its turn. First in, first out.
   *
   * @throws MailkeepError `unavailable`: there is no room for another one, or too many wait.
   */
  async build<T>(res: ServerResponse, make: () => Promise<T>): Promise<T> {
    if (this.#builds.length >= maxWaitingBuilds) throw noRoom()
    if (this.#building >= maxBuilding) await new Promise<void>((resolve) => this.#builds.push(resolve))
    else this.#building++
    try {
      if (res.destroyed || !this.hasRoom) throw noRoom()
      return await make()
    } finally {
      const next = this.#builds.shift()
      if (next) next()
      else this.#building--
    }
  }

  /**
   * Takes the bytes of a whole answer until its response is closed.
   *
   * @returns whether there was room for them.
   */
  take(bytes: number, res: ServerResponse): boolean {
    if (bytes <= smallAnswerBytes) return true
    if (this.#leftBytes < bytes) return false
    this.hold(bytes)
    res.once('close', () => this.release(bytes))
    return true
  }

  /** Whether there is room for something whose size is not known before it is made. */
  get hasRoom(): boolean {
    return this.#leftBytes >= this.#spareBytes
  }

  /** Resolves when there is room, or when the response is closed. First in, first out, one at a time. */
  async room(res: ServerResponse): Promise<void> {
    while (!this.hasRoom && !res.destroyed) {
      await new Promise<void>((resolve) => {
        const settle = () => {
          this.#waiting.delete(settle)
          res.off('close', settle)
          resolve()
        }
        this.#waiting.add(settle)
        res.once('close', settle)
      })
    }
  }

  /** Takes the bytes of a portion that is made already. */
  hold(bytes: number): void {
    this.release(-bytes)
  }

  /** Gives bytes back. If there is room, the next stream that waits makes its portion. */
  release(bytes: number): void {
    this.#leftBytes += bytes
    const [next] = this.#waiting
    if (this.hasRoom) next?.()
  }
}

/** Of a change the caller is told as well that it may be done. */
export function noRoom(): MailkeepError {
  const message = 'Too many large answers are on their way. What you asked for may be done: repeat the request.'
  return new MailkeepError('unavailable', message)
}
