import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { ErrorLog } from '../api/api-options.ts'
import type { ApiRequest } from '../api/http-types.ts'
import type { Respond } from '../api/index.ts'
import { type HostBody, hostBody } from './host-body.ts'
import { apiOf, type MountedTarget, type MountOptions, type MountPlace, resolveMount } from './mount.ts'
import { type HttpExchange, readBody, streamBody, tooLarge } from './request-body.ts'
import { defaultSendLimits, send } from './send.ts'

/** A request of node:http with the fields that Express, Connect, polka and Next.js' API routes add. */
export interface HostRequest extends IncomingMessage {
  originalUrl?: string | undefined
  body?: unknown
  rawBody?: unknown
  /** `https` behind a proxy that the host trusts. */
  protocol?: string | undefined
}

/** The arguments of Fastify's handlers. */
export interface FastifyPair {
  readonly request: {
    readonly raw: IncomingMessage
    readonly originalUrl: string
    readonly protocol: string
    body: unknown
  }
  readonly reply: { readonly raw: ServerResponse; hijack(): unknown; callNotFound(): unknown }
}

/** The context of Koa's middleware. */
export interface KoaContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly request: object
  readonly url: string
  readonly originalUrl: string
  readonly protocol: string
  respond?: boolean | undefined
}

/** Passes the request on to the host: `next` of Express and Koa. */
export type Next = (error?: unknown) => unknown

/** Resolves when the request is answered or passed on. */
export interface Handler {
  /** node:http, Express, Connect, polka, Next.js' API routes. */
  (req: HostRequest, res: ServerResponse, next?: Next): Promise<void>
  /** Koa. */
  (ctx: KoaContext, next: Next): Promise<void>
  /** Fastify. */
  (request: FastifyPair['request'], reply: FastifyPair['reply']): Promise<void>
}

/** A handler call in one common form for all hosts. */
interface HostCall {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly source: unknown
  readonly url: string
  readonly originalUrl: string
  readonly protocol: string | undefined
  readonly body: unknown
  readonly rawBody: unknown
  readonly next: Next | undefined
  /** Tells the host that this handler sends the answer. */
  take(): void
}

/**
 * Creates the API as a request handler for node:http and the hosts based on it: plain servers, Express, Fastify, Koa and
 * Next.js' API routes. Requests to other paths are passed to `next`, if the host has it.
 *
 * @throws MailkeepError `validation_failed`: no Mailkeep (a missing `await`), or an unknown option.
 * @example
 * app.use('/mail', createHandler({ mailkeep })) // Express: https://app.example/mail/api/v1/…
 * app.all('/api/v1/*', createHandler({ mailkeep })) // Fastify
 * app.use(createHandler({ mailkeep })) // Koa
 */
export function createHandler<Request = HostRequest>(options: MountOptions<Request>): Handler {
  return nodeHandler(apiOf(options), options)
}

/** A surface that a host mounts. */
interface MountedSurface {
  readonly answer: Respond
  readonly logger: ErrorLog
  knows(target: string): boolean
}

/** Returns the handler of a surface for node:http and the hosts based on it. */
export function nodeHandler(surface: MountedSurface, options: MountPlace): Handler {
  const { bodyBytes = defaultSendLimits.bodyBytes } = options
  const limits = { ...defaultSendLimits, bodyBytes }
  return async (first: object, second: unknown, third?: Next) => {
    const call = hostCallOf(first, second, third)
    const mounted = resolveMount(call.url, call.originalUrl, options.prefix)
    if (call.next && !(mounted && surface.knows(mounted.target))) {
      await call.next()
      return
    }
    call.take()
    const { req, res } = call
    const exchange: HttpExchange = { req, res, awaitsContinue: false }
    try {
      send(exchange, await surface.answer(requestOf(exchange, call, mounted, bodyBytes)), false, limits)
    } catch (error) {
      surface.logger.error({ err: error }, 'request could not be answered')
      res.destroy()
    }
  }
}

function hostCallOf(first: object, second: unknown, third: Next | undefined): HostCall {
  if ('raw' in first) return fromFastify(first as FastifyPair['request'], second as FastifyPair['reply'])
  if ('req' in first && 'res' in first) return fromKoa(first as KoaContext, second as Next)
  const req = first as HostRequest
  const { url = '/', originalUrl = url, protocol, body, rawBody } = req
  return {
    req,
    res: second as ServerResponse,
    source: req,
    url,
    originalUrl,
    protocol,
    body,
    rawBody,
    next: third,
    take: () => {},
  }
}

function fromFastify(request: FastifyPair['request'], reply: FastifyPair['reply']): HostCall {
  const { raw: req, originalUrl, protocol, body } = request
  const { rawBody } = request as { rawBody?: unknown }
  return {
    ...{ req, res: reply.raw, source: request, url: req.url ?? '/', originalUrl, protocol, body, rawBody },
    next: () => reply.callNotFound(),
    take: () => reply.hijack(),
  }
}

function fromKoa(ctx: KoaContext, next: Next): HostCall {
  const { req, res, url, originalUrl, protocol } = ctx
  const { body, rawBody } = ctx.request as { body?: unknown; rawBody?: unknown }
  return {
    ...{ req, res, source: ctx, url, originalUrl, protocol, body, rawBody, next },
    take: () => {
      ctx.respond = false
    },
  }
}

function requestOf(
  exchange: HttpExchange,
  call: HostCall,
  mounted: MountedTarget | undefined,
  bodyBytes: number,
): ApiRequest {
  const { req, source, protocol } = call
  const parsed: BodyResult = {}
  try {
    parsed.body = hostBody(call, req)
  } catch (error) {
    parsed.error = error // thrown when the API reads the body, so that it is logged and answered
  }
  return {
    method: req.method ?? 'GET',
    target: mounted?.target ?? '',
    headers: parsed.body?.headers ?? req.headers,
    prefix: mounted?.prefix ?? '',
    secure: protocol === 'https' || (req.socket as Partial<TLSSocket> | undefined)?.encrypted === true,
    address: addressOf(call),
    source,
    body: async (maxBytes = Infinity) => {
      const limit = Math.min(maxBytes, bodyBytes)
      if (parsed.error) throw parsed.error
      if (!parsed.body) return await readBody(exchange, limit)
      if (parsed.body.bytes.length > limit) throw tooLarge(limit)
      return parsed.body.bytes
    },
    stream: () => (parsed.body || parsed.error ? streamHostBody(parsed) : streamBody(exchange)),
  }
}

/** Express, Fastify and Koa have the client's address as `ip`. It respects the proxies that the host trusts. */
function addressOf({ req, source }: HostCall): string | undefined {
  const { ip } = source as { ip?: unknown }
  return typeof ip === 'string' && ip !== '' ? ip : req.socket?.remoteAddress
}

interface BodyResult {
  body?: HostBody | undefined
  error?: unknown
}

async function* streamHostBody({ body, error }: BodyResult): AsyncGenerator<Uint8Array> {
  if (error) throw error
  if (body) yield body.bytes
}
