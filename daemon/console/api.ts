/** Calls of the public API. The console uses nothing else. */
import createClient from 'openapi-fetch'
import type { components } from '../client/api.ts'
import { number } from './parts/time.tsx'
import type { Paths } from './paths.ts'
import { expire, token } from './session.ts'

export type Schemas = components['schemas']

/** An error answer of the API, or a failed connection. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly code: string
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly fields: Readonly<Record<string, readonly string[]>>

  constructor(message: string, code: string, response?: Response, fields = {}) {
    super(message)
    this.code = code
    this.status = response?.status
    this.requestId = response?.headers.get('x-request-id') ?? undefined
    this.fields = fields
  }
}

export const api = createClient<Paths>({ baseUrl: location.origin, fetch: authorized })

/** Sends a request with the tab's token. A token that the API no longer accepts ends the session. `/metrics` has its own. */
export async function authorized(request: Request): Promise<Response> {
  const used = token.value
  if (used !== undefined) request.headers.set('Authorization', `Bearer ${used}`)
  let response: Response
  try {
    response = await fetch(request)
  } catch {
    throw new RequestError('The server cannot be reached. Check that it runs, then try again.', 'no_connection')
  }
  const isOfApi = new URL(request.url).pathname.startsWith('/api/')
  if (response.status === 401 && isOfApi && used !== undefined && used === token.value) {
    expire('The token is not valid, or no longer. Sign in with another one.')
  }
  return response
}

/** Returns the body of a successful answer. */
export async function answerOf<T>(
  call: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<NonNullable<T>> {
  const { data, error, response } = await call.catch(refuseBroken)
  if (!response.ok) throw errorOf(response, error)
  return data as NonNullable<T>
}

/** Reports an answer that ended early like a missing one. */
function refuseBroken(error: unknown): never {
  if (error instanceof RequestError) throw error
  throw new RequestError('The answer of the server broke off. Try again.', 'no_connection')
}

/** Returns the record or the records of a successful answer. */
export async function dataOf<T>(
  call: Promise<{ data?: { data: T }; error?: unknown; response: Response }>,
): Promise<T> {
  return (await answerOf(call)).data
}

/** Returns the error of an answer that is not successful. */
export function errorOf(response: Response, body: unknown): RequestError {
  const { message, code, errors } = (typeof body === 'object' && body !== null ? body : {}) as Partial<Schemas['Error']>
  if (response.status === 401) {
    return new RequestError('The session had ended, so nothing was done. Try again.', 'unauthenticated', response)
  }
  return new RequestError(message ?? `The server answered ${response.status}.`, code ?? 'unknown', response, errors)
}

/** The query of a page of a listing. */
export interface PageQuery {
  readonly per_page: number
  readonly cursor?: string
}

const maxChoices = 1000

/** Records to choose from. `isCut`: there are more. */
export type Choices<T> = readonly T[] & { readonly isCut: boolean }

/** Returns all records of a listing, at most 1,000, for choices in forms. */
export async function allOf<T>(
  load: (query: PageQuery) => Promise<{ data: T[]; meta: { next_cursor: string | null } }>,
): Promise<Choices<T>> {
  const all: T[] = []
  let cursor: string | undefined
  do {
    const { data, meta } = await load({ per_page: 100, ...(cursor && { cursor }) })
    all.push(...data)
    cursor = meta.next_cursor ?? undefined
  } while (cursor !== undefined && all.length < maxChoices)
  return Object.assign(all, { isCut: cursor !== undefined })
}

/** Returns what the end of a choice says that does not have all records. @param noun Their plural. */
export function cutNote(choices: Choices<unknown> | undefined, noun: string): string | undefined {
  return choices?.isCut ? `The first ${number(choices.length)} of more ${noun}` : undefined
}

export const allLists = () => allOf((query) => answerOf(api.GET('/api/v1/lists', { params: { query } })))

export const allTags = () => allOf((query) => answerOf(api.GET('/api/v1/tags', { params: { query } })))

export const allSegments = () => allOf((query) => answerOf(api.GET('/api/v1/segments', { params: { query } })))

export const allEndpoints = () =>
  allOf((query) => answerOf(api.GET('/api/v1/webhook-endpoints', { params: { query } })))

export const topicsOf = (listId: number) =>
  allOf((query) => answerOf(api.GET('/api/v1/lists/{listId}/topics', { params: { path: { listId }, query } })))
