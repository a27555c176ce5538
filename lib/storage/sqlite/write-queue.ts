import type { Work } from '../transaction.ts'

export interface QueuedWrite {
  /** 0 for no particular client. */
  readonly clientId: number
  readonly since: number
  /** Whether it has a transaction of its own: a migration, or a write whose group could not be committed. */
  readonly isAlone: boolean
  readonly work: Work<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * The writes that wait for the connection. Clients take turns. The writes of one client keep their order. Those of no
 * particular client have turns too, and no later write overtakes them: a host that subscribes a handler and then saves a
 * contact, without waiting, gets its event.
 */
export class WriteQueue {
  /** Writes that have run and must run again, before all others. */
  readonly #again: QueuedWrite[] = []
  /** The other writes by client, in the order of their turns. */
  readonly #clients = new Map<number, QueuedWrite[]>()
  #length = 0

  get length(): number {
    return this.#length
  }

  lengthOf(clientId: number): number {
    return this.#clients.get(clientId)?.length ?? 0
  }

  /** The write whose turn it is. */
  get first(): QueuedWrite | undefined {
    return this.#again[0] ?? this.#next()?.[0]
  }

  /** Returns the writes of the client whose turn it is. */
  #next(): QueuedWrite[] | undefined {
    const [next] = this.#clients.values()
    const own = this.#clients.get(0)
    return next && own && own[0]!.since <= next[0]!.since ? own : next
  }

  add(write: QueuedWrite): void {
    this.#length += 1
    const ofClient = this.#clients.get(write.clientId)
    if (ofClient) ofClient.push(write)
    else this.#clients.set(write.clientId, [write])
  }

  addAgain(writes: readonly QueuedWrite[]): void {
    this.#length += writes.length
    this.#again.unshift(...writes)
  }

  /** Removes the first write. Then it is the next client's turn. */
  take(): QueuedWrite {
    this.#length -= 1
    const again = this.#again.shift()
    if (again) return again
    const writes = this.#next()!
    const write = writes.shift()!
    this.#clients.delete(write.clientId)
    if (writes.length > 0) this.#clients.set(write.clientId, writes)
    return write
  }

  /** Removes the writes that wait since this time or longer. */
  takeLate(since: number): QueuedWrite[] {
    const late: QueuedWrite[] = []
    for (const writes of [this.#again, ...this.#clients.values()]) {
      while (writes.length > 0 && writes[0]!.since <= since) late.push(writes.shift()!)
    }
    for (const [clientId, writes] of this.#clients) if (writes.length === 0) this.#clients.delete(clientId)
    this.#length -= late.length
    return late
  }
}
