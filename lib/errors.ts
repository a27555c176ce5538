/** Every error code there is, in the library and over HTTP. */
export const errorCodes = [
  'unauthenticated',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'unsupported_media_type',
  'invalid_json',
  'body_too_large',
  'validation_failed',
  'conflict',
  'idempotency_mismatch',
  'rate_limited',
  'unavailable',
  'internal',
] as const

export type ErrorCode = (typeof errorCodes)[number]

/** Messages by field; positions are written with dots: `tags.0`. */
export type FieldErrors = Record<string, string[]>

/** What is wrong with one field. */
export interface Issue {
  /** As in `errors`: `name`, `tags.0`; `body` where the input as a whole is wrong. */
  readonly path: string
  readonly message: string
}

/** How much of a limit is used; `resetSeconds` from now. */
export interface RateLimit {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
}

export interface ErrorDetails {
  readonly errors?: FieldErrors
  readonly rateLimit?: RateLimit
  readonly cause?: unknown
}

/** The one error class: what is wrong, for people in `message`, for programs in `code` and `errors`. */
export class MailkeepError extends Error {
  override readonly name = 'MailkeepError'
  readonly code: ErrorCode
  /** Messages by field, for `validation_failed`. */
  readonly errors: FieldErrors | undefined
  /** The limit that was met, for `rate_limited`. */
  readonly rateLimit: RateLimit | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.errors = details.errors
    this.rateLimit = details.rateLimit
  }

  /** `errors` as a list; empty unless fields are at fault. */
  get issues(): Issue[] {
    return Object.entries(this.errors ?? {}).flatMap(([path, messages]) =>
      messages.map((message) => ({ path, message })),
    )
  }
}

/** @returns whether `error` is a MailkeepError, of the given code if one is given; across package copies too. */
export function isMailkeepError<Code extends ErrorCode = ErrorCode>(
  error: unknown,
  code?: Code,
): error is MailkeepError & { readonly code: Code } {
  return error instanceof Error && error.name === 'MailkeepError' && (!code || (error as MailkeepError).code === code)
}

/** One field breaks a rule. */
export function invalid(field: string, message: string, cause?: unknown): MailkeepError {
  return new MailkeepError('validation_failed', message, { errors: { [field]: [message] }, cause })
}

/** No such record, or another client's: the two are not told apart. */
export function notFound(what: string): MailkeepError {
  return new MailkeepError('not_found', `No such ${what}.`)
}
