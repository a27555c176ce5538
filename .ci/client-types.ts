/** Writes daemon/client/api.ts: the types of the requests and answers, from the API's description. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { documentOf } from '../daemon/api/openapi/document.ts'
import { operations } from '../daemon/client/operations.ts'

const root = join(import.meta.dirname, '..')
const generator = join(root, 'test/generated-client/node_modules/openapi-typescript/bin/cli.js')

/** Returns the text of daemon/client/api.ts. It has only what the client uses: neither errors, headers nor examples. */
export function clientTypes(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mailkeep-client-types-'))
  try {
    writeFileSync(join(folder, 'api.json'), JSON.stringify(reduced()))
    execFileSync(process.execPath, [generator, join(folder, 'api.json'), '-o', join(folder, 'api.d.ts')])
    const text = readFileSync(join(folder, 'api.d.ts'), 'utf8')
    const body = text.slice(text.indexOf('export interface paths'))
    const about = `/** Types of the API's requests and answers. Written by \`npm run reference\` from the description. */`
    return `${about}\nimport type { Method } from './methods.ts'\n\n${resources()}\n${body}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Returns the interface of the client's methods. They are written out, so that editors show their docstrings. */
function resources(): string {
  const { paths } = described()
  const about = (route: string) => {
    const [method, path] = route.split(' ') as [string, string]
    const { summary, description = '' } = paths[`/api/v1${path}`]![method.toLowerCase()]!
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

type Json = Readonly<Record<string, unknown>>

interface Description {
  readonly paths: Record<string, Record<string, Json>>
  readonly components: { readonly schemas: Json }
}

function described(): Description {
  return JSON.parse(JSON.stringify(documentOf({ tokens: true, health: false, metrics: 'none' })))
}

function reduced(): unknown {
  const { paths, components } = described()
  const kept = Object.entries(paths).map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, operationOf(operation)])),
  ])
  return {
    openapi: '3.1.0',
    info: { title: 'mailkeep', version: '1' },
    paths: Object.fromEntries(kept),
    components: { schemas: forTypes(components.schemas) },
  }
}

function operationOf(operation: Json): Json {
  const {
    parameters = [],
    requestBody,
    responses,
  } = operation as {
    parameters?: { in: string }[]
    requestBody?: unknown
    responses: Record<string, { content?: unknown; description: string }>
  }
  const answers = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  return forTypes({
    parameters: parameters.filter(({ in: place }) => place !== 'header'),
    ...(requestBody !== undefined && { requestBody }),
    responses: Object.fromEntries(
      answers.map(([status, { content, description }]) => [
        status,
        { description, ...(content !== undefined && { content }) },
      ]),
    ),
  }) as Json
}

function forTypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forTypes)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter((entry) => !isExample(...entry) && !isChoiceOfRequired(...entry))
  return Object.fromEntries(entries.map(([name, child]) => [name, forTypes(child)]))
}

/** Whether it says only which fields are needed, as in "at least one of them". The generator takes it for any value. */
function isChoiceOfRequired(name: string, choices: unknown): boolean {
  return name === 'anyOf' && Array.isArray(choices) && choices.every((one) => Object.keys(one).join() === 'required')
}

/** Whether it is an example of OpenAPI, and not a property with that name. */
function isExample(name: string, value: unknown): boolean {
  const isSchema = typeof value === 'object' && value !== null && ('type' in value || '$ref' in value)
  return (name === 'example' || name === 'examples') && !isSchema
}
