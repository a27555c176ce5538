import type { CompiledQuery, QueryResult } from 'kysely'
import type { Connection, Transaction, Work } from './connection.ts'

/** One operation inside a transaction that others share: it must end by itself, awaiting nothing but statements. */
export class Operation implements Transaction {
  readonly effects: (() => void)[] = []
  readonly #connection: Connection
  #statements = 0
  #ended: Error | undefined
  #watch: NodeJS.Immediate | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  afterCommit(effect: () => void): void {
    this.effects.push(effect)
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#ended) throw this.#ended
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
      const end = (error: Error) => {
        this.#ended ??= error
        clearImmediate(this.#watch)
      }
      this.#watchOver((error) => {
        end(error)
        reject(error)
      })
      work(this)
        .then(resolve, reject)
        .finally(() => end(new Error('This transaction has ended.')))
    })
  }

  #watchOver(abort: (error: Error) => void): void {
    this.#watch = setImmediate(() => {
      // Statements answer before the event loop turns, or are counted: whoever is neither done nor counted waits for something else.
      if (this.#statements > 0) return this.#watchOver(abort)
      abort(new Error('Inside a transaction only statements may be awaited: it holds up every other write.'))
    })
  }
}
