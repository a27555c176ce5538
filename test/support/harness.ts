/** Opens a whole service for a test: a database, the library, and the HTTP API on a free port. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import { describe, type TestContext } from 'node:test'
import { createApi } from '../../daemon/api/index.ts'
import { listen } from '../../daemon/http/server.ts'
import { contactPages } from '../../daemon/pages/index.ts'
import { createMailkeep, type Mailkeep, type MailkeepOptions } from '../../lib/index.ts'
import { CapturingTransport } from '../../lib/testing/mail.ts'
import { serveBinary, testedBinary } from './binary-service.ts'
import { type Answer, type Call, callerOf } from './http-call.ts'
import { openReceiver, type Receiver } from './http-receiver.ts'
import { type Kind, onKinds, openPlace, type Place } from './kinds.ts'

/** Opens a database for a service. */
type OpenDatabase = () => Promise<Pick<Place, 'source' | 'close'>>

export interface ServiceOptions extends Pick<MailkeepOptions, 'webhooks' | 'lookup' | 'mail'> {
  /** For several services on one database; default: a random key. */
  readonly encryptionKey?: Buffer
  readonly publicUrl?: string
  /** Whether the contact pages trust `X-Forwarded-For`; default false. */
  readonly trustProxy?: boolean
  /** Whether webhooks are delivered; default true. */
  readonly dispatch?: boolean
  /** Whether the test expects errors in the log; default false. */
  readonly hasErrors?: boolean
}

/** A client of the service, with a token of each role. */
export interface Tenant {
  readonly id: number
  /** The library's API for this client, for operations that HTTP does not offer. */
  readonly client: ReturnType<Mailkeep['forClient']>
  readonly admin: string
  readonly member: string
  readonly viewer: string
  /** Calls the API, by default with the admin token. */
  readonly call: Call
  /** Calls, and returns `data` when the status is as expected. */
  readonly data: (status: number, ...request: Parameters<Call>) => Promise<Answer['body']>
}

export interface Service extends Tenant {
  readonly mailkeep: Mailkeep
  readonly url: string
  addTenant(name?: string): Promise<Tenant>
  /** Opens a webhook receiver on a loopback port. */
  receiver(): Promise<Receiver>
  /** Moves the service's clock. */
  advance(ms: number): void
}

export type Open = (t: TestContext, options?: ServiceOptions) => Promise<Service>

/**
 * Runs a suite over HTTP: on a SQLite file and on PostgreSQL, or on the binary of MAILKEEP_TEST_BINARY.
 *
 * @param more Kinds of database besides these two.
 */
export function overHttp(name: string, suite: (open: Open) => void, more: readonly Kind[] = []): void {
  if (testedBinary !== undefined) {
    describe(`${name}, on the binary`, () => suite(openService))
    return
  }
  onKinds(['a SQLite file', 'PostgreSQL', ...more], name, (kind) =>
    suite((t, options) => openService(t, options, () => openPlace(kind))),
  )
}

/**
 * Opens a service that is closed after the test. The test fails when the service logged an unexpected error.
 *
 * @param open Default: in memory, for behaviour that does not depend on the database.
 */
export async function openService(t: TestContext, options: ServiceOptions = {}, open?: OpenDatabase): Promise<Service> {
  const closing: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closing.reverse()) await close()
  })
  // The binary takes neither the test's handle nor its resolver.
  const served =
    testedBinary === undefined || open || options.lookup
      ? await serveHere(options, open ?? (() => openPlace(':memory:')), closing)
      : await serveBinary(testedBinary, options, closing)
  const { mailkeep, url, port, advance } = served
  const agent = new Agent({ keepAlive: true })
  closing.push(() => agent.destroy())
  const addTenant = (name = 'other') => tenantOf(mailkeep, name, (token) => callerOf(agent, port, token))
  return {
    ...(await addTenant('default')),
    mailkeep,
    url,
    addTenant,
    async receiver() {
      const receiver = await openReceiver()
      closing.push(() => receiver.close())
      return receiver
    },
    advance,
  }
}

/** Sends one message, so that a newsletter with several recipients stays under way. */
const oneMail = { rate: 0.0001, allowUnverified: true }

/** Runs the service in this process. */
async function serveHere(
  {
    publicUrl,
    lookup,
    webhooks,
    mail,
    encryptionKey = randomBytes(32),
    dispatch = true,
    hasErrors = false,
    trustProxy = false,
  }: ServiceOptions,
  open: OpenDatabase,
  closing: (() => unknown)[],
) {
  const errors: object[] = []
  if (!hasErrors) closing.push(() => assert.deepEqual(errors, [], 'the service logged errors'))
  const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void errors.push(fields) }
  const { source, close } = await open()
  closing.push(close)
  let aheadMs = 0
  const mailkeep = await createMailkeep({
    database: source,
    encryptionKey,
    logger,
    clock: () => Date.now() + aheadMs,
    webhooks: { allowPrivate: true, ...webhooks },
    mail: { ...oneMail, transport: new CapturingTransport(Date.now), ...mail },
    publicUrl: () => publicUrl ?? server.url,
    ...(lookup ? { lookup } : {}),
  })
  closing.push(() => mailkeep.close({ timeoutMs: 0 }))
  if (dispatch) mailkeep.start()
  const api = createApi({ mailkeep, logger, ...(publicUrl === undefined ? {} : { publicUrl }) })
  const surfaces = { ...api.surfaces, ...contactPages({ mailkeep, logger, trustProxy }).surfaces }
  const server = await listen({ surfaces, logger, host: '127.0.0.1', port: 0 })
  closing.push(() => server.close(0))
  return {
    mailkeep,
    url: server.url,
    port: server.port,
    advance(ms: number) {
      aheadMs += ms
    },
  }
}

async function tenantOf(mailkeep: Mailkeep, name: string, caller: (token: string) => Call): Promise<Tenant> {
  const { id } = await mailkeep.clients.create({ name })
  const { token: admin } = await mailkeep.tokens.create({ clientId: id, role: 'admin' })
  const { token: member } = await mailkeep.tokens.create({ clientId: id, role: 'member' })
  const { token: viewer } = await mailkeep.tokens.create({ clientId: id, role: 'viewer' })
  const call = caller(admin)
  const data: Tenant['data'] = async (status, ...request) => {
    const answer = await call(...request)
    assert.equal(answer.status, status, answer.what)
    return answer.body?.data
  }
  return { id, client: mailkeep.forClient(id), admin, member, viewer, call, data }
}

/** Options of `test` for tests that compare times across a moved clock. */
export const needsClock = testedBinary === undefined ? {} : { skip: "the binary's clock cannot be moved" }

const patienceMs = 10_000

/**
 * Polls until the answer is as wanted, because the effects of a delivery are recorded a moment later.
 * @throws After 10 s, with the last answer.
 */
export async function until<T>(ask: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> {
  const ends = performance.now() + patienceMs
  for (;;) {
    const value = await ask()
    if (wanted(value)) return value
    if (performance.now() > ends) assert.fail(`timed out after ${patienceMs} ms; last: ${JSON.stringify(value)}`)
    await new Promise(setImmediate)
  }
}
