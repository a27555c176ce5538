import { useContext } from 'preact/hooks'
import type { Schema } from '../../api/openapi/schema.ts'
import { Described, type Description, resolve } from './description.ts'

/** Levels of records within records that are shown. */
const maxDepth = 4

/** The fields of a record: name, type and meaning. */
export function Fields({ schema, depth = 0 }: { schema: Schema; depth?: number }) {
  const description = useContext(Described)
  const whole = flatten(description, schema)
  const properties = Object.entries(whole.properties ?? {})
  if (properties.length === 0) {
    return (
      <p>
        <code>{typeOf(description, schema)}</code> <Prose text={whole.description} />
      </p>
    )
  }
  return (
    <dl class="fields">
      {properties.map(([name, field]) => (
        <Field key={name} name={name} schema={field} required={whole.required?.includes(name) ?? false} depth={depth} />
      ))}
    </dl>
  )
}

interface FieldProps {
  readonly name: string
  readonly schema: Schema
  readonly required: boolean
  readonly depth: number
}

function Field({ name, schema, required, depth }: FieldProps) {
  const description = useContext(Described)
  const inner = recordIn(description, schema)
  return (
    <>
      <dt>
        <code>{name}</code> <span class="muted">{typeOf(description, schema)}</span>
        {required && <span class="muted">, required</span>}
      </dt>
      <dd>
        <Prose text={schema.description} />
        <Limits schema={schema} />
        {inner && depth < maxDepth && (
          <details>
            <summary>Fields of {name}</summary>
            <Fields schema={inner} depth={depth + 1} />
          </details>
        )}
      </dd>
    </>
  )
}

/** Text with `code` between backticks. */
export function Prose({ text }: { text: string | undefined }) {
  if (!text) return null
  return <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={`${at}-${part}`}>{part}</code> : part))}</>
}

/** The values that a field or a parameter may have. */
export function Limits({ schema }: { schema: Schema }) {
  const facts = [
    schema.enum && `one of ${schema.enum.map(String).join(', ')}`,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
    schema.minimum !== undefined && `at least ${schema.minimum}`,
    schema.maximum !== undefined && `at most ${schema.maximum}`,
    schema.maxLength !== undefined && `at most ${schema.maxLength} characters`,
    schema.maxItems !== undefined && `at most ${schema.maxItems} values`,
  ].filter(Boolean)
  return facts.length === 0 ? null : <span class="muted"> {facts.join('; ')}.</span>
}

/** Returns one record of all parts. */
function flatten(description: Description, given: Schema): Schema {
  const schema = resolve<Schema>(description, given as Schema & { $ref: string })
  if (!schema.allOf) return schema
  const parts = schema.allOf.map((part) => flatten(description, part))
  return {
    ...schema,
    properties: Object.assign({}, schema.properties, ...parts.map(({ properties }) => properties)),
    required: [...(schema.required ?? []), ...parts.flatMap(({ required }) => required ?? [])],
  }
}

/** Returns the record that a field holds, or of which it holds several. */
function recordIn(description: Description, given: Schema): Schema | undefined {
  const schema = flatten(description, given.items ?? given)
  return Object.keys(schema.properties ?? {}).length > 0 ? schema : undefined
}

export function typeOf(description: Description, given: Schema): string {
  const named = given.$ref?.split('/').at(-1)
  if (named !== undefined) return named
  if (given.const !== undefined) return JSON.stringify(given.const)
  if (given.items) return `list of ${typeOf(description, given.items)}`
  if (given.anyOf) return given.anyOf.map((choice) => typeOf(description, choice)).join(' or ')
  const type = Array.isArray(given.type) ? given.type.join(' or ') : (given.type ?? 'value')
  return given.format ? `${type} (${given.format})` : String(type)
}
