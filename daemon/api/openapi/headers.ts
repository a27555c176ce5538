import type { Schema } from './schema.ts'

export interface Header {
  readonly description: string
  /** Whether every answer that lists the header has it. */
  readonly required: boolean
  readonly schema: Schema
}

const seconds: Schema = { type: 'integer', minimum: 1 }

/** Headers that programs may need. */
export const headers: Readonly<Record<string, Header>> = {
  'X-Request-Id': {
    description: 'The caller’s `X-Request-Id` if it is valid, otherwise a new id.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9_.~:-]{1,128}$' },
  },
  'Cache-Control': {
    description: 'Answers contain personal data and secrets, so no cache may store them.',
    required: true,
    schema: { type: 'string', const: 'no-store' },
  },
  'WWW-Authenticate': { description: 'RFC 6750.', required: true, schema: { type: 'string', const: 'Bearer' } },
  Allow: {
    description: 'The methods of the path.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Z]+(, [A-Z]+)*$' },
  },
  'Retry-After': { description: 'Seconds to wait before the next try.', required: true, schema: seconds },
  'RateLimit-Limit': {
    description: 'Maximum requests in a minute.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
  },
  'RateLimit-Remaining': {
    description: 'Requests left in this minute.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
  },
  'Idempotency-Replayed': {
    description: 'This is the stored first answer. The request changed nothing.',
    required: false,
    schema: { type: 'string', const: 'true' },
  },
  'Content-Disposition': {
    description: 'File name for the download.',
    required: true,
    schema: { type: 'string', pattern: '^attachment; filename=' },
  },
  'X-Import-Id': {
    description: 'Id of the import, for `GET /imports/{importId}`.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  'RateLimit-Reset': { description: 'Seconds until more requests are allowed.', required: true, schema: seconds },
}

/** Headers of every answer. */
export const answerHeaders = ['X-Request-Id', 'Cache-Control']

export function headerRefs(names: readonly string[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
