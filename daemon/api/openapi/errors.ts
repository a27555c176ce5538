import { type ErrorCode, errorCodes, type FieldErrors } from '../../../lib/index.ts'
import { nameField } from '../../../lib/internal.ts'
import { statusOf } from '../errors.ts'
import { answerHeaders, headerRefs } from './headers.ts'
import { fieldErrors, type Reference, type Response, ref, type Schema } from './schema.ts'

export const errorSchema: Schema = {
  type: 'object',
  description: 'The shape of every error.',
  properties: {
    message: { type: 'string', description: 'For people.' },
    code: { type: 'string', enum: errorCodes, description: 'For programs. The list is closed.' },
    errors: {
      ...fieldErrors,
      description:
        'Messages by field. Array positions follow a dot: `tags.0`. Always present with `validation_failed`.',
    },
  },
  required: ['message', 'code'],
}

/** When each code is answered, and the names of its extra headers. */
const meanings: Readonly<Record<ErrorCode, readonly [when: string, ...headers: string[]]>> = {
  unauthenticated: ['No valid token. This is checked before everything else.', 'WWW-Authenticate'],
  forbidden: ['The token’s role is too low.'],
  not_found: ['No such route or record, or the record belongs to another client.'],
  method_not_allowed: ['The path exists, but not with this method.', 'Allow'],
  unsupported_media_type: ['A body of another media type, not in UTF-8, or compressed.'],
  invalid_json: ['A body that cannot be parsed.'],
  body_too_large: ['A body larger than 1 MiB or the host’s limit.'],
  validation_failed: ['A field of the body or query is invalid or unknown. `errors` names it.'],
  conflict: [
    'Another request changes the same record, a newsletter that starts needs it, or a request with the same key is still running. Try again.',
  ],
  idempotency_mismatch: ['The key was used before, with another body or path.'],
  rate_limited: [
    'Too many requests. Try again later.',
    'Retry-After',
    'RateLimit-Limit',
    'RateLimit-Remaining',
    'RateLimit-Reset',
  ],
  unavailable: [
    'The service is shutting down or overloaded, or the database cannot be reached or written. Try again shortly.',
    'Retry-After',
  ],
  internal: ['An unexpected error. It is logged with the `X-Request-Id`.'],
}

/** Example messages of the codes that all operations share. */
const messages: Readonly<Record<Exclude<ErrorCode, 'not_found' | 'validation_failed'>, string>> = {
  unauthenticated: 'A valid token is needed: Authorization: Bearer <token>.',
  forbidden: 'This needs a token with the role admin.',
  method_not_allowed: 'This path does not support the method: see Allow.',
  unsupported_media_type: 'Bodies must be application/json in UTF-8, not compressed.',
  invalid_json: 'The body is not JSON.',
  body_too_large: 'A body has at most 1048576 bytes.',
  conflict: 'Another request changes the same record: try again.',
  idempotency_mismatch: 'This key was used for another request: take a new one for each.',
  rate_limited: 'At most 10 test deliveries in a minute: try again later.',
  unavailable: 'Too many writes are waiting: try again shortly.',
  internal: 'Internal error. Quote the X-Request-Id when you report it.',
}

/** Details of an operation for its error examples. */
interface ExampleContext {
  /** The kind of record that is not found. */
  readonly record: string
  /** Messages by field. */
  readonly errors: FieldErrors
  /** Messages that override the common ones. */
  readonly messages?: Partial<Record<ErrorCode, string>> | undefined
}

function exampleOf(code: ErrorCode, { record, errors, messages: overrides }: ExampleContext): object {
  if (code === 'not_found') return { message: `No such ${record}.`, code }
  if (code === 'validation_failed') {
    const [field, messages] = Object.entries(errors)[0]!
    return { message: nameField(field, messages[0]!), code, errors }
  }
  return { message: overrides?.[code] ?? messages[code], code }
}

/** Codes whose examples depend on the operation. */
const perOperationCodes: readonly ErrorCode[] = ['not_found', 'validation_failed', 'idempotency_mismatch']

const defaultContext: ExampleContext = { record: 'record', errors: {} }

/** Answers that are the same for all operations, by code. */
export const errorResponses: Readonly<Record<string, Response>> = Object.fromEntries(
  errorCodes
    .filter((code) => !perOperationCodes.includes(code))
    .map((code) => [code, responseOf([code], defaultContext)]),
)

/** Answer to a broken request, which the server refuses before it reaches the API. The code tells programs what to do. */
export const brokenResponse: Response = {
  description:
    'Answer of any path to an invalid HTTP request (400), an incomplete one (408, 413), or one with too large headers (431). The connection is closed.',
  headers: headerRefs(answerHeaders),
  content: {
    'application/json': {
      schema: ref('Error'),
      example: { message: 'The headers are too large.', code: 'body_too_large' },
    },
  },
}

/** Returns the error answers of one operation, by status. */
export function errorsByStatus(
  codes: ReadonlySet<ErrorCode>,
  context: ExampleContext = defaultContext,
): Record<string, Response | Reference> {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of errorCodes) {
    if (codes.has(code)) byStatus.set(statusOf[code], [...(byStatus.get(statusOf[code]) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, some]) => [
      String(status),
      some.some((code) => perOperationCodes.includes(code) || context.messages?.[code])
        ? responseOf(some, context)
        : { $ref: `#/components/responses/${some[0]}` },
    ]),
  )
}

function responseOf(codes: readonly ErrorCode[], context: ExampleContext): Response {
  const described = codes.map((code) => meanings[code])
  const isInvalid = codes.every((code) => code === 'validation_failed')
  const named = codes.map((code) => [code, { summary: meanings[code][0], value: exampleOf(code, context) }] as const)
  return {
    description: described.map(([when], at) => `\`${codes[at]}\`: ${when}`).join(' '),
    headers: headerRefs([...answerHeaders, ...new Set(described.flatMap(([, ...headers]) => headers))]),
    content: {
      'application/json': {
        schema: {
          allOf: [
            ref('Error'),
            { type: 'object', properties: { code: { enum: codes } }, ...(isInvalid && { required: ['errors'] }) },
          ],
        },
        ...(named.length === 1 ? { example: named[0]![1].value } : { examples: Object.fromEntries(named) }),
      },
    },
  }
}
