import { clearImmediate, setImmediate } from 'node:timers'
import { MailkeepError } from '../errors.ts'
import { nextTurn } from '../time.ts'
import type { Connection, Query, Result } from './connection.ts'
import type { Scope } from './statement.ts'

/** A scope with an open transaction. */
export type Within<S extends Scope> = S & { readonly transaction: Transaction }

/**
 * Runs `work` as one transaction, or as part of the transaction that is already open.
 *
 * @param work May await only statements. It may run several times, so side effects must go to `transaction.afterCommit`.
 */
export function transact<S extends Scope, T>(scope: S, work: (within: Within<S>) => Promise<T>): Promise<T> {
  if (scope.transaction) return scope.transaction.part(() => work(scope as Within<S>))
  const { clientId } = scope
  return scope.storage.transaction((transaction) => work({ ...scope, transaction }), { clientId })
}

/** The search text of a contact before and after a change; null when there is no contact. */
export interface SearchChange {
  readonly clientId: number
  readonly contactId: number
  readonly before: string | null
  readonly after: string | null
}

/** Merges several changes of one contact into one, from its first text to its last. */
export function mergeChanges(changes: readonly SearchChange[]): SearchChange[] {
  const net = new Map<number, SearchChange>()
  for (const change of changes) {
    const before = net.get(change.contactId)?.before
    net.set(change.contactId, before === undefined ? change : { ...change, before })
  }
  return [...net.values()].filter(({ before, after }) => before !== after)
}

/** The body of a transaction. It may run more than once, so it must do nothing but run statements. */
export type Work<T> = (transaction: Transaction) => Promise<T>

/** Reported when work awaits something other than a statement. It would block all other writes, or cause a deadlock. */
const awaitsElsewhere =
  'Inside a transaction only statements may be awaited: in withIdempotencyKey(key, request, work) use only the client that `work` is given, not an outer one, and await nothing else.'

const transactionIsOver = 'This transaction has ended: await every call inside it, and use its client nowhere else.'

const notAwaited =
  'The work of this transaction ended before one of its operations: await every call inside it, one after another.'

/** Returns the error for a mistake in the calling code, as opposed to wrong input. */
export function misuse(message: string): MailkeepError {
  return new MailkeepError('internal', message)
}

/** The last of the pauses. Transactions on several connections may pause together, and one continues in each turn. */
let lastPause: Promise<void> = Promise.resolve()

const isRead = /^\s*select\b/i

interface ConnectionTraits {
  /**
   * Whether the transaction of the database is still open. After a full disk it is not, and statements that were not awaited
   * would be committed one by one.
   */
  readonly isOpen?: () => boolean
  /** Whether no other work uses the connection before the transaction ends. */
  readonly mayPause?: boolean
}

/** The transaction of one piece of work. On SQLite it shares a transaction of the database with others. */
export class Transaction implements Connection {
  /** Functions to run after the commit. */
  readonly effects: (() => void)[] = []
  /** Changes of the search index, to be applied before the commit. */
  readonly searchChanges: SearchChange[] = []
  /** Statements whose results are not needed; see `defer`. */
  readonly deferred: Promise<unknown>[] = []
  readonly #connection: Connection
  readonly #isOpen: () => boolean
  readonly #mayPause: boolean
  /** The last error of a synchronous driver. */
  #failure: { readonly error: unknown } | undefined
  /** Number of running statements. */
  #running = 0
  /** Number of statements so far that may have changed rows. */
  #writes = 0
  /** Number of parts that have not ended. */
  #openParts = 0
  /** The error of a part that had written before it failed. */
  #broken: { readonly error: unknown } | undefined
  /** Why it refuses further statements. A string, because creating an Error each time costs as much as a statement. */
  #ended: string | undefined
  #idleCheck: NodeJS.Immediate | undefined
  #abort: ((reason: string) => void) | undefined

  constructor(connection: Connection, { isOpen = () => true, mayPause = false }: ConnectionTraits = {}) {
    this.#connection = connection
    this.#isOpen = isOpen
    this.#mayPause = mayPause
  }

  /** Registers a function to run after the commit. It does not run if the transaction is rolled back. */
  afterCommit(effect: () => void): void {
    this.effects.push(effect)
  }

  /**
   * Takes a statement whose result is not needed, so that the next statements and the commit are sent behind it at once.
   * If it fails, the transaction fails with its error.
   *
   * @param statement One statement that was sent already.
   */
  defer(statement: Promise<unknown>): void {
    statement.catch(() => {}) // the commit reports it
    // A statement after the end was refused. The work has failed with an error of its own.
    if (this.#ended === undefined) this.deferred.push(statement)
  }

  run<R>(query: Query): Result<R> {
    if (this.#ended !== undefined) throw misuse(this.#ended)
    if (this.#failure && !this.#isOpen()) throw this.#failure.error
    if (!isRead.test(query.sql)) this.#writes += 1
    let result: Result<R>
    try {
      result = this.#connection.run<R>(query)
    } catch (error) {
      this.#failure = { error }
      throw error
    }
    return 'then' in result ? this.waitFor(result) : result
  }

  /**
   * Runs an operation as a part of the work. If it fails after it has written, the whole work fails with its error, even if
   * the host's code catches that error. The work also fails if it ends before the operation.
   */
  async part<T>(run: () => Promise<T>): Promise<T> {
    const before = this.#writes
    this.#openParts += 1
    try {
      return await run()
    } catch (error) {
      if (this.#writes > before) this.#broken ??= { error }
      throw error
    } finally {
      this.#openParts -= 1
    }
  }

  /** Runs `work`. Use of the transaction after its end fails, and so does work that awaits something else. */
  perform<T>(work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#abort = (reason) => {
        this.#ended ??= reason
        reject(misuse(reason))
      }
      process.nextTick(() => this.#abortIfIdle())
      const endWith =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          this.end()
          settle(value)
        }
      const succeed = (value: T) => {
        // The rest of a part that the work did not await would be refused, and half of it committed.
        if (this.#openParts > 0) this.#broken ??= { error: misuse(notAwaited) }
        return this.#broken ? reject(this.#broken.error) : resolve(value)
      }
      work(this).then(endWith(succeed), endWith(reject))
    })
  }

  /** Refuses further statements. */
  end(): void {
    this.#ended ??= transactionIsOver
    clearImmediate(this.#idleCheck)
  }

  /**
   * Lets the work await something that ends soon by itself: a statement, or a module that is loaded. It delays all other
   * writes to a SQLite file.
   */
  async waitFor<T>(result: Promise<T>): Promise<T> {
    clearImmediate(this.#idleCheck)
    this.#running += 1
    try {
      return await result
    } finally {
      this.#running -= 1
      if (this.#abort && this.#ended === undefined) this.#idleCheck = setImmediate(() => this.#abortIfIdle())
    }
  }

  /**
   * Lets other callbacks of the process run, such as other callers' reads. A synchronous driver blocks them until the end
   * of the transaction. Does nothing on a connection that others use, whose statements would enter the transaction.
   */
  async pause(): Promise<void> {
    if (!this.#mayPause) return
    lastPause = lastPause.then(nextTurn)
    await this.waitFor(lastPause)
  }

  /**
   * Aborts work that has neither finished nor a running statement, because it awaits something else. Runs when no
   * microtask is pending, so work that continues after a statement has had its turn.
   */
  #abortIfIdle(): void {
    if (this.#ended === undefined && this.#running === 0) this.#abort?.(awaitsElsewhere)
  }
}
