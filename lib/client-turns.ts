import PQueue from 'p-queue'

/** Limits how much work runs at a time, in all and of one client, so that no client keeps others waiting for long. */
export class ClientTurns {
  readonly #ofClient: number
  readonly #clients = new Map<number, PQueue>()
  readonly #all: PQueue
  #waiting = 0

  /** @param limits Maximum pieces of work at a time: of each client, and of all together. Default of the second: any. */
  constructor({ ofClient, inAll = Number.POSITIVE_INFINITY }: { readonly ofClient: number; readonly inAll?: number }) {
    this.#ofClient = ofClient
    this.#all = new PQueue({ concurrency: inAll })
  }

  /** Number of callers that wait. */
  get waiting(): number {
    return this.#waiting
  }

  /** Number of the client's callers that wait for other work of this client to end. */
  waitingOf(clientId: number): number {
    return this.#clients.get(clientId)?.size ?? 0
  }

  /** Resolves when it is the caller's turn, in FIFO order. @returns A function to call when the work has ended. */
  begin(clientId: number): Promise<() => void> {
    const client = this.#queueOf(clientId)
    this.#waiting += 1
    return new Promise((begin) => {
      const work = () => {
        this.#waiting -= 1
        return new Promise<void>(begin)
      }
      void client.add(() => this.#all.add(work))
    })
  }

  #queueOf(clientId: number): PQueue {
    const known = this.#clients.get(clientId)
    if (known) return known
    const queue = new PQueue({ concurrency: this.#ofClient })
    queue.on('idle', () => this.#clients.delete(clientId))
    this.#clients.set(clientId, queue)
    return queue
  }
}
