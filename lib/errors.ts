/** All error codes of the library and the HTTP API. */
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

/** Messages by field. Positions are written with dots, as in `tags.0`. */
export type FieldErrors = Record<string, string[]>

/** One problem of one field. */
export interface Issue {
  /** The key in `errors`: `name`, `tags.0`; `body` when the whole input is wrong. */
  readonly path: string
  readonly message: string
}

/** State of a rate limit. */
export interface RateLimit {
  readonly limit: number
  readonly remaining: number
  /** Seconds from now until the limit resets. */
  readonly resetSeconds: number
}

export interface ErrorDetails {
  readonly errors?: FieldErrors | undefined
  readonly rateLimit?: RateLimit | undefined
  readonly cause?: unknown
}

/** The only error class of mailkeep. `message` is for people; `code` and `errors` are for programs. */
export class MailkeepError extends Error {
  override readonly name = 'MailkeepError'
  readonly code: ErrorCode
  /** Messages by field, for `validation_failed`. */
  readonly errors: FieldErrors | undefined
  /** The limit that was exceeded, for `rate_limited`. */
  readonly rateLimit: RateLimit | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.errors = details.errors
    this.rateLimit = details.rateLimit
  }

  /** `errors` as a list; empty when there are no field errors. */
  get issues(): Issue[] {
    return Object.entries(this.errors ?? {}).flatMap(([path, messages]) =>
      messages.map((message) => ({ path, message })),
    )
  }
}

/** @returns Whether `error` is a MailkeepError, with this code if given. Also works across copies of the package. */
export function isMailkeepError<Code extends ErrorCode = ErrorCode>(
  error: unknown,
  code?: Code,
): error is MailkeepError & { readonly code: Code } {
  return error instanceof Error && error.name === 'MailkeepError' && (!code || (error as MailkeepError).code === code)
}

/** Maximum characters of a field's name that a message shows. */
const maxFieldCharacters = 100

/** Puts the name of the field into its message: `This must be a string.` becomes `name must be a string.` */
export function nameField(field: string, message: string): string {
  return message.replace(/^This(?: field)?(?= (?:must|is|has|cannot)\b)/, () =>
    field.slice(0, maxFieldCharacters).toWellFormed(),
  )
}

/** Returns a `validation_failed` error for one field. */
export function invalid(field: string, message: string, cause?: unknown): MailkeepError {
  return new MailkeepError('validation_failed', nameField(field, message), { errors: { [field]: [message] }, cause })
}

/** Returns a `validation_failed` error for several fields. Its message is that of the first one. */
export function invalidFields(errors: FieldErrors): MailkeepError {
  const fields = Object.keys(errors)
  const first = nameField(fields[0]!, errors[fields[0]!]![0]!)
  const message = fields.length === 1 ? first : `${first} (and more: see errors)`
  return new MailkeepError('validation_failed', message, { errors })
}

/** Returns the same `not_found` error for missing records and for records of other clients. */
export function notFound(what: string): MailkeepError {
  return new MailkeepError('not_found', `No such ${what}.`)
}

/** Returns what `find` returns, or undefined if a record that it needs is missing. */
export async function ifFound<T>(find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find()
  } catch (error) {
    if (isMailkeepError(error, 'not_found')) return undefined
    throw error
  }
}

/** Returns the error of calls during and after the shutdown. */
export function closed(cause?: unknown): MailkeepError {
  return new MailkeepError('unavailable', 'mailkeep is shutting down, or is closed.', { cause })
}
