import type { ErrorCode, FieldErrors } from '../../../lib/index.ts'
import { mediaTypes } from '../routes/export.ts'
import type { AnswerDoc, Route } from '../routes/route.ts'
import { formatOf } from '../upload.ts'
import { bodySchemas } from './bodies.ts'
import { bodyExamples } from './body-examples.ts'
import { fileExample, metaExample, type RecordName, recordExamples } from './examples.ts'
import type { SuccessResponse } from './operation.ts'
import { arrayOf, type Body, type Content, ref, type Schema } from './schema.ts'

/** Describes a success answer of a route. */
export function answerOf(answer: AnswerDoc, route: Route): SuccessResponse {
  if ('page' in answer) return pageOf(answer.page, route)
  if ('records' in answer) {
    const { description, records } = answer
    const schema: Schema = { type: 'object', properties: { data: arrayOf(ref(records)) }, required: ['data'] }
    return { description, content: json(schema, { data: [recordExamples[records]] }) }
  }
  const { description, record, isFile, isAttachment, rows } = answer
  if (isFile) return { description, content: files(Object.values(mediaTypes), true), headers: ['Content-Disposition'] }
  if (record === undefined) return { description }
  const schema: Schema = { type: 'object', properties: { data: ref(record) }, required: ['data'] }
  const content = json(schema, { data: recordExamples[record] })
  if (rows === undefined) return { description, content, ...(isAttachment && { headers: ['Content-Disposition'] }) }
  // OpenAPI 3.1 cannot describe single lines, so this is the schema of each.
  return {
    description,
    content: { ...content, [mediaTypes.ndjson]: { schema: ref(rows), example: recordExamples[rows] } },
    headers: ['X-Import-Id'],
  }
}

/** Describes one page of a listing: records in `data`, and `meta`. */
function pageOf(name: RecordName, { path, metaPath }: Route): SuccessResponse {
  const meta = ref(metaPath === 'none' ? 'MetaWithoutPath' : 'Meta')
  const properties = { data: arrayOf(ref(name)), meta }
  const shownPath = metaPath === 'none' ? undefined : path.replace(/:\w+/g, '1')
  return {
    description: 'A page of the listing.',
    content: json(
      { type: 'object', properties, required: ['data', 'meta'] },
      { data: [recordExamples[name]], meta: metaExample(shownPath) },
    ),
  }
}

/** The body of a route, and the errors and messages in the examples of a refused body. */
interface BodyDoc {
  readonly body: Body
  readonly errors: FieldErrors
  readonly messages?: Partial<Record<ErrorCode, string>>
}

/** Describes the body of a route. */
export function bodyOf({ body }: Route): BodyDoc | undefined {
  if (body === undefined) return undefined
  if (body === 'file') return importFile
  const { good, errors } = bodyExamples[body]
  // A body whose fields are all optional may be missing: then it equals `{}`.
  const required = 'required' in bodySchemas[body]
  return { body: { required, content: json(ref(body), good) }, errors }
}

const importFile: BodyDoc = {
  body: { required: false, content: files(formatOf.keys(), false) },
  errors: {
    body: [
      'No column for the email address. Found: "Name". Pass map[email]=COLUMN (on the command line --map email=COLUMN).',
    ],
  },
  messages: {
    unsupported_media_type: 'Imports must be text/csv or application/x-ndjson in UTF-8, not compressed.',
    invalid_json: 'After line 3 a quote is missing or out of place. The rows before it were imported.',
  },
}

function json(schema: Schema, example: unknown): Content {
  return { 'application/json': { schema, example } }
}

/** Describes a file with these media types. */
function files(types: Iterable<string>, exported: boolean): Content {
  const schema: Schema = { type: 'string' }
  return Object.fromEntries([...types].map((type) => [type, { schema, example: fileExample(type, exported) }]))
}
