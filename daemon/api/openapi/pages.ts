import { errorsByStatus } from './errors.ts'
import { type Answer, answersOf, type Operation } from './operation.ts'
import type { Schema } from './schema.ts'

export const pagesTag = {
  name: 'Service',
  description: 'Beyond the contract: for those who run it or write clients of it. No client’s token is needed.',
}

/** What is there beside the API's own routes. */
export interface Pages {
  /** Whether `/healthz` and `/readyz` are there. */
  readonly health: boolean
  /** Whether `/metrics` is there, and to whom it is shown. */
  readonly metrics: 'none' | 'anybody' | 'token'
}

type Path = { readonly get: Operation }

const broken = { default: { $ref: '#/components/responses/broken' } }

/** By path; each of them answers `GET`. */
export function pagePaths({ health, metrics }: Pages): Record<string, Path> {
  return {
    '/api/v1/openapi.json': description,
    ...(health && { '/healthz': healthz, '/readyz': readyz }),
    ...(metrics !== 'none' && { '/metrics': metricsPath(metrics === 'token') }),
  }
}

function pageOf(name: string, summary: string, answer: Answer, errors: Operation['responses']): Path {
  return {
    get: {
      operationId: name,
      summary,
      tags: [pagesTag.name],
      security: [],
      'x-extension': true,
      responses: { ...answersOf({ 200: answer }), ...errors, ...broken },
    },
  }
}

const unavailable = errorsByStatus(new Set(['method_not_allowed', 'unavailable']))
const failing = errorsByStatus(new Set(['method_not_allowed', 'internal', 'unavailable']))

const description = pageOf(
  'getOpenapi',
  'This description',
  {
    description: 'OpenAPI 3.1.',
    content: { 'application/json': { schema: { type: 'object' }, example: { openapi: '3.1.0' } } },
  },
  failing,
)

function statusPage(status: string): Answer {
  const schema: Schema = {
    type: 'object',
    properties: { status: { type: 'string', const: status } },
    required: ['status'],
  }
  return { description: 'Yes.', content: { 'application/json': { schema, example: { status } } } }
}

const healthz = pageOf('getHealth', 'Whether the process is there and answers', statusPage('ok'), unavailable)
const readyz = pageOf('getReadiness', 'Whether requests should come here', statusPage('ready'), failing)

const metricsExample = [
  '# HELP mailkeep_deliveries_in_flight Requests to receivers under way',
  '# TYPE mailkeep_deliveries_in_flight gauge',
  'mailkeep_deliveries_in_flight 0',
  '',
].join('\n')

function metricsPath(needsToken: boolean): Path {
  const page = {
    description: 'The figures.',
    content: { 'text/plain': { schema: { type: 'string' } as const, example: metricsExample } },
  }
  const errors = errorsByStatus(
    new Set([...(needsToken ? (['unauthenticated'] as const) : []), 'method_not_allowed', 'internal', 'unavailable']),
  )
  const path = pageOf('getMetrics', 'Figures in Prometheus’ text format', page, errors)
  return needsToken ? { get: { ...path.get, security: [{ metricsToken: [] }] } } : path
}
