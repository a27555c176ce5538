/** Derives the schemas of the description from the schemas of the library. */
import type { AnySchema } from '../../../lib/schemas.ts'
import * as schemas from '../../../lib/schemas.ts'
import { arrayOf, flag, id, nullable, offset, record, ref, type Schema, text, utc, uuid } from './schema.ts'

export const email = { type: 'string', format: 'idn-email', examples: ['ada@example.org'] } as const

const named: ReadonlyMap<unknown, Schema> = new Map<unknown, Schema>([
  [schemas.Id, id],
  [schemas.Uuid, uuid],
  [schemas.Time, utc],
  [schemas.OffsetTime, offset],
  [schemas.Email, email],
])

const recordNames = new Map<unknown, string>([
  [schemas.tagFields, 'Tag'],
  [schemas.listFields, 'List'],
  [schemas.topicFields, 'Topic'],
  [schemas.attemptFields, 'Attempt'],
  [schemas.countFields, 'MessageCounts'],
  [schemas.stepFields, 'Step'],
])

export function recordOf(fields: Readonly<Record<string, AnySchema>>): Schema {
  return record(schemasOf(fields))
}

export function schemasOf(fields: Readonly<Record<string, AnySchema>>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]))
}

function schemaOf(field: AnySchema): Schema {
  const schema = named.get(field)
  if (schema) return schema
  if (!('pipe' in field)) return plainSchemaOf(field)
  const [base, ...actions] = field.pipe as [AnySchema, ...Action[]]
  return Object.assign({}, base === field ? plainSchemaOf(field) : schemaOf(base), ...actions.map(keywordsOf))
}

interface Action {
  readonly type?: string
  readonly requirement?: unknown
  readonly characters?: number
  readonly description?: string
}

/** Returns what an action of a pipe adds to the schema. */
function keywordsOf({ type, requirement, characters, description }: Action): Schema {
  if (characters !== undefined) return { maxLength: characters }
  if (type === 'regex') return { pattern: (requirement as RegExp).source }
  if (type === 'safe_integer') return { type: 'integer' }
  if (type === 'min_value') return { minimum: requirement as number }
  if (type === 'max_value') return { maximum: requirement as number }
  return description === undefined ? {} : { description }
}

type Part = 'wrapped' | 'item' | 'value' | 'entries' | 'options'

function plainSchemaOf(field: AnySchema): Schema {
  const { wrapped, item, value, entries, options } = field as AnySchema & Record<Part, never>
  switch (field.type) {
    case 'string':
      return text
    case 'number':
      return { type: 'number' }
    case 'boolean':
      return flag
    case 'optional':
      return schemaOf(wrapped)
    case 'nullable':
      return nullable(schemaOf(wrapped) as Parameters<typeof nullable>[0])
    case 'array':
      return arrayOf(schemaOf(item))
    case 'record':
      return { type: 'object', additionalProperties: schemaOf(value) }
    case 'picklist':
      return { type: 'string', enum: options }
    case 'object':
      return ref(recordNames.get(entries)!)
    default:
      throw new Error(`The description has no schema for ${field.type}`)
  }
}
