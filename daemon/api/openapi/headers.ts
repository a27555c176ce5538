import type { Schema } from './schema.ts'

export interface Header {
  readonly description: string
  /** Whether an answer that is said to have it has it always. */
  readonly required: boolean
  readonly schema: Schema
}

const seconds: Schema = { type: 'integer', minimum: 1 }

/** The headers that programs may want. */
export const headers: Readonly<Record<string, Header>> = {
  'X-Request-Id': {
    description: 'The caller’s `X-Request-Id`, if it sent a sane one, else a new one.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9_.~:-]{1,128}$' },
  },
  'Cache-Control': {
    description: 'Answers hold personal data and secrets: nobody on the way may keep them.',
    required: true,
    schema: { type: 'string', const: 'no-store' },
  },
  'WWW-Authenticate': { description: 'RFC 6750.', required: true, schema: { type: 'string', const: 'Bearer' } },
  Allow: {
    description: 'The methods that the path knows.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Z]+(, [A-Z]+)*$' },
  },
  'Retry-After': { description: 'Seconds after which to try again.', required: true, schema: seconds },
  'RateLimit-Limit': { description: 'So many in a minute.', required: true, schema: { type: 'integer', minimum: 0 } },
  'RateLimit-Remaining': { description: 'So many are left.', required: true, schema: { type: 'integer', minimum: 0 } },
  'Idempotency-Replayed': {
    description: 'This is the first answer, told again: nothing was done.',
    required: false,
    schema: { type: 'string', const: 'true' },
  },
  'Content-Disposition': {
    description: 'A name for the file.',
    required: true,
    schema: { type: 'string', pattern: '^attachment; filename=' },
  },
  'RateLimit-Reset': { description: 'Seconds until there are more.', required: true, schema: seconds },
}

/** Those of every answer. */
export const answerHeaders = ['X-Request-Id', 'Cache-Control']

export function headerRefs(names: readonly string[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
