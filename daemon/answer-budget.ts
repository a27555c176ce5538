import type { ServerResponse } from 'node:http'

/** Answers of up to so many bytes are always sent: ordinary work continues while large answers use up the budget. */
const smallAnswerBytes = 16 * 1024

/** What the answers under way may take together: those made, and not yet taken by their sockets. */
export class AnswerBudget {
  #leftBytes: number
  readonly #waiting = new Set<() => void>()

  constructor(bytes: number) {
    this.#leftBytes = bytes
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

  /** Whether there is room for the next portion of a stream, whose size is not known before it is made. */
  get hasRoom(): boolean {
    return this.#leftBytes > 0
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
