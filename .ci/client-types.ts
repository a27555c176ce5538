/** Writes daemon/client/api.ts: the types of the requests and answers, from the API's description. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { documentOf } from '../daemon/api/openapi/document.ts'
import {
  type Body,
  type Operation,
  type Reference,
  type Response,
  ref,
  type Schema,
} from '../daemon/api/openapi/schema.ts'
import { files, operations } from '../daemon/client/operations.ts'

const root = join(import.meta.dirname, '..')
const generator = join(root, 'test/generated-client/node_modules/openapi-typescript/bin/cli.js')

/** Returns the text of daemon/client/api.ts. It has what the client and the console use: no headers and no examples. */
export function clientTypes(): string {
  const header = `/** Types of the API's requests and answers. Written by \`npm run reference\` from the description. */`
  return `${header}\nimport type { Method } from './methods.ts'\n\n${resources()}\n${typesOf({ ...usedSchemas(), Routes: routes })}`
}

const { paths, components } = documentOf({ tokens: true, health: false, metrics: 'none' })
const schemas: Readonly<Record<string, Schema>> = components.schemas

function operationOf(route: string): Operation {
  const [method, path] = route.split(' ') as [string, string]
  return (paths as Record<string, Record<string, Operation>>)[`/api/v1${path}`]![method.toLowerCase()]!
}

/** Returns the interface of the client's methods. They are written out, so that editors show their docstrings. */
function resources(): string {
  const about = (route: string) => {
    const { summary, description = '' } = operationOf(route)
    return `${summary}. ${description}`.trim()
  }
  const lines = Object.entries(operations).flatMap(([resource, methods]) => [
    `    readonly ${resource}: {`,
    ...Object.entries(methods).flatMap(([name, route]) => [
      `        /** ${about(route)} */`,
      `        readonly ${name}: Method<"${route}">;`,
    ]),
    '    };',
  ])
  return ['/** The methods of a client, by resource. */', 'export interface Resources {', ...lines, '}'].join('\n')
}

/** The query, the body and the answer of each route. */
const routes = objectOf(
  Object.fromEntries(
    [...Object.values(operations).flatMap((methods) => Object.values(methods)), ...Object.values(files)].map(
      (route) => [route, objectOf(partsOf(operationOf(route)))],
    ),
  ),
)

function partsOf({ parameters = [], requestBody, responses }: Operation): Record<string, Schema> {
  const query = parameters.filter((parameter) => parameter.in === 'query')
  // The generator takes a property with a default for one that is always there.
  const fields = query.map(({ name, description, schema: { default: _, ...schema } }) => [
    name,
    { ...schema, description },
  ])
  const body = jsonOf(requestBody)
  const answer = ['200', '201', '202'].map((status) => jsonOf(responses[status])).find((schema) => schema)
  return {
    ...(query.length > 0 && { query: { type: 'object', properties: Object.fromEntries(fields) } }),
    ...(body && { body }),
    ...(answer && { answer }),
  }
}

function jsonOf(described: Body | Response | Reference | undefined): Schema | undefined {
  return described && 'content' in described ? described.content?.['application/json']?.schema : undefined
}

/** An object that always has these properties. */
function objectOf(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', properties, required: Object.keys(properties) }
}

/** Returns the schemas that the routes use, also inside of others, and that of errors. */
function usedSchemas(): Record<string, Schema> {
  const used = new Set<string>()
  const add = (schema: Schema) => {
    for (const [, name] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (used.has(name!)) continue
      used.add(name!)
      add(schemas[name!]!)
    }
  }
  add({ anyOf: [routes, ref('Error')] })
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
}

/** Returns the interface `components` with the types of these schemas. */
function typesOf(schemas: Readonly<Record<string, Schema>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'mailkeep-client-types-'))
  try {
    const document = { openapi: '3.1.0', info: { title: 'mailkeep', version: '1' }, components: { schemas } }
    writeFileSync(join(folder, 'api.json'), JSON.stringify(forTypes(document)))
    execFileSync(process.execPath, [generator, join(folder, 'api.json'), '-o', join(folder, 'api.d.ts')])
    const text = readFileSync(join(folder, 'api.d.ts'), 'utf8')
    return `${/^export interface components \{\n.*?^ {4}\};\n/ms.exec(text)![0]}}\n`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function forTypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forTypes)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(
    (entry) => !isExample(...entry) && !isChoiceOfRequired(...entry) && !isPlainFormat(...entry),
  )
  return Object.fromEntries(entries.map(([name, child]) => [name, forTypes(child)]))
}

/** Whether it says only which fields are needed, as in "at least one of them". The generator takes it for any value. */
function isChoiceOfRequired(name: string, choices: unknown): boolean {
  return name === 'anyOf' && Array.isArray(choices) && choices.every((one) => Object.keys(one).join() === 'required')
}

/** Whether it is the format of an id or a UUID, which says no more than its type and its name. */
function isPlainFormat(name: string, value: unknown): boolean {
  return name === 'format' && (value === 'int64' || value === 'uuid')
}

/** Whether it is an example of OpenAPI, and not a property with that name. */
function isExample(name: string, value: unknown): boolean {
  const isSchema = typeof value === 'object' && value !== null && ('type' in value || '$ref' in value)
  return (name === 'example' || name === 'examples') && !isSchema
}
