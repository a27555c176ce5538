import { type ErrorCode, type FieldErrors, inputLimits } from '../../../lib/index.ts'
import { keyPattern, takesKey } from '../idempotency.ts'
import type { Params, Route } from '../routes/route.ts'
import { brokenResponse, errorsByStatus } from './errors.ts'
import { answerHeaders, headerRefs } from './headers.ts'
import { id, type Schema } from './schema.ts'

/** By media type. */
export type Content = Readonly<Record<string, MediaType>>

interface MediaType {
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
  readonly example?: unknown
}

export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>
  readonly content?: Content
}

interface Body {
  /** Whether there must be one; else `{}` stands for it. */
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
  readonly 'x-role'?: Route['role']
  readonly 'x-extension'?: true
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>
}

/** An answer when all is well. */
export interface Answer {
  readonly description: string
  readonly content?: Content
  /** Beside those that every answer has. */
  readonly headers?: readonly string[]
}

/** What is said of a route beside what its row says already. */
export interface Described {
  /** `operationId`: what a client made from the description calls it. */
  readonly name: string
  readonly summary: string
  readonly description?: string
  readonly query?: readonly Parameter[]
  /** With what is wrong in the example of a body that is refused. */
  readonly body?: Body & { readonly errors: FieldErrors; readonly messages?: Partial<Record<ErrorCode, string>> }
  /** The answers when all is well, by status. */
  readonly answers: Readonly<Record<number, Answer>>
  /** What can go wrong beside what its row tells. */
  readonly errors?: readonly ErrorCode[]
  /** What is wrong in the example of 422, where neither body nor query tell. */
  readonly refused?: FieldErrors
}

/** Routes of one slice, by method and path as they stand in its rows. */
export type DescribedRoutes = Readonly<Record<string, Described>>

export function operationOf(route: Route, described: Described, tag: string, isExtension: boolean): Operation {
  const { name, summary, description, query = [], body, answers, errors = [], refused } = described
  const parameters = [...idsOf(route), ...query, ...(takesKey(route) ? [key] : [])]
  return {
    operationId: name,
    summary,
    ...texts(description, route.role === 'admin' && 'Needs a token with the role `admin`.'),
    tags: [tag],
    'x-role': route.role,
    ...(isExtension && { 'x-extension': true }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: body.required, content: body.content } }),
    responses: {
      ...answersOf(answers, takesKey(route) ? ['Idempotency-Replayed'] : []),
      ...errorsByStatus(new Set([...errorsOf(route), ...errors]), {
        record: recordOf(route),
        errors: refused ?? body?.errors ?? queryErrorsOf(query),
        messages: body?.messages,
      }),
      default: { $ref: '#/components/responses/broken' },
    },
  }
}

/** With the headers that every answer has. */
export function answersOf(answers: Described['answers'], common: readonly string[] = []): Record<string, Response> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, content, headers = [] }]) => [
      status,
      { description, headers: headerRefs([...answerHeaders, ...common, ...headers]), ...(content && { content }) },
    ]),
  )
}

export const otherResponses = { broken: brokenResponse }

function texts(...parts: readonly (string | false | undefined)[]): { description?: string } {
  const description = parts.filter(Boolean).join(' ')
  return description === '' ? {} : { description }
}

/** What the path names last: what is not found. */
function recordOf({ path }: Route): string {
  const name = [...path.matchAll(/:(\w+)Id/g)].at(-1)?.[1]
  return name === 'endpoint' ? 'webhook endpoint' : (name ?? 'record')
}

function queryErrorsOf(query: readonly Parameter[]): FieldErrors {
  return query.some(({ name }) => name === 'per_page')
    ? { per_page: [`This must be between 1 and ${inputLimits.pageRecords}.`] }
    : query.length > 0
      ? { tag: [`There is no "tag" here. Known: ${query.map(({ name }) => name.replace('[]', '')).join(', ')}.`] }
      : { dry_run: ['There is no such parameter here: this operation takes none.'] }
}

const idsTell: Readonly<Record<keyof Params, string>> = {
  tagId: 'A tag.',
  contactId: 'A contact.',
  listId: 'A list.',
  topicId: 'A topic.',
  endpointId: 'A webhook endpoint.',
  deliveryId: 'A delivery of the endpoint.',
  recoveryId: 'A recovery of the endpoint.',
  identityId: 'An email identity.',
}

function idsOf({ path }: Route): Parameter[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    description: idsTell[name as keyof Params],
    schema: id,
    example: 1,
  }))
}

const key: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'For requests that may be repeated: the first answer of success is kept for 24 hours, and told again to whoever sends the same key with the same body.',
  schema: { type: 'string', pattern: keyPattern.source },
  example: 'order-4711',
}

function errorsOf(route: Route): ErrorCode[] {
  const { method, path, role } = route
  return [
    'unauthenticated',
    ...(role === 'admin' ? (['forbidden'] as const) : []),
    ...(path.includes(':') ? (['not_found'] as const) : []),
    'validation_failed', // an unknown parameter, at least
    ...(method === 'POST' || method === 'PUT' || method === 'PATCH' ? bodyErrorsOf(route) : []),
    ...(takesKey(route) ? (['idempotency_mismatch'] as const) : []),
    'internal',
    'unavailable',
  ]
}

function bodyErrorsOf({ takes }: Route): ErrorCode[] {
  const tooLarge = takes === 'file' ? [] : (['body_too_large'] as const)
  return ['unsupported_media_type', ...tooLarge, 'invalid_json', 'conflict']
}
