import { type ErrorCode, errorCodes } from '../../../lib/index.ts'
import { statusOf } from '../failure.ts'
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
  validation_failed: ['A field of body or query breaks a rule: `errors` says which.'],
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
  internal: ['Nobody foresaw it; the log has it under `X-Request-Id`.'],
}

/** Codes that one operation may answer with the same status. */
const both: readonly ErrorCode[] = ['validation_failed', 'idempotency_mismatch']

/** Every code's answer. */
export const errorResponses: Readonly<Record<string, Response>> = Object.fromEntries(
  [...errorCodes.map((code) => [code]), both].map((codes) => [nameOf(codes), responseOf(codes)]),
)

function nameOf(codes: readonly ErrorCode[]): string {
  return codes.join('_or_')
}

/** What the server refuses before there is a request to answer: the codes say what to do about it. */
export const brokenResponse: Response = {
  description:
    'What is no HTTP request (400), or never becomes a whole one (408, 413), or has too large headers (431), is answered so by any path, and the connection ends.',
  headers: headerRefs(answerHeaders),
  content: { 'application/json': { schema: ref('Error') } },
}

/** The errors of one operation, by status. */
export function errorsByStatus(codes: ReadonlySet<ErrorCode>): Record<string, { $ref: string }> {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of errorCodes) {
    if (codes.has(code)) byStatus.set(statusOf[code], [...(byStatus.get(statusOf[code]) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, some]) => [String(status), { $ref: `#/components/responses/${nameOf(some)}` }]),
  )
}

function responseOf(codes: readonly ErrorCode[]): Response {
  const told = codes.map((code) => meanings[code])
  const isInvalid = codes.every((code) => code === 'validation_failed')
  return {
    description: told.map(([when], at) => `\`${codes[at]}\`: ${when}`).join(' '),
    headers: headerRefs([...answerHeaders, ...new Set(told.flatMap(([, ...headers]) => headers))]),
    content: {
      'application/json': {
        schema: {
          allOf: [
            ref('Error'),
            { type: 'object', properties: { code: { enum: codes } }, ...(isInvalid && { required: ['errors'] }) },
          ],
        },
      },
    },
  }
}
