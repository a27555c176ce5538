import { setImmediate } from 'node:timers'
import type { CompiledQuery, QueryResult } from 'kysely'
import { MailkeepError } from '../errors.ts'
import type { Connection, SearchChange, Transaction, Work } from './connection.ts'

/** Work that waits for anything else would hold up every other write, or wait for itself. */
export const awaitsElsewhere =
  'Inside a transaction only statements may be awaited: in withIdempotencyKey(key, request, work) use only the client that `work` is given, not an outer one, and await nothing else.'

export const transactionIsOver =
  'This transaction has ended: await every call inside it, and use its client nowhere else.'

/** The calling code is wrong, not its input. */
export function misuse(message: string): MailkeepError {
  return new MailkeepError('internal', message)
}

/** One operation inside a transaction that others share: it must end by itself, awaiting nothing but statements. */
export class WorkTransaction implements Transaction {
  readonly effects: (() => void)[] = []
  readonly searchChanges: SearchChange[] = []
  readonly #connection: Connection
  #statements = 0
  /** Why it takes no more statements. As text: an error for each that ends well would cost as much as a statement. */
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

  /** Runs `work`; whoever keeps the transaction for later, or waits for something else inside, gets an error. */
  run<T>(work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      process.nextTick(() =>
        this.#watch((reason) => {
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

  /** Runs when no promise can go on by itself: whoever is neither done nor waiting for a statement waits elsewhere. */
  #watch(abort: (reason: string) => void): void {
    if (this.#ended !== undefined) return
    if (this.#statements > 0) setImmediate(() => this.#watch(abort))
    else abort(awaitsElsewhere)
  }
}
