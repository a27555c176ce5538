import { version } from '../../../lib/index.ts'
import { contract, extensions } from '../routes/index.ts'
import type { Route } from '../routes/route.ts'
import { bodySchemas } from './bodies.ts'
import { errorResponses, errorSchema } from './errors.ts'
import { eventSchemas, webhooks } from './events.ts'
import { headers } from './headers.ts'
import { type Operation, operationOf, otherResponses } from './operation.ts'
import { type Pages, pagePaths, pagesTag } from './pages.ts'
import { recordSchemas } from './records.ts'
import { chapters } from './routes/index.ts'
import { webhookSchemas } from './webhook-records.ts'

/** What depends on how the API is served. */
export interface ServeOptions extends Pages {
  /** Whether clients come with mailkeep's own tokens; else the host finds out who they are. */
  readonly tokens: boolean
}

/**
 * @returns all of the document but its version, and `servers`, which depends on who asks.
 * @throws Error when a route is not described.
 */
export function documentOf(around: ServeOptions) {
  return {
    info: {
      title: 'mailkeep',
      version,
      summary: 'An email-marketing back end: contacts, tags, lists, topics and signed webhooks.',
      description: around.tokens ? `${about} ${aboutTokens}` : `${about} The host finds out who is calling.`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    ...(around.tokens && { security: [{ token: [] }] }),
    tags: [
      ...chapters.map(({ tag, description }) => ({ name: tag, description })),
      pagesTag,
      { name: 'Deliveries', description: 'What the service sends to webhook endpoints.' },
    ],
    paths: { ...routePaths(), ...pagePaths(around) },
    webhooks: webhooks(),
    components: {
      schemas: { ...recordSchemas, ...webhookSchemas, ...bodySchemas, ...eventSchemas, Error: errorSchema },
      responses: { ...errorResponses, ...otherResponses },
      headers,
      ...securityOf(around),
    },
  }
}

const about = [
  'A record comes in `data`, a listing with `meta` and cursors beside it.',
  'Every path that answers `GET` answers `HEAD` the same way, without the body; other methods are answered with 405 and `Allow`.',
  'Texts hold no NUL characters and no halves of surrogate pairs.',
  'What is marked `x-extension` goes beyond the contract.',
].join(' ')

const aboutTokens =
  'An operation with the `x-role` admin needs a token of that role, the others take any. Without a good token every path below `/api/v1` but this description is answered with 401.'

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
  for (const route of [...contract, ...extensions]) {
    const path = `/api/v1${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationFor(route) }
  }
  return paths
}

function operationFor(route: Route): Operation {
  const title = `${route.method} ${route.path}`
  const isExtension = extensions.includes(route)
  const chapter = chapters.find((each) => each.isExtension === isExtension && each.routes[title])
  if (!chapter) {
    throw new Error(
      `${title} is not described: see ${isExtension ? 'the extensions' : 'the contract'} in daemon/api/openapi/routes/.`,
    )
  }
  return operationOf(route, chapter.routes[title]!, chapter.tag, isExtension)
}
