import type { Transaction } from './connection.ts'
import type { Scope } from './statement.ts'

/** A scope with an open transaction. */
export type Within<S extends Scope> = S & { readonly transaction: Transaction }

/**
 * Runs `work` as one transaction, or as part of the transaction that is already open.
 *
 * @param work May await only statements. It may run twice, so side effects must go to `transaction.afterCommit`.
 */
export function transact<S extends Scope, T>(scope: S, work: (within: Within<S>) => Promise<T>): Promise<T> {
  if (isWithin(scope)) return work(scope)
  return scope.storage.write((transaction) => work({ ...scope, transaction }))
}

function isWithin<S extends Scope>(scope: S): scope is Within<S> {
  return scope.transaction !== undefined
}
