import type { components } from './api.ts'

type Routes = components['schemas']['Routes']

/** The type of the query, the body or the answer of a route; never if it has none. */
type PartOf<Route, Part extends 'query' | 'body' | 'answer'> = Route extends keyof Routes
  ? Part extends keyof Routes[Route]
    ? Routes[Route][Part]
    : never
  : never

/** One number for each id in the path. */
type Ids<Text> = Text extends `${string}{${string}}${infer Rest}` ? [id: number, ...Ids<Rest>] : []

/** The query's parameters. The API's `tags[]` is `tags` here. */
type Plain<Query> = { [Name in keyof Query as Name extends `${infer Short}[]` ? Short : Name]: Query[Name] }

/** The same, where each optional field may also be undefined, and no array is changed. */
type Sendable<T> = T extends readonly (infer Item)[]
  ? readonly Sendable<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Sendable<T[Name]> | Absent<T, Name> }
    : T

/**
 * Undefined, if the field may be absent. A filter's attribute may not: a request cannot have an undefined value, and without
 * the filter every contact matches. A contact's attribute may, as it may be null.
 */
type Absent<T, Name extends keyof T> =
  Record<never, never> extends Pick<T, Name>
    ? string extends Name
      ? null extends T[Name]
        ? undefined
        : never
      : undefined
    : never

export type QueryOf<Route> = Sendable<Plain<PartOf<Route, 'query'>>>

type BodyOf<Route> = Sendable<PartOf<Route, 'body'>>

/** A page of a listing. */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly meta: { readonly next_cursor: string | null; readonly prev_cursor: string | null }
}

/** A listing. `await` gives one page; `for await` gives every record of this page and of the following pages. */
export interface Listing<Item> extends Promise<Page<Item>>, AsyncIterable<Item> {}

type AnswerOf<Route> =
  PartOf<Route, 'answer'> extends infer Json
    ? [Json] extends [never]
      ? Promise<void>
      : Json extends { data: readonly (infer Item)[]; meta: unknown }
        ? Listing<Item>
        : Json extends { data: infer Data }
          ? Promise<Data>
          : Promise<Json>
    : never

export interface CallOptions {
  /** Aborts the request and its retries. */
  readonly signal?: AbortSignal | undefined
  /** Sent with a POST. Default: a random key for each call. */
  readonly idempotencyKey?: string | undefined
}

type WithQuery<Route> = CallOptions & { readonly query?: QueryOf<Route> | undefined }

type Input<Route> = Route extends `GET ${string}`
  ? [query?: QueryOf<Route> | undefined, options?: CallOptions | undefined]
  : [BodyOf<Route>] extends [never]
    ? [body?: undefined, options?: WithQuery<Route> | undefined]
    : Record<never, never> extends BodyOf<Route>
      ? [body?: BodyOf<Route> | undefined, options?: WithQuery<Route> | undefined]
      : [body: BodyOf<Route>, options?: WithQuery<Route> | undefined]

/** A method that calls a route. */
export type Method<Route> = (...args: [...Ids<Route>, ...Input<Route>]) => AnswerOf<Route>
