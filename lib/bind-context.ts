import type { ClientOperations } from './client-api.ts'
import type { Context } from './context.ts'

/** The operations without their first parameter. */
type Bound<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends (ctx: Context, ...args: infer Args) => infer Result
    ? (...args: Args) => Result
    : never
}

/** Binds the operations of a table to a context. */
export function bind<Table extends Readonly<Record<string, (ctx: Context, ...args: never[]) => unknown>>>(
  ctx: Context,
  table: Table,
): Bound<Table> {
  // Object.fromEntries() takes twice as long, and each idempotent request binds all operations again.
  const bound: Record<string, unknown> = {}
  for (const name in table) bound[name] = table[name]!.bind(undefined, ctx)
  return bound as Bound<Table>
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
