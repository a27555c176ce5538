import { version } from '../../../lib/index.ts'
import { rolesText } from '../../../lib/internal.ts'
import { chapters } from '../routes/index.ts'
import { bodySchemas, segmentFilters } from './bodies.ts'
import { brokenResponse, errorResponses, errorSchema } from './errors.ts'
import { eventSchemas, webhooks } from './events.ts'
import { headers } from './headers.ts'
import { operationOf } from './operation.ts'
import { pagePaths, pagesTag, type ServicePages } from './pages.ts'
import { recordSchemas } from './records.ts'
import type { Operation } from './schema.ts'
import { webhookSchemas } from './webhook-records.ts'

/** Options that depend on how the API is served. */
interface ServeOptions extends ServicePages {
  /** Whether clients use mailkeep's tokens. If not, the host authenticates them. */
  readonly tokens: boolean
}

/** Returns the document without `openapi` and without `servers`, which depends on the request. */
export function documentOf(options: ServeOptions) {
  return {
    info: {
      title: 'mailkeep',
      version,
      summary: 'An email-marketing back end: contacts, consent, newsletters, sequences and signed webhooks.',
      description: options.tokens ? `${about} ${aboutTokens}` : `${about} The host authenticates the callers.`,
      contact: { name: 'mailkeep', url: 'https://github.com/mailkeep/mailkeep' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    ...(options.tokens && { security: [{ token: [] }] }),
    tags: [
      ...chapters.map(({ tag, description }) => ({ name: tag, description })),
      pagesTag,
      { name: 'Deliveries', description: 'Requests that the service sends to webhook endpoints.' },
    ],
    paths: { ...routePaths(), ...pagePaths(options) },
    webhooks: webhooks(),
    components: {
      schemas: {
        ...recordSchemas,
        ...webhookSchemas,
        ...bodySchemas,
        SegmentFilters: segmentFilters,
        ...eventSchemas,
        Error: errorSchema,
      },
      responses: { ...errorResponses, broken: brokenResponse },
      headers,
      ...securityOf(options),
    },
  }
}

const about = [
  'A record is in `data`. A listing also has `meta`, with cursors.',
  'Every path with `GET` answers `HEAD` in the same way, without the body. Other methods are answered with 405 and `Allow`.',
  'Texts must not contain NUL characters or unpaired surrogates.',
  'Operations marked `x-extension` are not part of the contract.',
].join(' ')

const aboutTokens = `An operation needs a token with its \`x-role\` or a higher role: ${rolesText} Without a valid token every path below \`/api/v1\` is answered with 401, except this description.`

function securityOf({ tokens, metrics }: ServeOptions) {
  const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description })
  const securitySchemes = {
    ...(tokens && { token: bearer('A token of a client.') }),
    ...(metrics === 'token' && { metricsToken: bearer('The metrics token.') }),
  }
  return Object.keys(securitySchemes).length > 0 ? { securitySchemes } : {}
}

function routePaths(): Record<string, Record<string, Operation>> {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const chapter of chapters) {
    for (const route of chapter.routes) {
      const path = `/api/v1${route.path.replace(/:(\w+)/g, '{$1}')}`
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, chapter) }
    }
  }
  return paths
}
