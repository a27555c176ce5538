import PQueue from 'p-queue'

/**
 * Leaves connections to other clients: one client uses at most nine of ten at a time. Otherwise a client with many
 * requests that wait for one lock would keep all connections, and every other client would wait for its locks too.
 */
export class ClientShares {
  readonly #share: number
  readonly #queues = new Map<number, PQueue>()
  #waiting = 0

  /** @param connections Number of connections in the pool. */
  constructor(connections: number) {
    this.#share = Math.ceil(connections * 0.9)
  }

  /** Number of calls that wait until their client uses fewer connections. */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * Resolves when the client may use one more connection, in FIFO order.
   *
   * @returns A function to call when the connection is no longer used.
   */
  take(clientId: number): Promise<() => void> {
    const queue = this.#queueOf(clientId)
    this.#waiting += 1
    return new Promise((resolve) => {
      void queue.add(() => {
        this.#waiting -= 1
        return new Promise<void>(resolve)
      })
    })
  }

  #queueOf(clientId: number): PQueue {
    const known = this.#queues.get(clientId)
    if (known) return known
    const queue = new PQueue({ concurrency: this.#share })
    queue.on('idle', () => this.#queues.delete(clientId))
    this.#queues.set(clientId, queue)
    return queue
  }
}
