import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { type HttpExchange, readBody, streamBody, tooLarge } from '../request-body.ts'
import { defaultSendLimits, send } from '../send.ts'
import { bodyLeft, headersWithout } from './host-body.ts'
import type { ApiRequest } from './http-types.ts'
import { apiOf, type MountOptions, type Place, placeOf } from './mount.ts'

/** A request of node:http with what hosts put on it: Express, Connect, polka, Next.js' API routes. */
export interface HostRequest extends IncomingMessage {
  originalUrl?: string
  body?: unknown
  rawBody?: unknown
  /** `https` behind a proxy the host trusts. */
  protocol?: string
}

/** What Fastify gives its handlers. */
export interface FastifyPair {
  readonly request: {
    readonly raw: IncomingMessage
    readonly originalUrl: string
    readonly protocol: string
    body: unknown
  }
  readonly reply: { readonly raw: ServerResponse; hijack(): unknown; callNotFound(): unknown }
}

/** What Koa gives its middleware. */
export interface KoaContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly request: object
  readonly url: string
  readonly originalUrl: string
  readonly protocol: string
  respond?: boolean | undefined
}

/** Hands the request on to the host: Express' and Koa's `next`. */
export type Next = (error?: unknown) => unknown

/** Resolves once the request is answered, or handed on. */
export interface Handler {
  /** node:http, Express, Connect, polka, Next.js' API routes. */
  (req: HostRequest, res: ServerResponse, next?: Next): Promise<void>
  /** Koa. */
  (ctx: KoaContext, next: Next): Promise<void>
  /** Fastify. */
  (request: FastifyPair['request'], reply: FastifyPair['reply']): Promise<void>
}

/** A request in the one form, whichever host it came from. */
interface Arrival {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly source: unknown
  readonly url: string
  readonly originalUrl: string
  readonly protocol: string | undefined
  readonly body: unknown
  readonly rawBody: unknown
  readonly next: Next | undefined
  /** Tells the host that the answer is ours. */
  take(): void
}

/**
 * The API as a handler of requests of node:http, for any host that has them: plain servers, Express, Fastify, Koa,
 * Next.js' API routes. Paths that are not the API's go to `next`, where there is one.
 *
 * @throws MailkeepError `validation_failed`: no Mailkeep (a missing `await`), or an unknown option.
 * @example
 * app.use('/mail', createHandler({ mailkeep })) // Express: https://app.example/mail/api/v1/…
 * app.all('/api/v1/*', createHandler({ mailkeep })) // Fastify
 * app.use(createHandler({ mailkeep })) // Koa
 */
export function createHandler<Request = HostRequest>(options: MountOptions<Request>): Handler {
  const api = apiOf(options)
  const limits = { ...defaultSendLimits, ...(options.bodyBytes !== undefined && { bodyBytes: options.bodyBytes }) }
  return async (first: object, second: unknown, third?: Next) => {
    const arrival = arrivalOf(first, second, third)
    const place = placeOf(arrival.url, arrival.originalUrl, options.prefix)
    if (arrival.next && !(place && api.knows(place.target))) {
      await arrival.next()
      return
    }
    arrival.take()
    const { req, res } = arrival
    const exchange: HttpExchange = { req, res, awaitsContinue: false }
    try {
      send(exchange, await api.answer(requestOf(exchange, arrival, place, limits.bodyBytes)), false, limits)
    } catch (error) {
      api.logger.error({ err: error }, 'request could not be answered')
      res.destroy()
    }
  }
}

function arrivalOf(first: object, second: unknown, third: Next | undefined): Arrival {
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

function fromFastify(request: FastifyPair['request'], reply: FastifyPair['reply']): Arrival {
  const { raw: req, originalUrl, protocol, body } = request
  const { rawBody } = request as { rawBody?: unknown }
  return {
    ...{ req, res: reply.raw, source: request, url: req.url ?? '/', originalUrl, protocol, body, rawBody },
    next: () => reply.callNotFound(),
    take: () => reply.hijack(),
  }
}

function fromKoa(ctx: KoaContext, next: Next): Arrival {
  const { req, res, url, originalUrl, protocol } = ctx
  const { body, rawBody } = ctx.request as { body?: unknown; rawBody?: unknown }
  return {
    ...{ req, res, source: ctx, url, originalUrl, protocol, body, rawBody, next },
    take: () => {
      ctx.respond = false
    },
  }
}

function requestOf(exchange: HttpExchange, arrival: Arrival, place: Place | undefined, bodyBytes: number): ApiRequest {
  const { req, source, protocol } = arrival
  const left = leftBody(arrival)
  return {
    method: req.method ?? 'GET',
    target: place?.target ?? '',
    headers: left.bytes ? headersWithout(req.headers, left.bytes) : req.headers,
    prefix: place?.prefix ?? '',
    secure: protocol === 'https' || (req.socket as Partial<TLSSocket> | undefined)?.encrypted === true,
    source,
    body: async () => {
      if (left.error) throw left.error
      if (!left.bytes) return await readBody(exchange, bodyBytes)
      if (left.bytes.length > bodyBytes) throw tooLarge(bodyBytes)
      return left.bytes
    },
    stream: () => (left.bytes || left.error ? streamLeft(left) : streamBody(exchange)),
  }
}

interface LeftBody {
  readonly bytes?: Buffer | undefined
  readonly error?: unknown
}

async function* streamLeft({ bytes, error }: LeftBody): AsyncGenerator<Uint8Array> {
  if (error) throw error
  if (bytes) yield bytes
}

/** A host's mistake is shown when the body is asked for: in the log, as an answer. */
function leftBody(arrival: Arrival): LeftBody {
  try {
    return { bytes: bodyLeft(arrival, arrival.req) }
  } catch (error) {
    return { error }
  }
}
