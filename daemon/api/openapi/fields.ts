/** Derives the schemas of the description from the schemas of the library. */
import { inputLimits } from '../../../lib/index.ts'
import type { AnySchema } from '../../../lib/schemas.ts'
import * as schemas from '../../../lib/schemas.ts'
import { anyFields, arrayOf, flag, id, nullable, offset, record, ref, type Schema, text, utc, uuid } from './schema.ts'

export const email = { type: 'string', format: 'idn-email', examples: ['ada@example.org'] } as const
export const address = { type: 'string', format: 'idn-email', maxLength: inputLimits.emailCharacters } as const

export const name = {
  type: 'string',
  minLength: 1,
  maxLength: inputLimits.nameCharacters,
  description: 'Trimmed and normalized to NFC before its length is checked.',
} as const

/** Names a contact. */
export const contactKey: Schema = {
  type: ['integer', 'object'],
  minimum: 1,
  properties: { email: address },
  required: ['email'],
  description: 'The contact: its id, or `{email}`.',
}

const named: ReadonlyMap<unknown, Schema> = new Map<unknown, Schema>([
  [schemas.Id, id],
  [schemas.Uuid, uuid],
  [schemas.Time, utc],
  [schemas.OffsetTime, offset],
  [schemas.Email, email],
  [schemas.EmailAddress, address],
  [schemas.IdInput, id],
  [schemas.QueryId, id],
  [schemas.Ids, { ...arrayOf(id), maxItems: inputLimits.values }],
  [schemas.Key, contactKey],
  [schemas.Name, name],
])

const recordNames = new Map<unknown, string>([
  [schemas.tagFields, 'Tag'],
  [schemas.listFields, 'List'],
  [schemas.topicFields, 'Topic'],
  [schemas.attemptFields, 'Attempt'],
  [schemas.countFields, 'MessageCounts'],
  [schemas.stepFields, 'Step'],
  [schemas.SegmentFilters.entries, 'SegmentFilters'],
])

export function recordOf(fields: Readonly<Record<string, AnySchema>>): Schema {
  return record(schemasOf(fields))
}

export function schemasOf(fields: Readonly<Record<string, AnySchema>>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]))
}

/**
 * Returns the schema of a request body, without the fields that are always refused.
 *
 * @param entries The fields of the schema that checks the body.
 * @param texts Descriptions of fields, or other keywords that the library's schema does not have.
 */
export function inputOf<Name extends string>(
  { entries }: { readonly entries: Readonly<Record<Name, AnySchema>> },
  texts: { readonly [_ in Name]?: string | Schema } = {},
): Schema {
  const fields = (Object.entries(entries) as [Name, AnySchema][]).filter(([, field]) => !isRefused(field))
  const required = fields.filter(([, { type }]) => type !== 'optional').map(([name]) => name)
  const properties = fields.map(([name, field]) => {
    const text: string | Schema | undefined = texts[name]
    return [name, { ...schemaOf(field), ...(typeof text === 'string' ? { description: text } : text) }]
  })
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

function isRefused(field: AnySchema): boolean {
  return 'wrapped' in field && (field.wrapped as AnySchema).type === 'never'
}

function schemaOf(field: AnySchema): Schema {
  const schema = named.get(field)
  if (schema) return schema
  if ('entries' in field || !('pipe' in field)) return plainSchemaOf(field)
  const [base, ...actions] = field.pipe as [AnySchema, ...Action[]]
  return Object.assign({}, schemaOf(base), ...actions.map((action) => keywordsOf(action, field)))
}

interface Action {
  readonly kind?: string
  readonly type?: string
  readonly requirement?: unknown
  readonly characters?: number
  readonly description?: string
}

/** Returns what an action of a pipe adds to the schema. */
function keywordsOf(action: Action, field: AnySchema): Schema {
  if (action.kind === 'schema') return schemaOf(action as AnySchema)
  const { type, requirement, characters, description } = action
  if (characters !== undefined) return { maxLength: characters }
  if (type === 'regex') return { pattern: (requirement as RegExp).source }
  if (type === 'safe_integer') return { type: 'integer' }
  const unit = field.type === 'array' ? 'Items' : 'Length'
  if (type === 'min_length') return { [`min${unit}`]: requirement }
  if (type === 'max_length') return { [`max${unit}`]: requirement }
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
    case 'unknown':
      return {}
    case 'custom':
    case 'object': {
      if (entries === undefined) return anyFields // the library checks only that it is an object
      const name = recordNames.get(entries)
      return name === undefined ? inputOf({ entries }) : ref(name)
    }
    default:
      throw new Error(`The description has no schema for ${field.type}`)
  }
}
