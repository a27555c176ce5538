/** The parts of OpenAPI 3.1 that the description has. The console shows them. */

type Kind = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'null'

/** The part of JSON Schema 2020-12, as used by OpenAPI 3.1, that the description needs. */
export interface Schema {
  readonly $ref?: string
  readonly type?: Kind | readonly Kind[]
  readonly description?: string
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly (string | null)[]
  readonly const?: string | true
  readonly default?: string | number | boolean
  readonly examples?: readonly unknown[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly propertyNames?: Schema
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly not?: Schema
}

export type Content = Readonly<Record<string, MediaType>>

export interface MediaType {
  readonly schema: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
  readonly style?: 'deepObject'
  readonly example?: unknown
}

export interface Reference {
  readonly $ref: string
}

export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, Reference>>
  readonly content?: Content
}

export interface Body {
  /** Whether a body is required. If not, a missing body equals `{}`. */
  readonly required: boolean
  readonly content: Content
}

/** An Operation Object of OpenAPI 3.1. */
export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly 'x-role'?: string
  readonly 'x-extension'?: true
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Response | Reference>>
}

/** Exactly one schema for each field of a library type. The compiler checks that none is missing. */
type Fields<T> = { readonly [K in keyof T]-?: Schema }

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** Schema of a record in answers. Every field is required. Unknown fields are allowed, for later versions. */
export function record<T extends object>(properties: Fields<T>, description?: string): Schema {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties,
    required: Object.keys(properties),
  }
}

export function nullable({ type, ...schema }: Schema & { readonly type: Kind }): Schema {
  return { type: [type, 'null'], ...schema, ...(schema.enum && { enum: [...schema.enum, null] }) }
}

export function arrayOf(items: Schema): Schema {
  return { type: 'array', items }
}

/** Messages by field. */
export const fieldErrors: Schema = {
  type: 'object',
  additionalProperties: { ...arrayOf({ type: 'string' }), minItems: 1 },
}

/** An object with any fields. Without `additionalProperties`, generators of types take it for one without fields. */
export const anyFields = { type: 'object', additionalProperties: true } as const

export const text = { type: 'string' } as const
export const flag = { type: 'boolean' } as const
export const count = { type: 'integer', minimum: 0 } as const
export const id = { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const
export const uuid = { type: 'string', format: 'uuid' } as const

/** Times of records: UTC with microseconds. */
export const utc = {
  type: 'string',
  format: 'date-time',
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`,
  examples: ['2026-01-02T03:04:05.678901Z'],
} as const
/** Times of deliveries and endpoints: whole seconds with the offset +00:00. */
export const offset = {
  type: 'string',
  format: 'date-time',
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$`,
  examples: ['2026-01-02T03:04:05+00:00'],
} as const
