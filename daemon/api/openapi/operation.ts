import { type ErrorCode, type FieldErrors, inputLimits } from '../../../lib/index.ts'
import { keyPattern, takesKey } from '../idempotency.ts'
import type { Chapter } from '../routes/index.ts'
import type { Params, QueryDoc, Route } from '../routes/route.ts'
import { answerOf, bodyOf } from './answers.ts'
import { errorsByStatus } from './errors.ts'
import { answerHeaders, headerRefs } from './headers.ts'
import { type Content, id, type Operation, type Parameter, type Response } from './schema.ts'

/** A success answer. */
export interface SuccessResponse {
  readonly description: string
  readonly content?: Content
  /** Names of headers besides those that every answer has. */
  readonly headers?: readonly string[]
}

export function operationOf(route: Route, { tag, isExtension }: Chapter): Operation {
  const { name, summary, description, query = {}, answers, errors = [], refused } = route
  const body = bodyOf(route)
  const parameters = [...idParameters(route), ...queryParameters(query), ...(takesKey(route) ? [key] : [])]
  const successes = Object.entries(answers).map(([status, answer]) => [status, answerOf(answer, route)] as const)
  return {
    operationId: name,
    summary,
    description: description === undefined ? roleNotes[route.role] : `${description} ${roleNotes[route.role]}`,
    tags: [tag],
    'x-role': route.role,
    ...(isExtension && { 'x-extension': true }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body.body }),
    responses: {
      ...successResponses(successes, takesKey(route) ? ['Idempotency-Replayed'] : []),
      ...errorsByStatus(new Set([...errorsOf(route), ...errors]), {
        record: recordOf(route),
        errors: refused ?? body?.errors ?? queryErrorsOf(Object.keys(query)),
        messages: body?.messages,
      }),
      default: { $ref: '#/components/responses/broken' },
    },
  }
}

/** Adds the headers that every answer has. */
export function successResponses(
  answers: readonly (readonly [status: string, SuccessResponse])[],
  common: readonly string[] = [],
): Record<string, Response> {
  return Object.fromEntries(
    answers.map(([status, { description, content, headers = [] }]) => [
      status,
      { description, headers: headerRefs([...answerHeaders, ...common, ...headers]), ...(content && { content }) },
    ]),
  )
}

const roleNotes: Readonly<Record<Route['role'], string>> = {
  viewer: 'Needs a token of any role.',
  member: 'Needs a token with the role `member` or `admin`.',
  admin: 'Needs a token with the role `admin`.',
}

/** Returns the last record in the path, for the message of 404. */
function recordOf({ path }: Route): string {
  const name = [...path.matchAll(/:(\w+)Id/g)].at(-1)?.[1]
  return name === 'endpoint' ? 'webhook endpoint' : (name ?? 'record')
}

function queryErrorsOf(names: readonly string[]): FieldErrors {
  return names.includes('per_page')
    ? { per_page: [`This must be between 1 and ${inputLimits.pageRecords}.`] }
    : names.length > 0
      ? { tag: [`There is no "tag" here. Known: ${names.map((name) => name.replace('[]', '')).join(', ')}.`] }
      : { dry_run: ['There is no such parameter here: this operation takes none.'] }
}

const idDescriptions: Readonly<Record<keyof Params, string>> = {
  tagId: 'A tag.',
  contactId: 'A contact.',
  listId: 'A list.',
  topicId: 'A topic.',
  newsletterId: 'The newsletter.',
  sequenceId: 'The sequence.',
  segmentId: 'A segment.',
  suppressionId: 'A suppression.',
  endpointId: 'A webhook endpoint.',
  deliveryId: 'A delivery of the endpoint.',
  recoveryId: 'A recovery of the endpoint.',
  emailIdentityId: 'An email identity.',
  tokenId: 'A token.',
  importId: 'An import.',
}

function idParameters({ path }: Route): Parameter[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    description: idDescriptions[name as keyof Params],
    schema: id,
    example: 1,
  }))
}

function queryParameters(query: QueryDoc): Parameter[] {
  return Object.entries(query).map(([name, { description, schema, ...example }]) => ({
    name,
    in: 'query',
    description,
    schema,
    ...example,
  }))
}

const key: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'For safe retries. The first success answer is stored for 24 hours and returned again for the same key with the same body.',
  schema: { type: 'string', pattern: keyPattern.source },
  example: 'order-4711',
}

function errorsOf(route: Route): ErrorCode[] {
  const { method, path, body } = route
  const takesBody = body !== undefined || method === 'POST' || method === 'PUT' || method === 'PATCH'
  return [
    'unauthenticated',
    'forbidden', // the link of a portal opens few routes
    ...(path.includes(':') ? (['not_found'] as const) : []),
    'validation_failed', // every route refuses unknown parameters
    ...(takesBody ? bodyErrorsOf(route) : []),
    ...(takesKey(route) ? (['idempotency_mismatch'] as const) : []),
    'internal',
    'unavailable',
  ]
}

function bodyErrorsOf({ body }: Route): ErrorCode[] {
  const tooLarge = body === 'file' ? [] : (['body_too_large'] as const)
  return ['unsupported_media_type', ...tooLarge, 'invalid_json', 'conflict']
}
