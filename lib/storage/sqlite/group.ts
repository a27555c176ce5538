import type { CompiledQuery, QueryResult } from 'kysely'
import { closed, MailkeepError } from '../../errors.ts'
import { nextTurn } from '../../time.ts'
import { type Connection, plainQuery } from '../connection.ts'
import type { SearchIndex, StorageFigures, TransactionOptions } from '../database.ts'
import { mergeChanges, type SearchChange, Transaction, type Work } from '../transaction.ts'
import { type QueuedWrite, WriteQueue } from './write-queue.ts'

/** The connection that group commit writes to. It runs one transaction at a time. */
export interface GroupTarget {
  readonly connection: Connection
  /** Begins a write transaction. Resolves to false when another connection holds the lock; the caller then retries. */
  begin(): Promise<boolean>
  /** Whether the transaction is still open. SQLite rolls all of it back, savepoints included, when the disk is full. */
  inTransaction(): boolean
  /** Counts the rows that the connection has changed, also in transactions. Absent if the host uses the connection too. */
  readonly countChanges: (() => number) | undefined
  /** Updates the search index. One call per group costs half as much as one call per write. */
  readonly indexSearch: SearchIndex['update']
  /** Maps a database error to the error that callers get. */
  toMailkeepError(error: unknown): unknown
  /**
   * Called after each COMMIT, before the promises of its writes resolve.
   *
   * @throws MailkeepError `unavailable`: the path of the database no longer leads to the file that was written.
   */
  checkFiles(): void
}

export interface GroupLimits {
  /** Maximum writes that wait, in all and of one client. Further writes are rejected. */
  readonly waiting: number
  readonly waitingOfClient: number
  /** Maximum writes in a group. */
  readonly size: number
  /** Maximum time for which a group accepts writes, unless the last COMMIT took longer. */
  readonly groupMs: number
  /** Maximum time that a write waits for another process's lock. */
  readonly lockMs: number
}

/** Short, because a busy process frees the lock only for a moment between two groups. */
const maxLockPauseMs = 2

/**
 * A savepoint takes a seventh of the time of a save, because SQLite copies every page before its first change in it. So
 * groups run without them. After a write has failed and left changes, this number of groups runs in savepoints.
 */
const groupsInSavepoints = 100

export const groupLimits: GroupLimits = { waiting: 10_000, waitingOfClient: 7500, size: 64, groupMs: 5, lockMs: 5000 }

const savepoint = plainQuery('savepoint mailkeep')
const release = plainQuery('release mailkeep')
const undo = plainQuery('rollback to mailkeep')
const commit = plainQuery('commit')
const rollback = plainQuery('rollback')

/**
 * Returns the error of a write that got no lock in time. The holder may be the host, if it awaits mailkeep inside its
 * own transaction.
 */
export function lockedTooLong(ms = groupLimits.lockMs): MailkeepError {
  const message = `The database was locked for ${ms / 1000} s by another transaction. Inside your own transaction? Use mailkeep.using(trx).`
  return new MailkeepError('unavailable', message)
}

/** The result of one write in a group. The caller gets it only after the group's COMMIT. */
type FinishedWrite = {
  waiting: QueuedWrite
  effects: readonly (() => void)[]
  searchChanges: readonly SearchChange[]
  /** Whether it has failed without a savepoint, after it had changed rows. */
  hasLeftChanges: boolean
} & ({ ok: true; value: unknown } | { ok: false; error: unknown })

/**
 * Group commit. Writes that arrive during a COMMIT share the next transaction. They run one after another, and their
 * promises resolve after the shared COMMIT. If one fails after it has changed rows, the transaction is rolled back, and its
 * writes run again, each in a savepoint. On a connection that the host may use too they always run in savepoints, because a
 * rollback would undo the host's changes.
 */
export class GroupCommit {
  readonly #target: GroupTarget
  readonly #limits: GroupLimits
  readonly #queue = new WriteQueue()
  /** Statements that wait for the gap between two transactions. */
  readonly #betweenTransactions: (() => Promise<void>)[] = []
  #draining: Promise<void> | undefined
  #closed = false
  /** Duration of the last COMMIT. A group may take as long, because many small groups would take longer for all. */
  #commitMs = 0
  /** Number of groups that are still to run in savepoints. */
  #groupsInSavepoints = 0
  /** Number of committed groups, by their size. */
  readonly #groupSizes: number[]

  constructor(target: GroupTarget, limits: GroupLimits = groupLimits) {
    this.#target = target
    this.#limits = limits
    this.#groupSizes = new Array(limits.size + 1).fill(0)
  }

  figures(): StorageFigures {
    return { writesWaiting: this.#queue.length, groupSizes: [...this.#groupSizes] }
  }

  /**
   * @param work May run more than once.
   * @param options.exclusive Whether it has a transaction of its own.
   * @throws MailkeepError `unavailable`: closing, too many writes waiting, or locked for too long.
   */
  write<T>(work: Work<T>, { exclusive = false, clientId = 0 }: TransactionOptions = {}): Promise<T> {
    if (this.#closed) return Promise.reject(closed())
    const { waiting, waitingOfClient } = this.#limits
    if (this.#queue.length >= waiting || this.#queue.lengthOf(clientId) >= waitingOfClient) {
      return Promise.reject(new MailkeepError('unavailable', 'Too many writes are waiting: try again shortly.'))
    }
    return new Promise<T>((resolve, reject) => {
      const settle = { resolve: resolve as (value: unknown) => void, reject }
      this.#queue.add({ clientId, since: performance.now(), isAlone: exclusive, work, ...settle })
      this.#draining ??= this.#drain()
    })
  }

  /** Runs a statement that is not allowed inside a transaction, such as VACUUM, as soon as none is open. */
  between<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#closed) return Promise.reject(closed())
    return new Promise((resolve, reject) => {
      const run = async () => this.#target.connection.run<R>(query)
      this.#betweenTransactions.push(() => run().then(resolve, (error) => reject(this.#target.toMailkeepError(error))))
      this.#draining ??= this.#drain()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#draining
  }

  async #drain(): Promise<void> {
    // Collect all writes of this turn of the event loop into one group.
    await nextTurn()
    while (this.#queue.length > 0 || this.#betweenTransactions.length > 0) {
      await this.#betweenTransactions.shift()?.()
      if (this.#queue.length > 0 && (await this.#begin())) await this.#runGroup()
      await nextTurn()
    }
    this.#draining = undefined
  }

  /**
   * Polls for the lock without blocking the thread, because another handle of this process may hold it.
   *
   * @returns False if no write waits any longer.
   */
  async #begin(): Promise<boolean> {
    try {
      for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, maxLockPauseMs)) {
        if (await this.#target.begin()) return true
        this.#rejectLate()
        if (this.#queue.length === 0) return false
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    } catch (error) {
      const waiting = this.#queue.takeLate(Number.POSITIVE_INFINITY)
      for (const { reject } of waiting) reject(this.#target.toMailkeepError(error))
      return false
    }
  }

  #rejectLate(): void {
    const { lockMs } = this.#limits
    for (const { reject } of this.#queue.takeLate(performance.now() - lockMs)) reject(lockedTooLong(lockMs))
  }

  async #runGroup(): Promise<void> {
    const { size, groupMs } = this.#limits
    const deadlineMs = performance.now() + Math.max(groupMs, this.#commitMs)
    const { isAlone } = this.#queue.first!
    const usesSavepoints = isAlone || this.#groupsInSavepoints > 0
    const finished: FinishedWrite[] = []
    const last = () => finished.at(-1)!
    do finished.push(await this.#run(this.#queue.take(), usesSavepoints))
    while (
      !isAlone &&
      !last().hasLeftChanges &&
      // Only an error can have ended the transaction.
      (last().ok || this.#target.inTransaction()) &&
      finished.length < size &&
      this.#queue.first?.isAlone === false &&
      performance.now() < deadlineMs
    )
    if (last().hasLeftChanges) {
      this.#groupsInSavepoints = groupsInSavepoints
      return await this.#retry(finished, false)
    }
    if (this.#groupsInSavepoints > 0) this.#groupsInSavepoints -= 1
    const failure = await this.#commit(finished)
    if (!failure) return this.#settle(finished)
    if (!isAlone) return await this.#retry(finished, true) // one write may have broken the others
    await this.#rollBack()
    finished[0]!.waiting.reject(failure.error)
  }

  /** Rolls the writes of a group back and runs them again. No caller has been answered yet. */
  async #retry(finished: readonly FinishedWrite[], isAlone: boolean): Promise<void> {
    await this.#rollBack()
    const since = performance.now()
    this.#queue.addAgain(finished.map(({ waiting }) => ({ ...waiting, since, isAlone })))
  }

  /** Settles the promises of writes that have been committed. */
  #settle(finished: readonly FinishedWrite[]): void {
    let lost: { readonly error: unknown } | undefined
    try {
      this.#target.checkFiles()
    } catch (error) {
      lost = { error } // Do not retry these writes. If the file is put back, it contains them.
    }
    for (const write of finished) {
      if (!write.ok || lost) write.waiting.reject(write.ok ? lost!.error : write.error)
      else {
        write.waiting.resolve(write.value)
        for (const effect of write.effects) effect()
      }
    }
  }

  async #run(waiting: QueuedWrite, usesSavepoints: boolean): Promise<FinishedWrite> {
    const { connection, countChanges } = this.#target
    const inTransaction = () => this.#target.inTransaction()
    const transaction = new Transaction(connection, { isOpen: inTransaction, mayPause: !!countChanges })
    const usesSavepoint = usesSavepoints || !countChanges
    let changedBefore = 0
    try {
      if (usesSavepoint) await connection.run(savepoint)
      else changedBefore = countChanges()
      const value = await transaction.perform(waiting.work)
      if (transaction.deferred.length > 0) await Promise.all(transaction.deferred)
      if (usesSavepoint) await connection.run(release)
      // SQLite has rolled the transaction back, and the work has ignored the error.
      else if (!inTransaction()) throw new Error('The transaction has ended before its commit.')
      const { effects, searchChanges } = transaction
      return { waiting, effects, searchChanges, hasLeftChanges: false, ok: true, value }
    } catch (error) {
      const hasLeftChanges = !usesSavepoint && inTransaction() && countChanges() !== changedBefore
      if (usesSavepoint && inTransaction()) await this.#undoSavepoint()
      const failed = { ok: false, error: this.#target.toMailkeepError(error) } as const
      return { waiting, effects: [], searchChanges: [], hasLeftChanges, ...failed }
    }
  }

  async #undoSavepoint(): Promise<void> {
    try {
      await this.#target.connection.run(undo)
      await this.#target.connection.run(release)
    } catch {
      // The savepoint is lost, so roll the whole transaction back.
      await this.#rollBack()
    }
  }

  /** @returns The error, if the writes were not committed. */
  async #commit(finished: readonly FinishedWrite[]): Promise<{ readonly error: unknown } | undefined> {
    const last = finished.at(-1)!
    if (!last.ok && !this.#target.inTransaction()) return { error: last.error }
    try {
      const changes = finished.flatMap(({ searchChanges }) => searchChanges)
      const { connection, indexSearch } = this.#target
      if (changes.length > 0) await indexSearch(connection, mergeChanges(changes))
      const startedMs = performance.now()
      await connection.run(commit)
      this.#commitMs = performance.now() - startedMs
      this.#groupSizes[finished.length]! += 1
      return undefined
    } catch (error) {
      return { error: this.#target.toMailkeepError(error) }
    }
  }

  /** If the rollback fails, the transaction stays open, and no further one begins. */
  async #rollBack(): Promise<void> {
    if (!this.#target.inTransaction()) return
    try {
      await this.#target.connection.run(rollback)
    } catch {} // The writes are retried, and fail as the next transaction does.
  }
}
