/** A client of the HTTP API for every platform with `fetch`: Node, browsers, Deno, Bun, edge. */

import type { Resources } from './api.ts'
import type { CallOptions, Listing, Page, QueryOf } from './methods.ts'
import { answeredWithContact, operations, withoutKey } from './operations.ts'
import { type ClientOptions, callOptionsOf, check, isOfClass, type Settings, settingsOf } from './options.ts'
import { notOfApi, type Request, send } from './request.ts'

export type { CallOptions, Listing, Page } from './methods.ts'
export type { ClientOptions } from './options.ts'
export { ApiError } from './request.ts'

/** A file to import: text, a `File` or `Blob`, or a stream. A stream cannot be sent twice, so it is not retried. */
export type ImportFile = string | Blob | ReadableStream<Uint8Array>

export interface ImportOptions extends CallOptions {
  /** Default `csv`. */
  readonly format?: 'csv' | 'ndjson' | undefined
  readonly query?: QueryOf<'POST /lists/{listId}/contacts/import'> | undefined
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
 * A method throws an ApiError if the API refuses the request, and a TypeError if an id, a filter or an option is wrong.
 *
 * @throws TypeError: an option is wrong or unknown.
 * @example
 * const mailkeep = createClient({ baseUrl: 'https://mail.example.org', token })
 * const contact = await mailkeep.contacts.addToList(1, { email: 'ada@example.org', tags: ['vip'] })
 * for await (const { email } of mailkeep.contacts.list({ tags: [3] })) console.log(email)
 */
export function createClient(options: ClientOptions): Client {
  const settings = settingsOf(options)
  const resources = Object.entries(operations).map(([name, methods]) => [
    name,
    Object.fromEntries(Object.entries(methods).map(([method, route]) => [method, methodOf(settings, route)])),
  ])
  const client = Object.fromEntries(resources)
  Object.assign(client.contacts, fileMethods(settings))
  return client as Client
}

type Query = Readonly<Record<string, unknown>>

type BodyOptions = CallOptions & { readonly query?: Query }

function methodOf(settings: Settings, route: string) {
  const [method = '', path = ''] = route.split(' ')
  const idCount = path.split('{').length - 1
  const takesKey = method === 'POST' && !withoutKey.has(route)
  const isDeletion = method === 'DELETE' && !answeredWithContact.has(route)
  const send = async (ids: readonly unknown[], body: unknown, options: unknown) => {
    const { signal, query, idempotencyKey } = callOptionsOf<BodyOptions>(options, ['query'])
    const headers = takesKey ? { 'Idempotency-Key': idempotencyKey ?? randomKey() } : {}
    return await call(settings, { method, path, ids, query, body, headers, signal, isDeletion })
  }
  return (...args: unknown[]) => {
    const ids = args.slice(0, idCount)
    const [input, options] = args.slice(idCount)
    if (method !== 'GET') return send(ids, input, options)
    const read = async (query: Query | undefined) => {
      const { signal } = callOptionsOf(options)
      return (await call(settings, { method, path, ids, query, signal })) as Page<unknown>
    }
    return listing(read, input as Query)
  }
}

/** Not `crypto.randomUUID()`, which pages over plain http do not have. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function fileMethods(settings: Settings): FileMethods {
  async function upload(path: string, ids: readonly unknown[], body: ImportFile, options: ImportOptions | undefined) {
    const { format = 'csv', query, signal } = callOptionsOf<ImportOptions>(options, ['query', 'format'])
    check(format === 'csv' || format === 'ndjson', 'format must be csv or ndjson.')
    check(isFile(body), 'file must be a text, a File, a Blob or a ReadableStream.')
    const headers = { 'Content-Type': format === 'csv' ? 'text/csv' : 'application/x-ndjson' }
    const request = { method: 'POST', path, ids, query, body, headers, signal, isFile: true }
    return (await call(settings, request)) as ImportCounts
  }
  return {
    import: (listId, file, importOptions) => upload('/lists/{listId}/contacts/import', [listId], file, importOptions),
    restore: (file, importOptions) => upload('/contacts/import', [], file, importOptions),
    async export(query, options) {
      const { signal } = callOptionsOf(options)
      const headers = { Accept: '*/*' }
      const path = '/contacts/export'
      const request = { method: 'GET', path, query, headers, signal, isFile: true }
      return await send(settings, request, (response) => response)
    },
  }
}

/** Whether `fetch` can send it as it is. */
function isFile(value: unknown): boolean {
  return typeof value === 'string' || isOfClass(value, 'File', 'Blob', 'ReadableStream', 'Uint8Array', 'ArrayBuffer')
}

/** Sends the request for a page at once. Iterating sends those for the following pages. */
function listing(
  read: (query: Query | undefined) => Promise<Page<unknown>>,
  query: Query | undefined,
): Listing<unknown> {
  const first = read(query)
  async function* records() {
    for (let page = await first; ; ) {
      yield* page.data
      if (page.meta.next_cursor === null) return
      page = await read({ ...query, cursor: page.meta.next_cursor })
    }
  }
  return Object.assign(first, { [Symbol.asyncIterator]: records })
}

/** @returns The answer's page, its data, or undefined when it has no body. */
async function call(settings: Settings, request: Request): Promise<unknown> {
  return await send(settings, request, async (response) => {
    const text = await response.text()
    if (response.status === 204) return undefined
    const answer = parse(response, text)
    return answer.meta === undefined ? answer.data : answer
  })
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
