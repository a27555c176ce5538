import { errorsByStatus } from './errors.ts'
import { type SuccessResponse, successResponses } from './operation.ts'
import { anyFields, type Operation, type Schema } from './schema.ts'

export const pagesTag = {
  name: 'Service',
  description: 'Beyond the contract: pages for operators and client developers. No client’s token is needed.',
}

/** Service pages that are served beside the API's routes. */
export interface ServicePages {
  /** Whether `/healthz` and `/readyz` exist. */
  readonly health: boolean
  /** Whether `/metrics` exists, and whether it requires a token. */
  readonly metrics: 'none' | 'anybody' | 'token'
}

type Path = { readonly get: Operation }

const broken = { default: { $ref: '#/components/responses/broken' } }

/** Describes the service pages by path. Each answers `GET`. */
export function pagePaths({ health, metrics }: ServicePages): Record<string, Path> {
  return {
    '/api/v1/openapi.json': description,
    ...(health && { '/healthz': healthz, '/readyz': readyz }),
    ...(metrics !== 'none' && { '/metrics': metricsPath(metrics === 'token') }),
  }
}

function pageOf(
  name: string,
  summary: string,
  answer: SuccessResponse,
  errors: Operation['responses'],
  description = 'Needs no token.',
): Path {
  return {
    get: {
      operationId: name,
      summary,
      description,
      tags: [pagesTag.name],
      security: [],
      'x-extension': true,
      responses: { ...successResponses([['200', answer]]), ...errors, ...broken },
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
    content: { 'application/json': { schema: anyFields, example: { openapi: '3.1.0' } } },
  },
  failing,
)

function statusPage(status: string): SuccessResponse {
  const schema: Schema = {
    type: 'object',
    properties: { status: { type: 'string', const: status } },
    required: ['status'],
  }
  return { description: 'Yes.', content: { 'application/json': { schema, example: { status } } } }
}

const healthz = pageOf('getHealth', 'Whether the process is alive', statusPage('ok'), unavailable)
const readyz = pageOf('getReadiness', 'Whether the process is ready for requests', statusPage('ready'), failing)

const metricsExample = [
  '# HELP mailkeep_deliveries_in_flight Requests to receivers under way',
  '# TYPE mailkeep_deliveries_in_flight gauge',
  'mailkeep_deliveries_in_flight 0',
  '',
].join('\n')

function metricsPath(needsToken: boolean): Path {
  const page = {
    description: 'The metrics.',
    content: { 'text/plain': { schema: { type: 'string' } as const, example: metricsExample } },
  }
  const errors = errorsByStatus(
    new Set([...(needsToken ? (['unauthenticated'] as const) : []), 'method_not_allowed', 'internal', 'unavailable']),
  )
  const path = pageOf(
    'getMetrics',
    'Metrics in Prometheus’ text format',
    page,
    errors,
    needsToken ? 'Needs the metrics token.' : undefined,
  )
  return needsToken ? { get: { ...path.get, security: [{ metricsToken: [] }] } } : path
}
