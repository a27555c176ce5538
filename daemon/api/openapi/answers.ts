import { inputLimits } from '../../../lib/index.ts'
import { bodyExamples, fileExample, metaExample, recordExamples } from './examples.ts'
import type { Content, Parameter, RouteDoc, SuccessResponse } from './operation.ts'
import { arrayOf, ref, type Schema } from './schema.ts'

function json(schema: Schema, example: unknown): Content {
  return { 'application/json': { schema, example } }
}

/** Describes an answer with one record in `data`. */
export function single(name: string, description: string): SuccessResponse {
  const schema: Schema = { type: 'object', properties: { data: ref(name) }, required: ['data'] }
  return { description, content: json(schema, { data: recordExamples[name] }) }
}

/**
 * Describes an answer with one page of a listing: records in `data`, and `meta`.
 *
 * @param path Path of the example, below `/api/v1`. Undefined when `meta` has no path.
 */
export function page(name: string, path: string | undefined): SuccessResponse {
  const meta = ref(path === undefined ? 'MetaWithoutPath' : 'Meta')
  const properties = { data: arrayOf(ref(name)), meta }
  const example = { data: [recordExamples[name]], meta: metaExample(path) }
  return {
    description: 'A page of the listing.',
    content: json({ type: 'object', properties, required: ['data', 'meta'] }, example),
  }
}

export const noContent: SuccessResponse = { description: 'Deleted.' }

export function body(name: string): NonNullable<RouteDoc['body']> {
  const { good, errors } = bodyExamples[name]!
  return { required: true, content: json(ref(name), good), errors }
}

/** Describes a body whose fields are all optional, so that a missing body equals `{}`. */
export function optionalBody(name: string): NonNullable<RouteDoc['body']> {
  return { ...body(name), required: false }
}

/** Describes the body of an import. */
export function importFile(types: Iterable<string>): NonNullable<RouteDoc['body']> {
  const message = 'The first line must name the columns, separated by commas: one of them must be email.'
  const messages = {
    unsupported_media_type: 'Imports must be text/csv or application/x-ndjson in UTF-8, not compressed.',
    invalid_json: 'After line 3 a quote is missing or too much. The rows before it were imported.',
  }
  return { required: false, content: files(types, false), errors: { body: [message] }, messages }
}

/** Describes a file with these media types. */
export function files(types: Iterable<string>, exported: boolean): Content {
  const schema: Schema = { type: 'string' }
  return Object.fromEntries([...types].map((type) => [type, { schema, example: fileExample(type, exported) }]))
}

export function inQuery(name: string, description: string, schema: Schema, example?: unknown): Parameter {
  return { name, in: 'query', description, schema, ...(example !== undefined && { example }) }
}

/** Query parameters of every listing. */
export const paging: readonly Parameter[] = [
  inQuery('per_page', 'Maximum records of a page.', {
    type: 'integer',
    minimum: 1,
    maximum: inputLimits.pageRecords,
    default: inputLimits.usualPageRecords,
  }),
  inQuery('cursor', '`next_cursor` or `prev_cursor` of a page of the same listing.', { type: 'string' }, 'bmV4dDo3'),
]
