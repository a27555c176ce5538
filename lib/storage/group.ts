import type { CompiledQuery } from 'kysely'
import { MailkeepError } from '../errors.ts'
import { nextTurn } from '../time.ts'
import { closedMessage } from './closed.ts'
import { type Connection, plainQuery, type SearchChange, type StorageFigures, type Work } from './connection.ts'
import { WorkTransaction } from './operation.ts'

/** Where a group is written: one connection, one transaction at a time. */
export interface GroupTarget {
  readonly connection: Connection
  /** Begins a transaction that may write; false when another process holds the database: then it is tried again. */
  begin(): Promise<boolean>
  /** Whether the transaction is still there: a full disk takes it away, whatever savepoints it had. */
  inTransaction(): boolean
  /** Writes to the index of searches; what is written once a group costs half as much. */
  indexSearch(changes: readonly SearchChange[]): Promise<void>
  /** What callers are told when the database itself failed. */
  failure(error: unknown): unknown
  /**
   * Called after each COMMIT, before its operations are answered.
   *
   * @throws MailkeepError `unavailable`: the file that was written is not the one at the database's path any more.
   */
  checkFiles?(): void
}

export interface GroupLimits {
  /** Writes waiting at most; more are refused. */
  readonly waiting: number
  /** Operations in a group at most. */
  readonly size: number
  /** A group ends after this time. */
  readonly groupMs: number
  /** How long a write waits for another process's lock. */
  readonly lockMs: number
}

export const groupLimits: GroupLimits = { waiting: 10_000, size: 64, groupMs: 5, lockMs: 5000 }

const savepoint = plainQuery('savepoint mailkeep')
const release = plainQuery('release mailkeep')
const undo = plainQuery('rollback to mailkeep')
const commit = plainQuery('commit')
const rollback = plainQuery('rollback')

interface Waiting {
  readonly since: number
  readonly work: Work<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** How an operation of a group ended; it is told only after the group's COMMIT. */
type Ended = { waiting: Waiting; effects: readonly (() => void)[]; searchChanges: readonly SearchChange[] } & (
  | { ok: true; value: unknown }
  | { ok: false; error: unknown }
)

/**
 * Group commit: writes that arrive while one is being committed share the next transaction, each in a savepoint of
 * its own, strictly one after another, and are answered after the one COMMIT.
 */
export class GroupCommit {
  readonly #target: GroupTarget
  readonly #limits: GroupLimits
  #queue: Waiting[] = []
  /** What is done between two transactions. */
  readonly #between: (() => Promise<void>)[] = []
  #draining: Promise<void> | undefined
  #closed = false
  readonly #sizes: number[]

  constructor(target: GroupTarget, limits: GroupLimits = groupLimits) {
    this.#target = target
    this.#limits = limits
    this.#sizes = new Array(limits.size + 1).fill(0)
  }

  figures(): StorageFigures {
    return { writesWaiting: this.#queue.length, groupSizes: [...this.#sizes] }
  }

  /** @throws MailkeepError `unavailable`: closing, too many writes waiting, or locked for too long. */
  write<T>(work: Work<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new MailkeepError('unavailable', closedMessage))
    if (this.#queue.length >= this.#limits.waiting) {
      return Promise.reject(new MailkeepError('unavailable', 'Too many writes are waiting: try again shortly.'))
    }
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ since: performance.now(), work, resolve: resolve as (value: unknown) => void, reject })
      this.#draining ??= this.#drain()
    })
  }

  /** Runs a statement that no transaction may have around it, as soon as none is open. */
  between(query: CompiledQuery): Promise<void> {
    if (this.#closed) return Promise.reject(new MailkeepError('unavailable', closedMessage))
    return new Promise((resolve, reject) => {
      const run = () => this.#target.connection.executeQuery(query)
      this.#between.push(() =>
        run().then(
          () => resolve(),
          (error) => reject(this.#target.failure(error)),
        ),
      )
      this.#draining ??= this.#drain()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#draining
  }

  async #drain(): Promise<void> {
    // What arrives in one turn of the event loop makes one group.
    await nextTurn()
    while (this.#queue.length > 0 || this.#between.length > 0) {
      await this.#between.shift()?.()
      if (this.#queue.length > 0 && (await this.#begin())) await this.#group()
      await nextTurn()
    }
    this.#draining = undefined
  }

  async #begin(): Promise<boolean> {
    try {
      return await this.#beginUnless(() => {
        this.#rejectLate()
        return this.#queue.length === 0
      })
    } catch (error) {
      this.#rejectAll(this.#target.failure(error))
      return false
    }
  }

  /** Waits for other processes without blocking the thread: the holder may be a handle of this very process. */
  async #beginUnless(givesUp: () => boolean): Promise<boolean> {
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 20)) {
      if (await this.#target.begin()) return true
      if (givesUp()) return false
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  #rejectLate(): void {
    const before = performance.now() - this.#limits.lockMs
    while (this.#queue.length > 0 && this.#queue[0]!.since <= before) {
      this.#queue.shift()!.reject(this.#lockedTooLong())
    }
  }

  #lockedTooLong(): MailkeepError {
    const seconds = this.#limits.lockMs / 1000
    return new MailkeepError(
      'unavailable',
      `The database was locked for ${seconds} s by another transaction. Inside a transaction of your own? Use mailkeep.using(trx).`,
    )
  }

  #rejectAll(error: unknown): void {
    const queue = this.#queue
    this.#queue = []
    for (const { reject } of queue) reject(error)
  }

  async #group(): Promise<void> {
    const { size, groupMs } = this.#limits
    const ends = performance.now() + groupMs
    const ended: Ended[] = []
    do {
      ended.push(await this.#run(this.#queue.shift()!))
    } while (this.#intact(ended) && ended.length < size && this.#queue.length > 0 && performance.now() < ends)
    if (this.#intact(ended) && (await this.#commit(ended))) {
      this.#tellAll(ended)
      return
    }
    await this.#rollBack()
    // Nobody was answered, and what failed may have failed for a neighbour's sake: each runs once more, alone.
    const lockEnds = performance.now() + this.#limits.lockMs
    for (const { waiting } of ended) await this.#alone(waiting, lockEnds)
  }

  /** Answers what has been committed. */
  #tellAll(ended: readonly Ended[]): void {
    try {
      this.#target.checkFiles?.()
    } catch (error) {
      // Not run again: should the file come back, what was committed is in it.
      for (const each of ended) tell(each.ok ? { ...each, ok: false, error } : each)
      return
    }
    for (const each of ended) tell(each)
  }

  #intact(ended: readonly Ended[]): boolean {
    // Only an error can have taken the transaction away.
    return ended.at(-1)!.ok || this.#target.inTransaction()
  }

  async #run(waiting: Waiting): Promise<Ended> {
    const { connection } = this.#target
    const operation = new WorkTransaction(connection)
    try {
      if (!connection.executeNow?.(savepoint)) await connection.executeQuery(savepoint)
      const value = await operation.run(waiting.work)
      if (!connection.executeNow?.(release)) await connection.executeQuery(release)
      const { effects, searchChanges } = operation
      return { waiting, effects, searchChanges, ok: true, value }
    } catch (error) {
      if (this.#target.inTransaction()) await this.#undo()
      return { waiting, effects: [], searchChanges: [], ok: false, error: this.#target.failure(error) }
    }
  }

  async #undo(): Promise<void> {
    try {
      await this.#target.connection.executeQuery(undo)
      await this.#target.connection.executeQuery(release)
    } catch {
      // What cannot be undone alone is undone as a whole.
      await this.#rollBack()
    }
  }

  async #commit(ended: readonly Ended[]): Promise<boolean> {
    try {
      await this.#index(ended)
      await this.#target.connection.executeQuery(commit)
      this.#sizes[ended.length]! += 1
      return true
    } catch {
      return false
    }
  }

  async #index(ended: readonly Ended[]): Promise<void> {
    const changes = ended.flatMap(({ searchChanges }) => searchChanges)
    if (changes.length > 0) await this.#target.indexSearch(netOf(changes))
  }

  async #rollBack(): Promise<void> {
    if (this.#target.inTransaction()) await this.#target.connection.executeQuery(rollback)
  }

  /** @param lockEnds All of a group wait for a lock as long as one. */
  async #alone(waiting: Waiting, lockEnds: number): Promise<void> {
    try {
      if (!(await this.#beginUnless(() => performance.now() >= lockEnds))) throw this.#lockedTooLong()
      const ended = await this.#run(waiting)
      if (this.#intact([ended])) {
        await this.#index([ended])
        await this.#target.connection.executeQuery(commit)
        this.#sizes[1]! += 1
      }
      this.#tellAll([ended])
    } catch (error) {
      await this.#rollBack()
      waiting.reject(this.#target.failure(error))
    }
  }
}

/** Several changes of one contact make one: from its first text to its last. */
function netOf(changes: readonly SearchChange[]): SearchChange[] {
  const net = new Map<number, SearchChange>()
  for (const change of changes) {
    const before = net.get(change.contactId)?.before
    net.set(change.contactId, before === undefined ? change : { ...change, before })
  }
  return [...net.values()].filter(({ before, after }) => before !== after)
}

function tell(ended: Ended): void {
  if (ended.ok) {
    ended.waiting.resolve(ended.value)
    for (const effect of ended.effects) effect()
  } else {
    ended.waiting.reject(ended.error)
  }
}
