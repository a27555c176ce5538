/** A request as plain data, independent of the HTTP server. */
export interface ApiRequest {
  readonly method: string
  /** The target on the request line: path and query, or an absolute URL. */
  readonly target: string
  /** Values by lower-case name, as in node:http. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Called with the id of the caller's client before the body is read, so that the server can limit each client. */
  identify?(clientId: number): void
  /**
   * Reads the body. Called at most once, and only after the caller is authorized.
   *
   * @param maxBytes Maximum size, if it is less than the server's limit.
   * @throws MailkeepError `body_too_large`; `invalid_json`: the body ends early.
   */
  body(maxBytes?: number): Promise<Uint8Array>
  /**
   * Reads a body of any length, instead of `body`.
   *
   * @throws MailkeepError `invalid_json`, while reading: the body ends early.
   */
  stream(): AsyncIterable<Uint8Array>
  /**
   * Builds an answer that may be large, when the memory budget allows it. Without it, answers are built immediately.
   *
   * @throws MailkeepError `unavailable`
   */
  buildLarge?<T>(make: () => Promise<T>): Promise<T>
  /** The path the API is mounted at, such as `/mail`. Links include it, `target` does not. */
  readonly prefix?: string
  /** Whether the client used https. Links then use it too. */
  readonly secure?: boolean
  /** The client's IP address, if the server knows it. */
  readonly address?: string | undefined
  /** The host's own request, for its `authenticate`. */
  readonly source?: unknown
}

/** An answer as plain data. Without `body` and `stream` it has only headers. */
export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The rest of the body, after `body`. All responses share these bytes, so one that waits for its client costs none. */
  readonly bytes?: Uint8Array
  /** The body of an export, instead of `body`: text produced while it is sent. An error cuts the answer off. */
  readonly stream?: AsyncIterable<string>
  /** The pattern of the matched route. Safe to log, because it contains no data of the caller. */
  readonly route?: string
  /** Id of the caller's token, for logs. */
  readonly tokenId?: number
}

/** Returns whether the headers declare a body. A body in `chunks` may still be empty. */
export function declaredBody(request: ApiRequest): 'none' | 'bytes' | 'chunks' {
  if (header(request, 'transfer-encoding') !== undefined) return 'chunks'
  return Number(header(request, 'content-length') ?? 0) === 0 ? 'none' : 'bytes'
}

/** @returns A header's value. Several headers of one name are joined to a list (RFC 9110, 5.3). */
export function header(request: ApiRequest, name: string): string | undefined {
  const value = request.headers[name]
  return value === undefined || typeof value === 'string' ? value : value.join(', ')
}
