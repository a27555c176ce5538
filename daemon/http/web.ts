import { isUint8Array } from 'node:util/types'
import { ByteCollector, inTime } from '../../lib/internal.ts'
import type { ApiRequest } from '../api/http-types.ts'
import type { Respond } from '../api/index.ts'
import { apiOf, type MountedTarget, type MountOptions, type MountPlace, resolveMount } from './mount.ts'
import { endedEarly, tooLarge, turnForBody } from './request-body.ts'
import { defaultSendLimits } from './send.ts'

/** A handler of Web-standard requests. It never rejects. */
export type FetchHandler = (request: Request) => Promise<Response>

/**
 * Creates the API as a Web-standard handler, for Hono, similar frameworks and Next.js' route files.
 *
 * @throws MailkeepError `validation_failed`: no Mailkeep (a missing `await`), or an unknown option.
 * @example
 * app.all('/api/v1/*', (c) => handler(c.req.raw)) // Hono
 * export { handler as GET, handler as POST } // app/api/v1/[...path]/route.ts of Next.js
 */
export function createFetchHandler(options: MountOptions<Request>): FetchHandler {
  return fetchHandler(apiOf(options).answer, options)
}

/** Returns the handler of a surface for Web-standard requests. */
export function fetchHandler(answer: Respond, options: MountPlace): FetchHandler {
  const { bodyBytes = defaultSendLimits.bodyBytes } = options
  return async (request) => {
    const url = new URL(request.url)
    const path = request.url.slice(request.url.indexOf('/', url.protocol.length + 2)).replace(/#.*$/s, '')
    const mounted = resolveMount(path, path, options.prefix)
    const { status, headers, body, bytes, stream } = await answer(requestOf(request, url, mounted, bodyBytes))
    const ends = (await readToEnd(request)) ? {} : { Connection: 'close' }
    const whole = bytes && body !== undefined ? Buffer.concat([Buffer.from(body), bytes]) : (bytes ?? body ?? null)
    return new Response(stream ? webStream(stream) : whole, { status, headers: { ...headers, ...ends } })
  }
}

/**
 * Reads and discards the unread rest of the body. Some servers reset a connection with an unread body, and the next
 * request on it would fail.
 *
 * @returns Whether the body has ended. If not, the connection must end after the answer.
 */
async function readToEnd(request: Request): Promise<boolean> {
  const { body } = request
  if (body === null || body.locked) return true
  const { drainBytes, drainMs } = defaultSendLimits
  if (Number(request.headers.get('content-length')) > drainBytes) return false
  return await inTime(drain(body, drainBytes), drainMs, () => false)
}

async function drain(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<boolean> {
  let bytes = 0
  try {
    for await (const chunk of body.values({ preventCancel: true })) {
      bytes += chunk.length
      if (bytes > maxBytes) return false
    }
    return true
  } catch {
    return false // the client has disconnected
  }
}

function requestOf(request: Request, url: URL, mounted: MountedTarget | undefined, bodyBytes: number): ApiRequest {
  const headers: Record<string, string> = { ...Object.fromEntries(request.headers), host: url.host }
  // A Request created in memory has no headers that declare its body.
  if (request.body !== null && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked'
  return {
    method: request.method,
    target: mounted?.target ?? '',
    headers,
    prefix: mounted?.prefix ?? '',
    secure: url.protocol === 'https:',
    source: request,
    body: (maxBytes = Infinity) => readWebBody(request, Math.min(maxBytes, bodyBytes)),
    stream: () => streamWebBody(request),
  }
}

/** Converts text chunks to a stream with back-pressure: a chunk is produced only on demand. */
function webStream(text: AsyncIterable<string>): ReadableStream {
  const chunks = text[Symbol.asyncIterator]()
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else if (value !== '') controller.enqueue(Buffer.from(value))
        else await this.pull!(controller)
      },
      async cancel() {
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

async function* streamWebBody(request: Request): AsyncGenerator<Uint8Array> {
  requireUnread(request)
  try {
    // Cancelling the body would end the connection. `readToEnd` reads the rest.
    for await (const chunk of request.body?.values({ preventCancel: true }) ?? []) yield chunk
  } catch (error) {
    throw endedEarly(error)
  }
}

async function readWebBody(request: Request, limit: number): Promise<Uint8Array> {
  requireUnread(request)
  if (Number(request.headers.get('content-length')) > limit) throw tooLarge(limit)
  const received = new ByteCollector()
  for await (const chunk of streamWebBody(request)) {
    if (!isUint8Array(chunk)) throw new TypeError("A chunk of the request's body must be a Uint8Array.")
    if (received.length + chunk.length > limit) throw tooLarge(limit)
    received.add(chunk)
  }
  const body = received.bytes()
  await turnForBody(body)
  return body
}

function requireUnread({ bodyUsed, body }: Request): void {
  if (bodyUsed || body?.locked) throw new Error('The host has read the request’s body: hand in request.clone().')
}
