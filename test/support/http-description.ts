/** Checks requests and answers against the API's own description: /api/v1/openapi.json. */
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { Ajv2020 as Ajv, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { type ApiResponse, createApi } from '../../daemon/api/index.ts'
import { testMailkeep } from '../../lib/testing.ts'
import { withBody } from './api-request.ts'

interface Ref {
  readonly $ref: string
}

interface MediaType {
  readonly schema: object
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

type Content = Readonly<Record<string, MediaType>>

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: Readonly<Record<string, unknown>>
  readonly example?: unknown
}

export interface Response {
  readonly headers?: Readonly<Record<string, Ref>>
  readonly content?: Content
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, Response | Ref>>
  readonly security?: readonly object[]
  readonly 'x-role'?: string
  readonly 'x-extension'?: boolean
}

type Path = Readonly<Record<string, Operation>>

export interface Description {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly servers: readonly { readonly url: string }[]
  readonly security?: readonly object[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Path>>
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
    readonly responses: Readonly<Record<string, Response>>
    readonly headers: Readonly<Record<string, { readonly required: boolean; readonly schema: object }>>
    readonly securitySchemes?: object
  }
}

/** The description, fetched without a token. */
export const description = await ask()

async function ask(): Promise<Description> {
  const metrics = { contentType: 'text/plain', render: async () => '' }
  const logged: string[] = []
  const logger = { error: ({ stack }: { stack?: string }) => void logged.push(String(stack)) }
  await using kit = await testMailkeep()
  const { answer } = createApi({ mailkeep: kit.mailkeep, metrics, logger })
  const target = '/api/v1/openapi.json'
  const answered = await answer({ method: 'GET', target, headers: {}, ...withBody() })
  assert.equal(answered.status, 200, `the API cannot be described: ${logged}`)
  return descriptionIn(answered)
}

/** Returns the description in an answer of the API. */
export function descriptionIn({ body, bytes }: ApiResponse): Description {
  return JSON.parse(body! + Buffer.from(bytes!))
}

/** Real clients must accept new fields in answers. These tests reject every field that is not described. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  // Each part of an `allOf` knows only its own fields, so only the whole is closed.
  const inner = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, name === 'allOf' ? value : closed(value)]),
  )
  const isRecord = inner.type === 'object' && 'properties' in inner && !('additionalProperties' in inner)
  return isRecord ? { ...inner, additionalProperties: false } : inner
}

const ajv = new Ajv({ strict: true, allowUnionTypes: true, strictRequired: false, validateSchema: false })
addFormats.default(ajv)
ajv.addFormat('idn-email', /^[^\s@]+@[^\s@]+$/u)
// Lets ajv treat the whole document as a schema by declaring its other keys.
ajv.addVocabulary(Object.keys(description))
ajv.addSchema(closed(description) as object, 'api')

const compiled = new Map<string, ValidateFunction>()

/** @param pointer Segments of a JSON Pointer to a schema of the description. */
function validatorOf(...pointer: string[]): ValidateFunction {
  const path = pointer.map((each) => encodeURIComponent(each.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
  let validate = compiled.get(path)
  if (!validate) {
    validate = ajv.getSchema(`api#/${path}`)
    assert.ok(validate, `the description has no ${path}`)
    compiled.set(path, validate)
  }
  return validate
}

function assertFits(value: unknown, what: string, ...pointer: string[]): void {
  const validate = validatorOf(...pointer)
  if (!validate(value)) assert.fail(`not as described at ${pointer.join(' ')}: ${explained(validate.errors!)}\n${what}`)
}

function explained(errors: readonly ErrorObject[]): string {
  return errors
    .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
    .join()
}

/** @throws Error when a schema uses unknown keywords, or can never be satisfied. */
export function assertSchemasAreSound(): void {
  for (const name of Object.keys(description.components.schemas)) validatorOf('components', 'schemas', name)
  for (const name of Object.keys(description.components.headers)) validatorOf('components', 'headers', name, 'schema')
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, { parameters = [] }] of Object.entries(methods)) {
      for (const at of parameters.keys()) validatorOf('paths', path, method, 'parameters', String(at), 'schema')
    }
  }
}

/** A request and its answer. */
interface Exchanged {
  readonly method: string
  readonly target: string
  /** The request body as sent. */
  readonly payload?: string | Uint8Array | undefined
  readonly status: number
  readonly headers: IncomingHttpHeaders | Readonly<Record<string, string>>
  readonly text: string
  /** For assertion messages. */
  readonly what: string
}

/** Headers that change a client's behaviour, so each must be described. */
const announced = [
  'idempotency-replayed',
  'content-disposition',
  'x-import-id',
  'www-authenticate',
  'retry-after',
  'allow',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
]

/** @throws AssertionError when the description has no such answer, or forbids the request that was accepted. */
export function assertDescribed(exchanged: Exchanged): void {
  const { method, target, status, what } = exchanged
  const found = findPath(target)
  const key = method === 'HEAD' ? 'get' : method.toLowerCase()
  const operation = found && description.paths[found]?.[key]
  if (!operation) {
    if (found) assert.ok(status >= 400, `${what}: ${found} is described without ${method}`)
    assert.ok(status >= 400, `${what}: this path is not described`)
    if (method !== 'HEAD') assertAnswer(exchanged, errorPlace(exchanged))
    return
  }
  const { responses } = operation
  // Errors of HTTP itself, before the API is reached, are described under `default`.
  const name = status in responses ? String(status) : [400, 408, 413, 431].includes(status) ? 'default' : undefined
  assert.ok(name, `${what}: the description of ${method} ${found} has no ${status}`)
  const response = responses[name]!
  const at = '$ref' in response ? response.$ref.split('/').slice(1) : ['paths', found, key, 'responses', name]
  assertAnswer(exchanged, at)
  if (status < 300) assertTaken(exchanged, operation, found, key)
}

const patterns = Object.keys(description.paths).map((path) => {
  return [path, new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '([1-9]\\d{0,15})')}$`)] as const
})

/** Finds the description's path template that matches a target. */
function findPath(target: string): string | undefined {
  const path = target.replace(/^https?:\/\/[^/?]*/i, '').split('?')[0]!
  const decoded = path.split('/').map(decode).join('/')
  const [found] =
    patterns.find(([, pattern]) => {
      const ids = pattern.exec(decoded)?.slice(1)
      return ids?.every((id) => Number.isSafeInteger(Number(id)))
    }) ?? []
  return found
}

function decode(segment: string): string {
  try {
    const text = decodeURIComponent(segment)
    return text.includes('/') ? '' : text
  } catch {
    return ''
  }
}

/** Where the answer is not described: the pointer to the schema of its error code. */
function errorPlace({ text, what, status }: Exchanged): string[] {
  if ([400, 408, 413, 431].includes(status)) return ['components', 'responses', 'broken']
  const { code } = JSON.parse(text)
  // Each operation has its own response for this code, with its own example.
  if (code === 'not_found') return ['paths', '/api/v1/tags/{tagId}', 'patch', 'responses', '404']
  assert.ok(code in description.components.responses, what)
  return ['components', 'responses', code]
}

/** A place in the description that has a schema and should have an example. */
interface Exemplified {
  /** Segments of a JSON Pointer. */
  readonly at: readonly string[]
  readonly examples: readonly unknown[]
}

/** Returns every body of requests and answers, with its examples. */
export function bodiesWithExamples(): Exemplified[] {
  const found: Exemplified[] = []
  const walk = (value: unknown, at: readonly string[]) => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, inner] of Object.entries(value)) {
      if (name === 'example' || name === 'examples' || name === 'schemas') continue
      if (name !== 'content') walk(inner, [...at, name])
      else {
        for (const [type, { example, examples }] of Object.entries(inner as Content)) {
          const all = examples ? Object.values(examples).map(({ value }) => value) : [example]
          found.push({ at: [...at, name, type], examples: all.filter((each) => each !== undefined) })
        }
      }
    }
  }
  walk(description, [])
  return found
}

/** @throws AssertionError when an example is missing or does not match its schema. */
export function assertExamplesFit(): void {
  for (const { at, examples } of bodiesWithExamples()) {
    assert.ok(examples.length > 0, `${at.join(' ')} has no example`)
    for (const example of examples) assertFits(example, JSON.stringify(example), ...at, 'schema')
  }
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, { parameters = [] }] of Object.entries(methods)) {
      for (const [at, { example }] of parameters.entries()) {
        const place = ['paths', path, method, 'parameters', String(at), 'schema']
        if (example !== undefined) assertFits(example, `${path} ${method}`, ...place)
      }
    }
  }
}

function assertAnswer({ method, headers, text, what }: Exchanged, at: readonly string[]): void {
  const response = at.reduce<unknown>(
    (place, name) => (place as Record<string, unknown>)[name],
    description,
  ) as Response
  const described = Object.keys(response.headers ?? {})
  for (const name of described) {
    const value = (headers as Record<string, string | undefined>)[name.toLowerCase()]
    assert.ok(value !== undefined || !description.components.headers[name]!.required, `${what}: there is no ${name}`)
    if (value === undefined) continue
    assertFits(
      /^\d+$/.test(value) && name !== 'X-Request-Id' ? Number(value) : value,
      what,
      'components',
      'headers',
      name,
      'schema',
    )
  }
  for (const name of announced) {
    if (name in headers)
      assert.ok(
        described.some((each) => each.toLowerCase() === name),
        `${what}: ${name} is not described`,
      )
  }
  if (!response.content) assert.equal(text, '', what)
  else if (method !== 'HEAD') assertBody(response.content, headers, text, what, at)
}

function assertBody(
  content: Content,
  headers: Exchanged['headers'],
  text: string,
  what: string,
  at: readonly string[],
) {
  const type = String(headers['content-type']).split(';')[0]!
  assert.ok(type in content, `${what}: ${type} is not described`)
  if (type === 'application/json') assertFits(JSON.parse(text), what, ...at, 'content', type, 'schema')
  // OpenAPI 3.1 cannot describe single lines, so each line is checked here.
  const lines = type === 'application/x-ndjson' ? text.split('\n').filter((line) => line !== '') : []
  const record = /\/import(\?| )/.test(what) ? 'ImportRowResult' : 'Contact'
  for (const line of lines)
    if (!line.startsWith('{"error":')) assertFits(JSON.parse(line), what, 'components', 'schemas', record)
}

/** Asserts that the description allows a request that was accepted. */
function assertTaken(
  { payload, what, text: answer }: Exchanged,
  operation: Operation,
  path: string,
  key: string,
): void {
  // A batch is accepted with operations that are refused, each in its result.
  if (path.endsWith('/batch') && answer.includes('"refused"')) return
  const text = payload === undefined ? '' : Buffer.from(payload as string).toString()
  const { requestBody } = operation
  if (text === '') assert.ok(!requestBody?.required, `${what}: accepted without a body`)
  else if (requestBody && !('application/json' in requestBody.content)) return
  else if (requestBody) {
    const at = ['paths', path, key, 'requestBody', 'content', 'application/json', 'schema']
    assertFits(trimmed(JSON.parse(text)), `${what} for ${text.slice(0, 500)}`, ...at)
  } else if (key !== 'delete' && key !== 'get')
    assert.deepEqual(JSON.parse(text), {}, `${what}: its body is not described`)
}

/** Trims strings and normalises them to NFC, because length limits apply after that. */
function trimmed(value: unknown): unknown {
  if (typeof value === 'string') return value.trim().normalize('NFC')
  if (Array.isArray(value)) return value.map(trimmed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, trimmed(field)]))
}

/** @throws AssertionError when the webhook is not described. */
export function assertWebhookDescribed(headers: IncomingHttpHeaders, raw: string): void {
  const body = JSON.parse(raw)
  const what = `webhook ${raw.slice(0, 500)}`
  const operation = description.webhooks[body.type]?.post
  assert.ok(operation, `${what} is not described`)
  assertFits(body, what, 'webhooks', body.type, 'post', 'requestBody', 'content', 'application/json', 'schema')
  for (const [at, { name }] of operation.parameters!.entries()) {
    const pointer = ['webhooks', body.type, 'post', 'parameters', String(at), 'schema']
    assertFits(headers[name.toLowerCase()], `${what}: ${name}`, ...pointer)
  }
}
