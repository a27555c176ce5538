import { type ContactPagesOptions, contactPages } from '../pages/index.ts'
import { type Handler, nodeHandler } from './node.ts'
import { type FetchHandler, fetchHandler } from './web.ts'

/** Serves the pages for contacts: a handler of node:http and the hosts based on it, and of Web-standard requests. */
export type ContactPages = Handler & FetchHandler

/**
 * Creates the pages on which contacts unsubscribe, choose lists and topics, and confirm: `/c/TOKEN/unsubscribe` and so on.
 * Mount them where `publicUrl` of `createMailkeep` leads. In node style, other paths are passed to `next`.
 *
 * @throws MailkeepError `validation_failed`: no Mailkeep (a missing `await`), or a wrong or unknown option.
 * @example
 * app.use(createContactPages({ mailkeep })) // Express, Koa
 * app.addContentTypeParser(
 *   ['application/x-www-form-urlencoded', 'multipart/form-data'],
 *   (_req, _body, done) => done(null), // Fastify answers 415 to forms without a parser
 * )
 * app.all('/c/*', createContactPages({ mailkeep })) // Fastify
 * app.all('/c/*', (c) => pages(c.req.raw)) // Hono
 */
export function createContactPages(options: ContactPagesOptions): ContactPages {
  const surface = contactPages(options)
  const node = nodeHandler(surface, options) as (...args: readonly unknown[]) => Promise<void>
  const web = fetchHandler(surface.answer, options)
  const handler = (...args: readonly unknown[]) => (isWebRequest(args[0]) ? web(args[0]) : node(...args))
  return handler as ContactPages
}

/** Checks the shape instead of the class, because some hosts have a class of their own. */
function isWebRequest(value: unknown): value is Request {
  return typeof (value as Partial<Request> | undefined)?.arrayBuffer === 'function'
}
