import type { ServerResponse } from 'node:http'
import { MailkeepError } from '../../lib/index.ts'
import { ClientTurns } from '../../lib/internal.ts'

/** Answers up to this size do not count, so that small requests still work while large answers use up the budget. */
const smallAnswerBytes = 16 * 1024

/** Maximum large answers that are built concurrently. The others wait, so that small reads can run in between. */
const maxBuilding = 16

/** Those of one client, whose listings may take long. The rest is left to other clients. */
const maxBuildingPerClient = 12

/** Maximum requests that wait to build a large answer, in all and of one client. More are refused. */
const maxWaitingBuilds = 1000
const maxWaitingBuildsPerClient = 750

/** Memory for all answers that are built but not yet accepted by their sockets. */
export class AnswerBudget {
  #leftBytes: number
  readonly #minFreeBytes: number
  readonly #builds = new ClientTurns({ ofClient: maxBuildingPerClient, inAll: maxBuilding })
  readonly #waiting = new Set<() => void>()

  constructor(bytes: number) {
    this.#leftBytes = bytes
    this.#minFreeBytes = bytes / 16
  }

  /**
   * Builds an answer of a client that may be large, when it is its turn.
   *
   * @throws MailkeepError `unavailable`: the budget is used up, or too many requests wait.
   */
  async build<T>(res: ServerResponse, clientId: number, make: () => Promise<T>): Promise<T> {
    const { waiting } = this.#builds
    if (waiting >= maxWaitingBuilds || this.#builds.waitingOf(clientId) >= maxWaitingBuildsPerClient) {
      throw answersOverloaded()
    }
    const end = await this.#builds.begin(clientId)
    try {
      if (res.destroyed || !this.hasRoom) throw answersOverloaded()
      return await make()
    } finally {
      end()
    }
  }

  /**
   * Reserves the bytes of a whole answer until its response is closed.
   *
   * @returns Whether the answer fits the budget.
   */
  take(bytes: number, res: ServerResponse): boolean {
    if (bytes <= smallAnswerBytes) return true
    if (this.#leftBytes < bytes) return false
    this.reserve(bytes)
    res.once('close', () => this.release(bytes))
    return true
  }

  /** Whether enough is left for an answer of unknown size. */
  get hasRoom(): boolean {
    return this.#leftBytes >= this.#minFreeBytes
  }

  /** Resolves when there is room, or when the response is closed. Wakes one waiter at a time, in FIFO order. */
  async waitForRoom(res: ServerResponse): Promise<void> {
    while (!this.hasRoom && !res.destroyed) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiting.delete(wake)
          res.off('close', wake)
          resolve()
        }
        this.#waiting.add(wake)
        res.once('close', wake)
      })
    }
  }

  /** Reserves bytes for a chunk in memory. The sum may exceed the budget. */
  reserve(bytes: number): void {
    this.release(-bytes)
  }

  /** Releases bytes. If there is room, wakes the next waiting stream. */
  release(bytes: number): void {
    this.#leftBytes += bytes
    const [next] = this.#waiting
    if (this.hasRoom) next?.()
  }
}

/** Returns the error of a response that is not sent. The change that it reports may be committed. */
export function answersOverloaded(): MailkeepError {
  const message =
    'Too many large responses are in progress. A change may be stored already: check it, or repeat it with the same Idempotency-Key.'
  return new MailkeepError('unavailable', message)
}
