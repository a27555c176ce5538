import { setImmediate } from 'node:timers'
import type { CompiledQuery, QueryResult } from 'kysely'
import { MailkeepError } from '../errors.ts'
import type { Connection, SearchChange, Transaction, Work } from './connection.ts'

/** Reported when work awaits something other than a statement. It would block all other writes, or cause a deadlock. */
export const awaitsElsewhere =
  'Inside a transaction only statements may be awaited: in withIdempotencyKey(key, request, work) use only the client that `work` is given, not an outer one, and await nothing else.'

export const transactionIsOver =
  'This transaction has ended: await every call inside it, and use its client nowhere else.'

/** Returns the error for a mistake in the calling code, as opposed to wrong input. */
export function misuse(message: string): MailkeepError {
  return new MailkeepError('internal', message)
}

/** The transaction of one piece of work, in a database transaction shared with others. It may await only statements. */
export class WorkTransaction implements Transaction {
  readonly effects: (() => void)[] = []
  readonly searchChanges: SearchChange[] = []
  readonly #connection: Connection
  #statements = 0
  /** Why it refuses further statements. A string, because creating an Error each time costs as much as a statement. */
  #ended: string | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  afterCommit(effect: () => void): void {
    this.effects.push(effect)
  }

  indexSearch(change: SearchChange): void {
    this.searchChanges.push(change)
  }

  get readsRowByRow(): boolean | undefined {
    return this.#connection.readsRowByRow
  }

  executeNow<R>(query: CompiledQuery): QueryResult<R> | undefined {
    if (this.#ended !== undefined) throw misuse(this.#ended)
    return this.#connection.executeNow?.(query)
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#ended !== undefined) throw misuse(this.#ended)
    this.#statements += 1
    try {
      return await this.#connection.executeQuery(query)
    } finally {
      this.#statements -= 1
    }
  }

  /** Runs `work`. Use of the transaction after its end fails, and so does work that awaits something else. */
  run<T>(work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      process.nextTick(() =>
        this.#abortIfIdle((reason) => {
          this.#ended ??= reason
          reject(misuse(reason))
        }),
      )
      const end = () => {
        this.#ended ??= transactionIsOver
      }
      work(this).then(resolve, reject).finally(end)
    })
  }

  /**
   * Runs when no microtask is pending. Work that has neither finished nor a running statement awaits something else.
   */
  #abortIfIdle(abort: (reason: string) => void): void {
    if (this.#ended !== undefined) return
    if (this.#statements > 0) setImmediate(() => this.#abortIfIdle(abort))
    else abort(awaitsElsewhere)
  }
}
