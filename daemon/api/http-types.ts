/** A request as plain data, so that any HTTP server can hand one in. */
export interface ApiRequest {
  readonly method: string
  /** The request target as on the request line: path and query, or a whole URL. */
  readonly target: string
  /** By lower-case name, as node:http gives them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /**
   * Reads the body. Called at most once, and only when the caller may do what it asks for.
   *
   * @throws MailkeepError `body_too_large`, `invalid_json` when it ends early.
   */
  body(): Promise<Uint8Array>
  /**
   * Reads a body of any length, instead of `body`. Where it is absent, imports are held to what `body` takes.
   *
   * @throws MailkeepError (while it is read) `invalid_json` when it ends early.
   */
  stream?(): AsyncIterable<Uint8Array>
  /**
   * Makes an answer that may be large, when there is room for it. Absent: always at once.
   *
   * @throws MailkeepError `unavailable`
   */
  buildLarge?<T>(make: () => Promise<T>): Promise<T>
  /** The path the API is mounted at, such as `/mail`: links have it, the target does not. */
  readonly prefix?: string
  /** Whether the client came by https; links of a host that knows say so. */
  readonly secure?: boolean
  /** The host's own request, for its `authenticate`. */
  readonly source?: unknown
}

/** An answer as plain data; without `body` and `stream` there is nothing to send after the headers. */
export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The body of an export, instead of `body`: text that is made while it is sent. Its fault is told by cutting it off. */
  readonly stream?: AsyncIterable<string>
  /** The route's pattern, where one matched: fit for logs, as it holds nothing of the caller's. */
  readonly route?: string
  /** Id of the token the request came with, for logs. */
  readonly tokenId?: number
}

/** What a request's headers say of its body; of one in chunks only reading shows whether there are any. */
export function declaredBody(request: ApiRequest): 'none' | 'bytes' | 'chunks' {
  if (header(request, 'transfer-encoding') !== undefined) return 'chunks'
  return Number(header(request, 'content-length') ?? 0) === 0 ? 'none' : 'bytes'
}

/** @returns one header's value; several of the same name are one list, as RFC 9110, 5.3 says. */
export function header(request: ApiRequest, name: string): string | undefined {
  const value = request.headers[name]
  return value === undefined || typeof value === 'string' ? value : value.join(', ')
}
