import type { paths } from './api.ts'

type Verb<Route> = Route extends `${infer Method} ${string}` ? Method : never
type Path<Route> = Route extends `${string} ${infer Below}` ? `/api/v1${Below}` : never

type Described<Route> =
  Path<Route> extends keyof paths ? paths[Path<Route>][Lowercase<Verb<Route>> & keyof paths[Path<Route>]] : never

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

export type QueryOf<Route> =
  Described<Route> extends { parameters: { query?: infer Query } }
    ? Sendable<Plain<NonNullable<Query>>>
    : Record<never, never>

type BodyOf<Route> =
  Described<Route> extends { requestBody?: infer Body }
    ? NonNullable<Body> extends { content: { 'application/json': infer Json } }
      ? Sendable<Json>
      : never
    : never

type JsonOf<Response> = Response extends { content: { 'application/json': infer Json } } ? Json : never

type SuccessOf<Route> =
  Described<Route> extends { responses: infer Responses }
    ? JsonOf<Responses[keyof Responses & (200 | 201 | 202)]>
    : never

/** A page of a listing. */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly meta: { readonly next_cursor: string | null; readonly prev_cursor: string | null }
}

/** A listing. `await` gives one page; `for await` gives every record of this page and of the following pages. */
export interface Listing<Item> extends Promise<Page<Item>>, AsyncIterable<Item> {}

type AnswerOf<Route> =
  SuccessOf<Route> extends infer Json
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

type Input<Route> =
  Verb<Route> extends 'GET'
    ? [query?: QueryOf<Route> | undefined, options?: CallOptions | undefined]
    : [BodyOf<Route>] extends [never]
      ? [body?: undefined, options?: WithQuery<Route> | undefined]
      : Record<never, never> extends BodyOf<Route>
        ? [body?: BodyOf<Route> | undefined, options?: WithQuery<Route> | undefined]
        : [body: BodyOf<Route>, options?: WithQuery<Route> | undefined]

/** A method that calls a route. */
export type Method<Route> = (...args: [...Ids<Route>, ...Input<Route>]) => AnswerOf<Route>
