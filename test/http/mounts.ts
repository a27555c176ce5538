/** The hosts that mailkeep/http is mounted in, each on a free loopback port with its own page at /hello. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { createGzip } from 'node:zlib'
import { serve } from '@hono/node-server'
import express, { type RequestHandler } from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { createFetchHandler, createHandler, type Handler, type MountOptions } from 'mailkeep/http'

type Options = MountOptions<never>

/** Opens a host with the API mounted below `prefix`; returns its origin. */
export type OpenHost = (t: TestContext, options: Options, prefix: string) => Promise<string>

export async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  return await listening(t, createServer(listener).listen(0, '127.0.0.1'))
}

export async function listening(t: TestContext, server: Server): Promise<string> {
  if (!server.listening) await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function expressWith(...parsers: RequestHandler[]): OpenHost {
  return (t, options, prefix) => {
    const app = express()
    app.use(...([...parsers, (_req, _res, next) => next()] as RequestHandler[]))
    app.use(prefix === '' ? '/' : prefix, createHandler(options))
    app.get('/hello', (_req, res) => void res.send('hello'))
    app.use((_req, res) => void res.status(404).send('the host knows no such page'))
    return listen(t, app)
  }
}

/** Compresses answers like the package compression: `write` takes no callback, and `drain` is that of another stream. */
const compress: RequestHandler = (_req, res, next) => {
  const gzip = createGzip()
  const write = res.write.bind(res)
  const end = res.end.bind(res)
  const on = res.on.bind(res)
  const writeHead = res.writeHead.bind(res)
  gzip.on('data', (chunk) => void (write(chunk) || gzip.pause())).on('end', () => end())
  on('drain', () => gzip.resume())
  Object.assign(res, {
    writeHead: (status: number, { 'Content-Length': _, ...headers }: Record<string, string> = {}) => {
      res.removeHeader('Content-Length')
      return writeHead(status, { ...headers, 'Content-Encoding': 'gzip' })
    },
    write: (chunk: string) => gzip.write(chunk),
    end: (chunk?: string) => gzip.end(chunk),
    on: (type: string, listener: () => void) => (type === 'drain' ? gzip.on(type, listener) : on(type, listener)),
  })
  next()
}

/** Logs answers, as in many guides: `write` returns nothing. */
const log: RequestHandler = (_req, res, next) => {
  const write = res.write.bind(res)
  Object.assign(res, { write: (chunk: string) => void write(chunk) })
  next()
}

const onFastify: OpenHost = async (t, options, prefix) => {
  const app = fastify()
  app.get('/hello', async () => 'hello')
  // Fastify refuses unknown content types. This parser passes these on as streams.
  app.addContentTypeParser(['text/csv', 'application/x-ndjson'], (_request, _payload, done) => done(null))
  app.setNotFoundHandler((_request, reply) => void reply.code(404).send('the host knows no such page'))
  app.all(`${prefix}/api/v1/*`, createHandler({ ...options, prefix }))
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

function koaWith(parse: boolean): OpenHost {
  return (t, options, prefix) => {
    const app = new Koa()
    if (parse) app.use(parseForKoa)
    app.use(createHandler({ ...options, prefix }))
    app.use((ctx) => {
      if (ctx.path === '/hello') ctx.body = 'hello'
      else ctx.throw(404, 'the host knows no such page', { expose: true })
    })
    app.silent = true
    return listen(t, app.callback())
  }
}

/** Parses bodies like koa-bodyparser. */
const parseForKoa: Koa.Middleware = async (ctx, next) => {
  const chunks: Buffer[] = []
  for await (const chunk of ctx.req) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  Object.assign(ctx.request, { body: text === '' ? {} : JSON.parse(text), rawBody: text })
  await next()
}

/** Passes no `next`, like a page of the host or an API route of Next.js, which answer everything else themselves. */
const onNodeHttp: OpenHost = (t, options, prefix) => {
  const handler = createHandler({ ...options, prefix })
  return listen(t, (req, res) => {
    if (req.url === '/hello') res.end('hello')
    else handler(req, res, () => res.writeHead(404).end('the host knows no such page'))
  })
}

const onNextApiRoute: OpenHost = (t, options, prefix) => {
  const handler: Handler = createHandler({ ...options, prefix })
  return listen(t, async (req, res) => {
    if (req.url === '/hello') return void res.end('hello')
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    await handler(Object.assign(req, { body: text === '' ? '' : JSON.parse(text) }), res, () =>
      res.writeHead(404).end('the host knows no such page'),
    )
  })
}

const onHono: OpenHost = (t, options, prefix) => {
  const handler = createFetchHandler({ ...options, prefix } as MountOptions<Request>)
  const app = new Hono()
    .get('/hello', (c) => c.text('hello'))
    .all(`${prefix}/api/v1/*`, (c) => handler(c.req.raw))
    .notFound((c) => c.text('the host knows no such page', 404))
  return listening(t, serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server)
}

export const hosts: Readonly<Record<string, OpenHost>> = {
  'Express 5': expressWith(),
  'Express 5 after express.json()': expressWith(express.json()),
  'Express 5 after express.raw()': expressWith(express.raw({ type: '*/*' })),
  'Express 5 after express.text()': expressWith(express.text({ type: '*/*' })),
  'Express 5 after a middleware that compresses': expressWith(compress),
  'Express 5 after a middleware that logs answers': expressWith(log),
  Fastify: onFastify,
  Koa: koaWith(false),
  'Koa after a body parser': koaWith(true),
  'node:http': onNodeHttp,
  'an API route of Next.js': onNextApiRoute,
  Hono: onHono,
}
