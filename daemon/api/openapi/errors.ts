import { type ErrorCode, errorCodes, type FieldErrors } from '../../../lib/index.ts'
import { statusOf } from '../errors.ts'
import { answerHeaders, headerRefs } from './headers.ts'
import type { Response } from './operation.ts'
import { fieldErrors, ref, type Schema } from './schema.ts'

export const errorSchema: Schema = {
  type: 'object',
  description: 'The one shape of every error.',
  properties: {
    message: { type: 'string', description: 'For people.' },
    code: { type: 'string', enum: errorCodes, description: 'For programs: a closed list.' },
    errors: {
      ...fieldErrors,
      description:
        'What is wrong, by field; positions are written with dots: `tags.0`. Always with `validation_failed`.',
    },
  },
  required: ['message', 'code'],
}

/** When each is answered, and what it brings beside the headers of every answer. */
const meanings: Readonly<Record<ErrorCode, readonly [when: string, ...headers: string[]]>> = {
  unauthenticated: ['No good token. It comes before every other answer.', 'WWW-Authenticate'],
  forbidden: ['The token’s role is too low.'],
  not_found: ['No such route or record, or another client’s.'],
  method_not_allowed: ['The path is known, the method is not.', 'Allow'],
  unsupported_media_type: ['A body of another kind, not in UTF-8, or compressed.'],
  invalid_json: ['A body that cannot be read.'],
  body_too_large: ['A body of more than 1 MiB, or what the host allows.'],
  validation_failed: ['A field of body or query breaks a rule, or is not known: `errors` says which.'],
  conflict: ['Another request changes the same record, or one with the same key is still running: try again.'],
  idempotency_mismatch: ['The key came before, with another body or path.'],
  rate_limited: [
    'Too many: try again later.',
    'Retry-After',
    'RateLimit-Limit',
    'RateLimit-Remaining',
    'RateLimit-Reset',
  ],
  unavailable: [
    'Shutting down, too much is waiting, or the database cannot be reached or written now: try again shortly.',
    'Retry-After',
  ],
  internal: ['Unforeseen; the log has it under `X-Request-Id`.'],
}

/** A message for each code that is shared by all operations. */
const messages: Readonly<Record<Exclude<ErrorCode, 'not_found' | 'validation_failed'>, string>> = {
  unauthenticated: 'A valid token is needed: Authorization: Bearer <token>.',
  forbidden: 'This needs a token with the role admin.',
  method_not_allowed: 'This path does not know this method.',
  unsupported_media_type: 'Bodies must be application/json in UTF-8, not compressed.',
  invalid_json: 'The body is not JSON.',
  body_too_large: 'A body has at most 1048576 bytes.',
  conflict: 'Another request changes the same record: try again.',
  idempotency_mismatch: 'This key was used for another request: take a new one for each.',
  rate_limited: 'At most 10 test deliveries in a minute: try again later.',
  unavailable: 'Too many writes are waiting: try again shortly.',
  internal: 'Internal error. Quote the X-Request-Id when you report it.',
}

/** What differs between operations in the examples of their errors. */
interface Situation {
  /** What is not found. */
  readonly record: string
  /** What is wrong with the fields. */
  readonly errors: FieldErrors
  /** Messages other than the usual ones. */
  readonly messages?: Partial<Record<ErrorCode, string>> | undefined
}

function exampleOf(code: ErrorCode, { record, errors, messages: own }: Situation): object {
  if (code === 'not_found') return { message: `No such ${record}.`, code }
  if (code === 'validation_failed') return { message: Object.values(errors)[0]![0]!, code, errors }
  return { message: own?.[code] ?? messages[code], code }
}

/** These depend on the operation: it has them itself, with examples of its own. */
const ownCodes: readonly ErrorCode[] = ['not_found', 'validation_failed', 'idempotency_mismatch']

const nowhere: Situation = { record: 'record', errors: {} }

/** The answers of the codes that are the same everywhere. */
export const errorResponses: Readonly<Record<string, Response>> = Object.fromEntries(
  errorCodes.filter((code) => !ownCodes.includes(code)).map((code) => [code, responseOf([code], nowhere)]),
)

/** What the server refuses before there is a request to answer: the codes say what to do about it. */
export const brokenResponse: Response = {
  description:
    'What is no HTTP request (400), or never becomes a whole one (408, 413), or has too large headers (431), is answered so by any path, and the connection ends.',
  headers: headerRefs(answerHeaders),
  content: {
    'application/json': {
      schema: ref('Error'),
      example: { message: 'The headers are too large.', code: 'body_too_large' },
    },
  },
}

/** The errors of one operation, by status. */
export function errorsByStatus(
  codes: ReadonlySet<ErrorCode>,
  situation: Situation = nowhere,
): Record<string, Response | { $ref: string }> {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of errorCodes) {
    if (codes.has(code)) byStatus.set(statusOf[code], [...(byStatus.get(statusOf[code]) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, some]) => [
      String(status),
      some.some((code) => ownCodes.includes(code) || situation.messages?.[code])
        ? responseOf(some, situation)
        : { $ref: `#/components/responses/${some[0]}` },
    ]),
  )
}

function responseOf(codes: readonly ErrorCode[], situation: Situation): Response {
  const described = codes.map((code) => meanings[code])
  const isInvalid = codes.every((code) => code === 'validation_failed')
  const named = codes.map((code) => [code, { summary: meanings[code][0], value: exampleOf(code, situation) }] as const)
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
