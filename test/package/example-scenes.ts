/** Runs each example as its user would: in its own process, on its own port, with requests to it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { TestContext } from 'node:test'
import { testMailkeep } from 'mailkeep/testing'
import { daemon, directory } from '../support/program.ts'

const patienceMs = 60_000

/** The folder of the examples, and whether they use the sources or an installed package. */
export interface Place {
  readonly folder: string
}

interface Running {
  /** Waits for an output line that matches; returns its groups. */
  line(pattern: RegExp): Promise<string[]>
  /** Resolves with the exit code. */
  ended: Promise<number | null>
  stop(): void
}

function start(t: TestContext, { folder }: Place, args: readonly string[], env: Record<string, string> = {}): Running {
  const { NODE_TEST_CONTEXT: _, ...own } = process.env
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], {
    cwd: folder,
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines: string[] = []
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  const reader: Interface = createInterface(child.stdout).on('line', (line) => lines.push(line))
  const read = once(reader, 'close')
  let isOver = false
  const ended = once(child, 'close').then(async ([code]) => {
    await read // the last lines may come after the end of the process
    isOver = true
    if (code !== 0 && code !== null) t.diagnostic(errors)
    return code as number | null
  })
  const line = async (pattern: RegExp) => {
    const signal = AbortSignal.any([AbortSignal.timeout(patienceMs), t.signal])
    for (;;) {
      const found = lines.map((one) => pattern.exec(one)).find((match) => match !== null)
      if (found) return [...found]
      assert.ok(!isOver, `it ended before ${pattern}: ${errors}`)
      await Promise.race([once(reader, 'line', { signal }), ended])
    }
  }
  return { line, ended, stop: () => void child.kill('SIGTERM') }
}

const example = (name: string) => join('examples', `${name}.ts`)

/** Starts an example that listens; returns its origin and a way to send requests to it. */
async function serving(t: TestContext, place: Place, name: string) {
  const running = start(t, place, [example(name), '0'])
  const [, origin] = await running.line(/^listening on (http:\S+)$/)
  const call = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${origin}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, text, body: text.startsWith('{') ? JSON.parse(text) : undefined }
  }
  const stop = async () => {
    running.stop()
    assert.equal(await running.ended, 0)
  }
  return { running, origin: origin!, call, stop }
}

/** For the three examples that print a token and mount the API at /mail. */
async function withToken(t: TestContext, place: Place, name: string) {
  const { running, origin, call, stop } = await serving(t, place, name)
  const [, authorization] = await running.line(/^Authorization: (Bearer \S+)$/)
  const headers = { Authorization: authorization! }
  assert.equal((await call('GET', '/mail/api/v1/lists')).status, 401)
  assert.equal((await call('POST', '/mail/api/v1/lists', { name: 'News' }, headers)).status, 201)
  const { body } = await call('GET', '/mail/api/v1/lists', undefined, headers)
  assert.equal(body.meta.path, `${origin}/mail/api/v1/lists`)
  if (name !== 'fastify') assert.equal((await call('GET', '/')).text, 'hello')
  await stop()
}

export const scenes: Readonly<Record<string, (t: TestContext, place: Place) => Promise<void>>> = {
  async 'own-transaction'(t, place) {
    const running = start(t, place, [example('own-transaction')])
    await running.line(/^refused: /)
    const [, printed] = await running.line(/^(\{.*\})$/)
    assert.deepEqual(JSON.parse(printed!), { orders: ['ada@example.org'], contacts: ['ada@example.org'] })
    assert.equal(await running.ended, 0)
  },

  async 'in-process-subscriber'(t, place) {
    const running = start(t, place, [example('in-process-subscriber')])
    await running.line(/^welcome, Ada, at attempt 2$/)
    assert.equal(await running.ended, 0)
  },

  async quickstart(t, place) {
    const running = start(t, place, [example('quickstart')])
    await running.line(/"type": "contact.subscribed"/)
    await running.line(/"email": "ada@example.org"/)
    assert.equal(await running.ended, 0)
  },

  async 'first-session'(t, place) {
    const cwd = await directory(t)
    const token = `mk_${'a'.repeat(43)}`
    const env = { MAILKEEP_ADMIN_TOKEN: token, MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'true' }
    const { url } = await daemon(t, { cwd, env })
    const running = start(t, place, [example('first-session'), url], { TOKEN: token })
    await running.line(/^received contact\.subscribed$/)
    await running.line(/^found ada@example\.org$/)
    await running.line(/^delivery: (pending|success)$/)
    await running.line(/^unsubscribe at http:\/\/127\.0\.0\.1:\d+\/c\//)
    await running.line(/^newsletter: (sending|sent)$/)
    assert.equal(await running.ended, 0)
  },

  async month(t, place) {
    const running = start(t, place, [example('month')])
    await running.line(/^moved in: 3 people, 1 of them unsubscribed elsewhere$/)
    await running.line(/^corrected: Cyd Charisse has the address cyd@example\.org$/)
    await running.line(/^segment: 1 subscribed person/)
    await running.line(/^one click: 200, unsubscribed by herself: true$/)
    await running.line(
      /^asked for all data: contact, .*history, messages, .*deliveries; last: unsubscribed by one_click$/,
    )
    await running.line(/^erased; the old file again: 1 refused: .*erased/)
    await running.line(/^audit: token\.revoked by library, token\.created by library/)
    assert.equal(await running.ended, 0)
  },

  async 'receive-webhook'(t, place) {
    await using kit = await testMailkeep()
    const { secret } = await kit.client.webhooks.createEndpoint({
      url: 'https://example.org/hook',
      events: ['contact.subscribed'],
    })
    await kit.contact({ email: 'ada@example.org' })
    const [{ headers, body } = assert.fail('nothing was sent')] = await kit.deliver()
    const running = start(t, place, [example('receive-webhook'), '0'], { WEBHOOK_SECRET: secret })
    const [, origin] = await running.line(/^listening on (http:\S+)$/)
    const post = async (text: string) => (await fetch(origin!, { method: 'POST', headers, body: text })).status
    assert.equal(await post(body), 204)
    await running.line(/^contact\.subscribed .*ada@example\.org/)
    assert.equal(await post(`${body} `), 401)
    await running.line(/^refused: bad_signature$/)
  },

  async express(t, place) {
    const { call, stop } = await serving(t, place, 'express')
    assert.deepEqual((await call('POST', '/sign-up', { email: 'ada@example.org', name: 'Ada' })).body, {
      welcome: 'Ada',
    })
    const refused = await call('POST', '/sign-up', { email: 'no address' })
    assert.equal(refused.status, 422)
    assert.deepEqual(refused.body.issues, [{ path: 'email', message: 'This must be an e-mail address.' }])
    assert.equal((await call('GET', '/mail/api/v1/contacts')).status, 401)
    const { body } = await call('GET', '/mail/api/v1/contacts', undefined, { 'X-Session': 'ada' })
    assert.equal(body.data[0].email, 'ada@example.org')
    await stop()
  },

  fastify: (t, place) => withToken(t, place, 'fastify'),
  hono: (t, place) => withToken(t, place, 'hono'),
  'node-http': (t, place) => withToken(t, place, 'node-http'),

  async 'contact-pages'(t, place) {
    const { origin, running, stop } = await serving(t, place, 'contact-pages')
    const [, link] = await running.line(/^unsubscribe at (http:\S+)$/)
    assert.ok(link!.startsWith(`${origin}/mail/c/`))
    assert.match(await (await fetch(link!)).text(), /<h1 dir="auto">Unsubscribe<\/h1>/)
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })
    assert.equal(await (await fetch(link!, { method: 'POST', body })).text(), '')
    assert.match(await (await fetch(link!)).text(), /You are unsubscribed/)
    assert.equal((await fetch(`${origin}/mail/c/style.css`)).status, 200)
    await stop()
  },

  async 'unit-test'(t, place) {
    const running = start(t, place, ['--test', '--test-reporter=tap', example('unit-test')])
    await running.line(/^# pass 2$/)
    assert.equal(await running.ended, 0)
  },

  async 'next-route'(t, place) {
    const key = Buffer.alloc(32, 1).toString('base64')
    const program = `
      const { GET, POST } = await import('./examples/next-route.ts')
      const answer = await GET(new Request('https://app.example/api/v1/tags'))
      console.log('answered', answer.status, (await answer.json()).code)
      const first = await globalThis.mailkeep
      await import('./examples/next-route.ts?hot').then(({ GET }) => GET(new Request('https://app.example/api/v1/tags')))
      console.log('kept', first === await globalThis.mailkeep)
      await first.close()`
    const args = ['--input-type=module', '--eval', program]
    const running = start(t, place, args, { MAIL_DATABASE: ':memory:', MAIL_KEY: key })
    await running.line(/^answered 401 unauthenticated$/)
    await running.line(/^kept true$/)
    assert.equal(await running.ended, 0)
  },
}
