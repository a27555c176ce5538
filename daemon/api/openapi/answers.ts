import { inputLimits } from '../../../lib/index.ts'
import type { Answer, Content, Described, Parameter } from './operation.ts'
import { arrayOf, ref, type Schema } from './schema.ts'

function json(schema: Schema): Content {
  return { 'application/json': { schema } }
}

/** A record in `data`. */
export function one(name: string, description: string): Answer {
  const data = ref(name)
  return { description, content: json({ type: 'object', properties: { data }, required: ['data'] }) }
}

/** A page of a listing: records in `data`, and `meta`. */
export function page(name: string, meta = 'Meta'): Answer {
  const properties = { data: arrayOf(ref(name)), meta: ref(meta) }
  return { description: 'A page.', content: json({ type: 'object', properties, required: ['data', 'meta'] }) }
}

export const gone: Answer = { description: 'Gone.' }

export function body(name: string): NonNullable<Described['body']> {
  return { required: true, content: json(ref(name)) }
}

/** Text of these media types, as it stands. */
export function plain(...types: readonly string[]): Content {
  return Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }]))
}

/** All its fields are optional: no body is as good as an empty object. */
export function optionalBody(name: string): NonNullable<Described['body']> {
  return { ...body(name), required: false }
}

export function inQuery(name: string, description: string, schema: Schema): Parameter {
  return { name, in: 'query', description, schema }
}

/** What every listing takes. */
export const place: readonly Parameter[] = [
  inQuery('per_page', 'Records of a page.', {
    type: 'integer',
    minimum: 1,
    maximum: inputLimits.pageRecords,
    default: inputLimits.usualPageRecords,
  }),
  inQuery('cursor', '`next_cursor` or `prev_cursor` of a page of the same listing.', { type: 'string' }),
]
