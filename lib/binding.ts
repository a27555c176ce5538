/** Binds tables of operations to a context. */
import type { ClientOperations } from './bind.ts'
import type { Context } from './context.ts'
import type { IdempotentResult } from './idempotency/schema.ts'

/** The operations without their first parameter. */
type Bound<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends (ctx: Context, ...args: infer Args) => infer Result
    ? (...args: Args) => Result
    : never
}

/** Returns the operations of a table, bound to a context. */
export function bind<Table extends Readonly<Record<string, (ctx: Context, ...args: never[]) => unknown>>>(
  ctx: Context,
  table: Table,
): Bound<Table> {
  return Object.fromEntries(
    Object.entries(table).map(([name, operation]) => [name, operation.bind(undefined, ctx)]),
  ) as Bound<Table>
}

/** An API whose inputs have the type `unknown`, except ids. Every operation validates its input. */
export type Unchecked<Api> = {
  readonly [Name in keyof Api]: Api[Name] extends (...args: infer Args) => infer Result
    ? (...args: { [At in keyof Args]: number extends NonNullable<Args[At]> ? Args[At] : unknown }) => Result
    : Unchecked<Api[Name]>
}

/** Returns the same client, typed for input that is not validated yet, such as decoded JSON and query strings. */
export function unchecked(client: ClientOperations): Unchecked<ClientOperations> {
  return client as Unchecked<ClientOperations>
}

/** Operations that are safe to repeat, on `mailkeep.forClient(id)`. */
export interface IdempotencyApi {
  /**
   * Runs `work` at most once for an idempotency key of the client. The key is committed in the same transaction as the
   * work's changes. For 24 hours, a repeated call returns the first result and does nothing. If `work` throws, its
   * changes and the key are rolled back. Stored results are encrypted, and are deleted with the contacts that they
   * contain.
   *
   * @param key 1–255 characters. Use a random key for each task.
   * @param request The parameters of the request, as JSON. They distinguish a repeat from another request.
   * @param work Receives the client's operations, which run in one transaction. It may await only these, one after
   *   another, and no operation of an outer client. It may run twice; then the first run is rolled back. On SQLite,
   *   other writes wait for it, so it should change at most some hundreds of rows.
   * @throws MailkeepError `idempotency_mismatch`: the key was used for another request; `conflict`: the first request
   *   with this key is still running, or its result was encrypted with a key that is no longer configured;
   *   `validation_failed`; and the errors that `work` throws.
   * @example
   * const { answer } = await acme.withIdempotencyKey(order.id, order, (client) => client.contacts.addToList(1, order.buyer))
   */
  withIdempotencyKey<T>(
    key: string,
    request: unknown,
    work: (client: ClientOperations) => Promise<T>,
  ): Promise<IdempotentResult<T>>
}
