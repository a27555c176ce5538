/** A client of the HTTP API for every platform with `fetch`: Node, browsers, Deno, Bun, edge. */

import type { CallOptions, Listing, Page, QueryOf, Resources } from './methods.ts'
import { answeredWithContact, operations, withoutKey } from './operations.ts'
import { type ClientOptions, notOfApi, type Request, send } from './request.ts'

export type { CallOptions, Listing, Page } from './methods.ts'
export { ApiError, type ClientOptions } from './request.ts'

/** A file to import: text, a `File` or `Blob`, or a stream. A stream cannot be sent twice, so it is not retried. */
export type ImportFile = string | Blob | ReadableStream<Uint8Array>

export interface ImportOptions extends CallOptions {
  /** Default `csv`. */
  readonly format?: 'csv' | 'ndjson'
  readonly query?: QueryOf<'POST /lists/{listId}/contacts/import'>
}

/** Methods that send or receive a file. */
export interface FileMethods {
  /** Imports the contacts of a file to a list. Its progress is in the records of imports. */
  import(listId: number, file: ImportFile, options?: ImportOptions): Promise<ImportCounts>
  /** Imports an exported file: the contacts get the lists and topics that it names. */
  restore(file: ImportFile, options?: ImportOptions): Promise<ImportCounts>
  /** Exports contacts. Read the answer's `body` as a stream, or its `text()`. */
  export(query?: QueryOf<'GET /contacts/export'>, options?: CallOptions): Promise<Response>
}

/** The numbers of an import's rows. */
export interface ImportCounts {
  readonly created: number
  readonly updated: number
  readonly [name: string]: unknown
}

/** A client of the API. Each method calls one route; its input and its result have the route's types. */
export type Client = Omit<Resources, 'contacts'> & { readonly contacts: Resources['contacts'] & FileMethods }

/**
 * Creates a client of the API. It retries after network faults, 429 and 503; a POST is sent with an `Idempotency-Key`, so
 * that a repeated request has no second effect. A deletion whose answer was lost succeeds if the record is gone.
 *
 * @throws TypeError: `baseUrl`, `token` or `retries` is wrong.
 * @example
 * const mailkeep = createClient({ baseUrl: 'https://mail.example.org', token })
 * const contact = await mailkeep.contacts.addToList(1, { email: 'ada@example.org', tags: ['vip'] })
 * for await (const { email } of mailkeep.contacts.list({ tags: [3] })) console.log(email)
 */
export function createClient(options: ClientOptions): Client {
  const { baseUrl, token, retries = 0 } = options ?? {}
  if (!/^https?:\/\/[^?#]+$/i.test(baseUrl) || !URL.canParse(baseUrl))
    throw new TypeError('baseUrl must be a URL, such as https://mail.example.org.')
  if (typeof token !== 'string' || !/^[!-~]+$/.test(token)) throw new TypeError('token must be a token of the API.')
  if (!Number.isInteger(retries) || retries < 0) throw new TypeError('retries must be a whole number from 0.')
  const resources = Object.entries(operations).map(([name, methods]) => [
    name,
    Object.fromEntries(Object.entries(methods).map(([method, route]) => [method, methodOf(options, route)])),
  ])
  const client = Object.fromEntries(resources)
  Object.assign(client.contacts, fileMethods(options))
  return client as Client
}

type Query = Readonly<Record<string, unknown>>

function methodOf(options: ClientOptions, route: string) {
  const [method = '', template = ''] = route.split(' ')
  const idCount = template.split('{').length - 1
  return (...args: unknown[]) => {
    const path = fill(template, args.slice(0, idCount))
    const [input, callOptions = {}] = args.slice(idCount) as [unknown, (CallOptions & { query?: Query })?]
    const { signal, idempotencyKey, query } = callOptions
    if (method === 'GET') return listing(options, { method, path, signal, repeatable: true }, input as Query)
    const takesKey = method === 'POST' && !withoutKey.has(route)
    const headers = takesKey ? { 'Idempotency-Key': idempotencyKey ?? crypto.randomUUID() } : {}
    const repeatable = method !== 'POST' || takesKey
    const isDeletion = method === 'DELETE' && !answeredWithContact.has(route)
    return call(options, { method, path, query, body: input, headers, signal, repeatable, isDeletion })
  }
}

function fileMethods(options: ClientOptions): FileMethods {
  async function upload(path: string, body: ImportFile, { format = 'csv', query, signal }: ImportOptions = {}) {
    const headers = { 'Content-Type': format === 'csv' ? 'text/csv' : 'application/x-ndjson' }
    const request = { method: 'POST', path, query, body, headers, signal, repeatable: false, isFile: true }
    const once = body instanceof ReadableStream ? { ...options, retries: 0 } : options
    return (await call(once, request)) as ImportCounts
  }
  return {
    import: (listId, file, importOptions) =>
      upload(fill('/lists/{listId}/contacts/import', [listId]), file, importOptions),
    restore: (file, importOptions) => upload('/contacts/import', file, importOptions),
    export: (query, { signal } = {}) => {
      const headers = { Accept: '*/*' }
      const path = '/contacts/export'
      const request = { method: 'GET', path, query, headers, signal, repeatable: true, isFile: true }
      return send(options, request, (response) => response)
    },
  }
}

/** Sends the request for a page at once. Iterating sends those for the following pages. */
function listing(options: ClientOptions, request: Request, query: Query = {}): Listing<unknown> {
  const read = (more: Query) => call(options, { ...request, query: { ...query, ...more } }) as Promise<Page<unknown>>
  const first = read({})
  async function* records() {
    for (let page = await first; ; ) {
      yield* page.data
      if (page.meta.next_cursor === null) return
      page = await read({ cursor: page.meta.next_cursor })
    }
  }
  return Object.assign(first, { [Symbol.asyncIterator]: records })
}

/** @returns The answer's page, its data, or undefined when it has no body. */
async function call(options: ClientOptions, request: Request): Promise<unknown> {
  const { response, text } = await send(options, request, async (response) => ({
    response,
    text: await response.text(),
  }))
  if (response.status === 204) return undefined
  const answer = parse(response, text)
  return answer.meta === undefined ? answer.data : answer
}

function parse(response: Response, text: string): Partial<Page<unknown>> {
  try {
    const answer = JSON.parse(text)
    if ('data' in answer) return answer
  } catch {
    // It is no answer of the API.
  }
  throw notOfApi(response)
}

function fill(template: string, ids: readonly unknown[]): string {
  let at = 0
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[at++]
    if (!Number.isSafeInteger(id)) throw new TypeError(`${name} must be the id of a record, not ${String(id)}.`)
    return String(id)
  })
}
