/** The contact pages inside the servers of hosts, before and after a host's parsers of forms. */
import assert from 'node:assert/strict'
import type { IncomingMessage, Server } from 'node:http'
import { parse } from 'node:querystring'
import { type TestContext, test } from 'node:test'
import { serve } from '@hono/node-server'
import express, { type RequestHandler } from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { type ContactPages, createContactPages } from 'mailkeep/http'
import { testMailkeep } from 'mailkeep/testing'
import { listen, listening } from '../http/mounts.ts'
import { fieldsOf, submit, visit } from './visit.ts'

/** Opens a host with the pages mounted; returns its origin. */
type OpenHost = (t: TestContext, pages: ContactPages) => Promise<string>

const formType = 'application/x-www-form-urlencoded'

function expressWith(...parsers: RequestHandler[]): OpenHost {
  return (t, pages) => {
    const app = express()
    for (const parser of parsers) app.use(parser)
    return listen(t, app.use(pages))
  }
}

function fastifyWith(prepare: (app: FastifyInstance) => void): OpenHost {
  return async (t, pages) => {
    const app = fastify()
    prepare(app)
    app.all('/c/*', pages)
    t.after(() => app.close())
    return await app.listen({ port: 0, host: '127.0.0.1' })
  }
}

function koaWith(...parsers: Koa.Middleware[]): OpenHost {
  return (t, pages) => {
    const app = new Koa()
    for (const parser of parsers) app.use(parser)
    return listen(t, app.use(pages).callback())
  }
}

async function textOf(req: IncomingMessage): Promise<string> {
  return Buffer.concat(await req.toArray()).toString()
}

/** Parses multipart forms as multer does. */
const parseMultipart: RequestHandler = async (req, _res, next) => {
  const type = req.headers['content-type'] ?? ''
  if (type.startsWith('multipart/')) {
    const form = await new Response(await textOf(req), { headers: { 'content-type': type } }).formData()
    req.body = Object.assign(Object.create(null), Object.fromEntries(form))
  }
  next()
}

/** Parses forms as koa-bodyparser does, but keeps no text. */
const parseForKoa: Koa.Middleware = async (ctx, next) => {
  if (ctx.req.headers['content-type']?.startsWith(formType))
    Object.assign(ctx.request, { body: parse(await textOf(ctx.req)) })
  await next()
}

/** Parses forms as koa-body does: `qs` turns more than 20 values of a name into an object. */
const parseWithObjects: Koa.Middleware = async (ctx, next) => {
  if (ctx.req.headers['content-type']?.startsWith(formType)) {
    const fields = Object.entries(parse(await textOf(ctx.req)))
    const body = fields.map(([name, value]) => [name, Array.isArray(value) && value.length > 20 ? { ...value } : value])
    Object.assign(ctx.request, { body: Object.fromEntries(body) })
  }
  await next()
}

/** Calls the pages as an API route of Next.js, which parses forms and keeps other bodies as text. */
const onNextApiRoute: OpenHost = (t, pages) =>
  listen(t, async (req, res) => {
    const text = await textOf(req)
    const body = req.headers['content-type']?.startsWith(formType) ? parse(text) : text
    await pages(Object.assign(req, { body }), res)
  })

const onHono: OpenHost = (t, pages) => {
  const app = new Hono().all('/c/*', (c) => pages(c.req.raw))
  return listening(t, serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server)
}

const hosts: Readonly<Record<string, OpenHost>> = {
  'Express 5': expressWith(),
  'Express 5 after express.urlencoded()': expressWith(express.urlencoded()),
  'Express 5 after express.urlencoded({ extended: true })': expressWith(express.urlencoded({ extended: true })),
  'Express 5 after a parser of multipart forms': expressWith(parseMultipart),
  'Fastify as documented': fastifyWith((app) => {
    app.addContentTypeParser([formType, 'multipart/form-data'], (_req, _body, done) => done(null))
  }),
  'Fastify after a parser of forms': fastifyWith((app) => {
    app.addContentTypeParser(formType, { parseAs: 'string' }, (_req, body, done) => done(null, parse(String(body))))
    app.addContentTypeParser('multipart/form-data', (_req, _body, done) => done(null))
  }),
  Koa: koaWith(),
  'Koa after a parser of forms': koaWith(parseForKoa),
  'Koa after a parser of forms with many values': koaWith(parseWithObjects),
  'an API route of Next.js': onNextApiRoute,
  Hono: onHono,
}

for (const [name, open] of Object.entries(hosts)) {
  test(`the contact pages in ${name} read every form of their own and of mail programs`, async (t) => {
    const kit = await testMailkeep()
    t.after(() => kit.close())
    const { contacts, lists, topics } = kit.client
    const list = await lists.create({ name: 'News' })
    const { contact } = await contacts.addToList(list.id, { email: 'ada@example.org' })
    const topicIds: string[] = []
    while (topicIds.length < 25) {
      const { id } = await topics.create(list.id, { name: `Topic ${topicIds.length}` })
      topicIds.push(String(id))
    }
    const links = await contacts.links(contact.id)
    const origin = await open(t, createContactPages({ mailkeep: kit.mailkeep }))
    const here = (url: string) => url.replace(/^.*(?=\/c\/)/, origin)
    const [unsubscribe, preferences] = [here(links.unsubscribe_url), here(links.preferences_url)]
    const isUnsubscribed = async () => (await contacts.get(contact.id)).unsubscribed_at !== null

    const shown = (await visit(preferences)).html
    const chosen = topicIds.map((id): [string, string] => ['topic', id])
    const saved = await submit(preferences, [...fieldsOf(shown, 'save'), ...chosen])
    assert.match(saved.html, /Your choices are saved/)
    assert.equal((await contacts.get(contact.id)).topics.length, 25)

    const asked = (await visit(unsubscribe)).html
    const done = (await submit(unsubscribe, fieldsOf(asked, 'unsubscribe'))).html
    assert.match(done, /You are unsubscribed/)
    assert.match((await submit(unsubscribe, fieldsOf(done, 'resubscribe'))).html, /You are subscribed again/)
    assert.equal(await isUnsubscribed(), false)

    const multipart = new FormData()
    multipart.set('List-Unsubscribe', 'One-Click')
    for (const body of [new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }), multipart]) {
      const answer = await visit(unsubscribe, { method: 'POST', body })
      assert.deepEqual([answer.status, answer.html], [200, ''])
      assert.equal(await isUnsubscribed(), true)
      await contacts.resubscribe(contact.id)
    }
    const { data } = await contacts.history(contact.id)
    assert.equal(data.filter(({ source }) => source === 'one_click').length, 2)
  })
}
