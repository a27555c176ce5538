import { MailkeepError } from '../../lib/index.ts'
import { ClientTurns } from '../../lib/internal.ts'
import type { HttpExchange } from './request-body.ts'
import { SharedMemory } from './shared-memory.ts'

/** Answers up to this size do not count, so that small requests still work while large answers use up the budget. */
const smallAnswerBytes = 16 * 1024

/** Maximum large answers that are built concurrently. The others wait, so that small reads can run in between. */
const maxBuilding = 16

/** Those of one client, whose listings may take long. The rest is left to other clients. */
const maxBuildingPerClient = 12

/** Maximum requests that wait to build a large answer, in all and of one client. More are refused. */
const maxWaitingBuilds = 1000
const maxWaitingBuildsPerClient = 750

type Answering = Pick<HttpExchange, 'res' | 'clientId'>

/** Memory for all answers that are built but not yet accepted by their sockets. */
export class AnswerBudget {
  readonly #memory: SharedMemory
  readonly #minFreeBytes: number
  readonly #builds = new ClientTurns({ ofClient: maxBuildingPerClient, inAll: maxBuilding })
  /** The streams that wait for room, by client. A function wakes its stream. */
  readonly #waiting = new Map<number | undefined, Set<() => void>>()

  constructor(bytes: number) {
    this.#memory = new SharedMemory(bytes)
    this.#minFreeBytes = bytes / 16
  }

  /**
   * Builds an answer of a client that may be large, when it is its turn.
   *
   * @throws MailkeepError `unavailable`: the budget is used up, or too many requests wait.
   */
  async build<T>({ res, clientId }: Answering, make: () => Promise<T>): Promise<T> {
    const { waiting } = this.#builds
    if (waiting >= maxWaitingBuilds || this.#builds.waitingOf(clientId!) >= maxWaitingBuildsPerClient) {
      throw answersOverloaded()
    }
    const end = await this.#builds.begin(clientId!)
    try {
      if (res.destroyed || !this.hasRoom(clientId)) throw answersOverloaded()
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
  take({ res, clientId }: Answering, bytes: number): boolean {
    if (bytes <= smallAnswerBytes) return true
    if (this.#memory.leftFor(clientId) < bytes) return false
    this.reserve(clientId, bytes)
    res.once('close', () => this.release(clientId, bytes))
    return true
  }

  /** Whether enough is left for an answer of unknown size. */
  hasRoom(clientId: number | undefined): boolean {
    return this.#memory.leftFor(clientId) >= this.#minFreeBytes
  }

  /** Resolves when there is room, or when the response is closed. The streams of a client are woken in FIFO order. */
  async waitForRoom({ res, clientId }: Answering): Promise<void> {
    while (!this.hasRoom(clientId) && !res.destroyed) {
      await new Promise<void>((resolve) => {
        const streams = this.#waiting.get(clientId) ?? new Set()
        const wake = () => {
          streams.delete(wake)
          if (streams.size === 0) this.#waiting.delete(clientId)
          res.off('close', wake)
          resolve()
        }
        this.#waiting.set(clientId, streams.add(wake))
        res.once('close', wake)
      })
    }
  }

  /** Reserves bytes for a chunk in memory. The sum may exceed the budget. */
  reserve(clientId: number | undefined, bytes: number): void {
    this.#memory.take(clientId, bytes)
  }

  /** Releases bytes. Wakes the next waiting stream of each client that has room. */
  release(clientId: number | undefined, bytes: number): void {
    this.#memory.take(clientId, -bytes)
    for (const [waitingId, [wake]] of [...this.#waiting]) if (this.hasRoom(waitingId)) wake!()
  }
}

/** Returns the error of a response that is not sent. The change that it reports may be committed. */
export function answersOverloaded(): MailkeepError {
  const message =
    'Too many large responses are in progress. A change may be stored already: check it, or repeat it with the same Idempotency-Key.'
  return new MailkeepError('unavailable', message)
}
