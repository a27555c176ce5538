/** Verification of sender identities: by any provider, and by Amazon SES with a simulated SDK. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'
import { createMailkeep, type IdentityProvider, type IdentityStatus, isMailkeepError, MailkeepError } from 'mailkeep'
import type { SesOptions } from 'mailkeep/ses'
import { testMailkeep } from 'mailkeep/testing'
import { test } from '../support/databases.ts'
import { onKinds, openPlace } from '../support/kinds.ts'

/** The part of the SDK that is used. The SDK's own client reports every address as failed. */
const sdk = `
  class Command { constructor(input) { this.input = input } }
  export class CreateEmailIdentityCommand extends Command { operation = 'create' }
  export class GetEmailIdentityCommand extends Command { operation = 'get' }
  export class SESv2Client {
    constructor(settings) { made.push(settings) }
    async send() { return { VerificationStatus: 'FAILED' } }
  }
  export const made = []`

/** Creates a folder with the library. `install` adds a node_modules with the SDK. */
async function folderWithSes(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'mailkeep-ses-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  cpSync(join(import.meta.dirname, '../../lib'), join(folder, 'lib'), { recursive: true })
  const place = join(folder, 'node_modules/@aws-sdk/client-sesv2')
  const { ses }: typeof import('mailkeep/ses') = await import(join(folder, 'lib/identities/ses.ts'))
  return {
    ses,
    install() {
      mkdirSync(place, { recursive: true })
      writeFileSync(join(place, 'package.json'), '{"type":"module","exports":"./index.js"}')
      writeFileSync(join(place, 'index.js'), sdk)
      return import(join(place, 'index.js')) as Promise<{ made: object[] }>
    },
  }
}

interface Command {
  readonly operation: 'create' | 'get'
  readonly input: { readonly EmailIdentity: string }
}

const named = (name: string, message: string) => Object.assign(new Error(message), { name })

/** Simulates Amazon: its identities, the requests it got, and the error that it answers with, if any. */
function amazon() {
  const known = new Map<string, { VerificationStatus: string; VerifiedForSendingStatus?: boolean }>()
  const asked: string[] = []
  const faults: { create?: Error; get?: Error } = {}
  const client = {
    async send({ operation, input: { EmailIdentity: email } }: Command) {
      asked.push(`${operation} ${email}`)
      if (faults[operation]) throw faults[operation]
      if (operation === 'get' && !known.has(email)) throw named('NotFoundException', `${email} does not exist.`)
      if (operation === 'get') return known.get(email)
      if (known.has(email)) throw named('AlreadyExistsException', `${email} already exist.`)
      known.set(email, { VerificationStatus: 'PENDING', VerifiedForSendingStatus: false })
      return { IdentityType: 'EMAIL_ADDRESS', VerifiedForSendingStatus: false }
    },
  }
  return { client, known, asked, faults }
}

/** Opens a mailkeep that verifies identities through the simulated Amazon. */
async function withAmazon(t: TestContext, options: SesOptions = {}) {
  const side = amazon()
  const { ses, install } = await folderWithSes(t)
  await install()
  const warnings: object[] = []
  const logger = { debug() {}, info() {}, error() {}, warn: (fields: object) => void warnings.push(fields) }
  const kit = await testMailkeep({ identityProvider: ses({ client: side.client, ...options }), logger })
  t.after(() => kit.close())
  const { identities } = kit.client
  /** Registers an address, refreshes, and returns the identity after that. */
  const refreshed = async (email: string, status: IdentityStatus) => {
    const { id } = await identities.add({ email, status })
    await kit.mailkeep.refreshIdentities()
    return await identities.get(id)
  }
  return { ...side, kit, identities, refreshed, refresh: () => kit.mailkeep.refreshIdentities(), warnings }
}

const kinds = ['a SQLite file', "a host's handle of a file", 'SQLite in memory', ':memory:', 'PostgreSQL'] as const

test('a client refreshes one of its identities', async (t) => {
  const { identities, known, asked } = await withAmazon(t)
  const { id } = await identities.add({ email: 'ada@example.org' })
  assert.equal((await identities.refresh(id)).identity_status, 'verifying')
  known.set('ada@example.org', { VerificationStatus: 'SUCCESS', VerifiedForSendingStatus: true })
  const verified = await identities.refresh(id)
  assert.equal(verified.identity_status, 'verified')
  const count = asked.length
  assert.deepEqual(await identities.refresh(id), verified)
  assert.equal(asked.length, count, 'the provider is not asked about a verified identity')
})

test('an identity that is removed while the provider is asked is not found', async (t) => {
  let remove = async () => {}
  const start = async () => {
    await remove()
    return 'verifying' as const
  }
  const kit = await testMailkeep({ identityProvider: { start, status: start } })
  t.after(() => kit.close())
  const { id } = await kit.client.identities.add({ email: 'ada@example.org' })
  remove = () => kit.client.identities.remove(id)
  await assert.rejects(kit.client.identities.refresh(id), { code: 'not_found' })
})

onKinds(kinds, 'refreshing', (kind) => {
  test('checks the unsettled identities of all clients, each once', async (t) => {
    const { source, close } = await openPlace(kind)
    t.after(close)
    const started: string[] = []
    const lookedUp: string[] = []
    const identityProvider: IdentityProvider = {
      start: async (email) => (started.push(email) % 2 === 0 ? 'verifying' : undefined),
      status: async (email) => (lookedUp.push(email) > 0 ? 'verified' : undefined),
    }
    const mailkeep = await createMailkeep({ database: source, encryptionKey: randomBytes(32), identityProvider })
    t.after(() => mailkeep.close())
    const add = async (name: string, count: number, status?: IdentityStatus) => {
      const client = mailkeep.forClient((await mailkeep.clients.create({ name })).id)
      for (let i = 0; i < count; i++) await client.identities.add({ email: `${name}${i}@example.org`, status })
      return client
    }
    await add('a', 120)
    const b = await add('b', 2, 'verifying')
    await add('c', 2, 'verified')
    await add('d', 2, 'failed')
    const changed = await mailkeep.refreshIdentities()
    assert.deepEqual([started.length, new Set(started).size, changed.length], [120, 120, 62])
    assert.deepEqual(lookedUp, ['b0@example.org', 'b1@example.org'])
    const { data } = await b.identities.list()
    assert.deepEqual(data, changed.slice(-2))
    for (const { identity_status, verified_at } of data) assert.ok(identity_status === 'verified' && verified_at)
    assert.equal((await mailkeep.refreshIdentities()).length, 90, 'half of the 60 pending, and all verifying')
  })
})

onKinds(['a SQLite file', 'PostgreSQL'], 'the provider’s verification', (kind) => {
  test('gives no client the address of another one, in whichever form it is written', async (t) => {
    const { source, close } = await openPlace(kind)
    t.after(close)
    const warnings: object[] = []
    const logger = { debug() {}, info() {}, error() {}, warn: (fields: object) => void warnings.push(fields) }
    // All clients share an account of the provider, which has verified the address for one of them.
    const identityProvider: IdentityProvider = { start: async () => 'verified', status: async () => 'verified' }
    const database = { database: source, encryptionKey: randomBytes(32) }
    const mailkeep = await createMailkeep({ ...database, identityProvider, logger })
    t.after(() => mailkeep.close())
    const [owner, other] = await Promise.all(
      ['owner', 'other'].map(
        async (name) => mailkeep.forClient((await mailkeep.clients.create({ name })).id).identities,
      ),
    )
    const { id } = await owner!.add({ email: 'news@bücher.example' })
    assert.equal((await owner!.refresh(id)).identity_status, 'verified')
    const written = ['NEWS@bücher.example', 'news@xn--bcher-kva.example', 'news@ＢÜＣＨＥＲ.example']
    for (const email of written) {
      const copy = await other!.add({ email, status: 'pending' })
      assert.deepEqual(await other!.refresh(copy.id), copy)
      assert.deepEqual(await mailkeep.refreshIdentities(), [])
      await other!.remove(copy.id)
    }
    assert.equal(warnings.length, 2 * written.length)
    assert.doesNotMatch(JSON.stringify(warnings), /@/)
    const own = await other!.add({ email: 'offers@bücher.example' })
    assert.equal((await other!.refresh(own.id)).identity_status, 'verified', 'another address of the domain')
    assert.equal((await owner!.get(id)).identity_status, 'verified')
    await owner!.remove(id)
    for (const email of written) {
      const copy = await other!.add({ email, status: 'pending' })
      assert.equal((await other!.refresh(copy.id)).identity_status, 'verified', 'the owner has removed it')
      await other!.remove(copy.id)
    }
  })

  test('gives an address that two clients have added to neither of them', async (t) => {
    const { source, close } = await openPlace(kind)
    t.after(close)
    const identityProvider: IdentityProvider = { start: async () => 'verifying', status: async () => 'verified' }
    const logger = { debug() {}, info() {}, error() {}, warn() {} }
    const mailkeep = await createMailkeep({
      database: source,
      encryptionKey: randomBytes(32),
      identityProvider,
      logger,
    })
    t.after(() => mailkeep.close())
    for (const name of ['a', 'b']) {
      await mailkeep
        .forClient((await mailkeep.clients.create({ name })).id)
        .identities.add({ email: 'news@example.org' })
    }
    assert.equal((await mailkeep.refreshIdentities()).length, 2, 'both wait for the owner of the address')
    assert.deepEqual(await mailkeep.refreshIdentities(), [])
  })
})

describe('Amazon SES', { concurrency: 4 }, () => {
  const answers = [
    ['does not know the address', undefined, 'pending'],
    ['has not started the verification', { VerificationStatus: 'NOT_STARTED' }, 'pending'],
    ['waits for the address’s owner', { VerificationStatus: 'PENDING', VerifiedForSendingStatus: false }, 'verifying'],
    ['has verified the address', { VerificationStatus: 'SUCCESS', VerifiedForSendingStatus: true }, 'verified'],
    [
      'would not send from the address',
      { VerificationStatus: 'SUCCESS', VerifiedForSendingStatus: false },
      'verifying',
    ],
    ['has given up', { VerificationStatus: 'FAILED', VerifiedForSendingStatus: false }, 'failed'],
    [
      'cannot tell at the moment',
      { VerificationStatus: 'TEMPORARY_FAILURE', VerifiedForSendingStatus: true },
      undefined,
    ],
    ['returns an unknown status', { VerificationStatus: 'REVIEW', VerifiedForSendingStatus: true }, undefined],
  ] as const
  for (const [what, answer, expected] of answers) {
    test(`${what}: the address ${expected ? `is ${expected}` : 'keeps its status'}`, async (t) => {
      const { known, refreshed } = await withAmazon(t)
      for (const before of answer === undefined ? (['verifying'] as const) : (['pending', 'verifying'] as const)) {
        const email = `${before}@example.org`
        if (answer) known.set(email, answer)
        const { identity_status, verified_at } = await refreshed(email, before)
        assert.equal(identity_status, expected ?? before)
        assert.equal(verified_at !== null, expected === 'verified')
      }
    })
  }

  test('starts the verification of an address, polls it until it is final, and then stops', async (t) => {
    const { known, asked, refreshed, refresh, kit } = await withAmazon(t)
    const { identity_status } = await refreshed('ada@example.org', 'pending')
    assert.equal(identity_status, 'verifying')
    assert.deepEqual(await refresh(), [])
    known.set('ada@example.org', { VerificationStatus: 'SUCCESS', VerifiedForSendingStatus: true })
    await kit.clock.advance('5 minutes')
    const [verified] = await refresh()
    assert.equal(Date.parse(verified!.verified_at!), kit.clock.now())
    assert.deepEqual(await refresh(), [])
    assert.deepEqual(asked, ['create ada@example.org', ...Array(3).fill('get ada@example.org')])
  })

  test('restarts the verification of an address that was deleted at Amazon', async (t) => {
    const { known, asked, refreshed, refresh } = await withAmazon(t)
    await refreshed('ada@example.org', 'pending')
    known.clear()
    const statuses = [await refresh(), await refresh()].map(([one]) => one!.identity_status)
    assert.deepEqual(statuses, ['pending', 'verifying'])
    assert.equal(asked.filter((one) => one === 'create ada@example.org').length, 2)
  })

  test('sends the domain of an internationalised address as Punycode', async (t) => {
    const { asked, refreshed } = await withAmazon(t)
    assert.equal((await refreshed('ada@bücher.example', 'verifying')).email, 'ada@bücher.example')
    assert.deepEqual(asked, ['get ada@xn--bcher-kva.example'])
  })

  const message = 'user/bob@example.com is not authorized on arn:aws:ses:eu-central-1:1:identity/Ada+x@example.org now'
  for (const operation of ['create', 'get'] as const) {
    test(`a fault at ${operation} changes nothing, and the log names no address`, async (t) => {
      const { asked, faults, identities, refresh, warnings } = await withAmazon(t)
      await identities.add({ email: 'Ada+x@example.org' })
      await identities.add({ email: 'bob@example.org', status: 'verifying' })
      const before = await identities.list()
      faults.get = faults[operation] = named('AccessDeniedException', message)
      assert.deepEqual(await refresh(), [])
      assert.deepEqual(await identities.list(), before)
      assert.equal(asked.at(-1), 'get bob@example.org', 'the next address is checked too')
      const reason =
        'AccessDeniedException: user/[address] is not authorized on arn:aws:ses:eu-central-1:1:identity/[address] now'
      assert.deepEqual(
        warnings,
        before.data.map(({ id }) => ({ identity: id, reason })),
      )
      delete faults.create
      delete faults.get
      assert.equal((await refresh()).length, 2, 'started, and set back to pending, because Amazon does not know bob')
    })
  }

  test('a request that is never answered is aborted', async (t) => {
    const running = setInterval(() => {}, 1000) // as a socket would
    t.after(() => clearInterval(running))
    const client = {
      send: (_: unknown, { abortSignal }: { abortSignal?: AbortSignal } = {}) =>
        new Promise((_, reject) => abortSignal!.addEventListener('abort', () => reject(abortSignal!.reason))),
    }
    const { refreshed, warnings } = await withAmazon(t, { client, timeoutMs: 20 })
    assert.equal((await refreshed('ada@example.org', 'verifying')).identity_status, 'verifying')
    assert.match(JSON.stringify(warnings), /TimeoutError/)
  })

  test('the SDK is loaded only for the first address, and the refresh fails when it is missing', async (t) => {
    const { ses, install } = await folderWithSes(t)
    await using kit = await testMailkeep({ identityProvider: ses({ region: 'eu-central-1' }) })
    assert.deepEqual(await kit.mailkeep.refreshIdentities(), [])
    const identity = await kit.client.identities.add({ email: 'ada@example.org' })
    for (let i = 0; i < 2; i++) {
      await assert.rejects(kit.mailkeep.refreshIdentities(), (error) => {
        assert.ok(isMailkeepError(error, 'validation_failed'))
        assert.match(error.message, /^Amazon SES needs its SDK .+: npm install @aws-sdk\/client-sesv2$/)
        return Object.keys(error.errors ?? {}).join() === 'identityProvider'
      })
    }
    assert.deepEqual(await kit.client.identities.get(identity.id), identity)
    const { made } = await install()
    assert.equal((await kit.mailkeep.refreshIdentities())[0]!.identity_status, 'failed')
    assert.deepEqual(made, [{ region: 'eu-central-1' }], 'one SDK client serves all requests')
  })
})

test('a host’s own provider reports a wrong configuration by validation_failed', async () => {
  const error = new MailkeepError('validation_failed', 'No account.')
  const fail = () => Promise.reject(error)
  await using kit = await testMailkeep({ identityProvider: { start: fail, status: fail } })
  await kit.client.identities.add({ email: 'ada@example.org' })
  await assert.rejects(kit.mailkeep.refreshIdentities(), error)
})

test('a status that a host’s own provider makes up changes nothing', async () => {
  const warnings: object[] = []
  const nothing = () => {}
  const logger = { debug: nothing, info: nothing, warn: (fields: object) => void warnings.push(fields), error: nothing }
  for (const status of ['VERIFIED', 'SUCCESS', 5, {}, Symbol('verified')]) {
    const answer = async () => status as IdentityStatus
    await using kit = await testMailkeep({ identityProvider: { start: answer, status: answer }, logger })
    await kit.client.identities.add({ email: 'ada@example.org' })
    assert.deepEqual(await kit.mailkeep.refreshIdentities(), [])
    assert.equal((await kit.client.identities.list()).data[0]!.identity_status, 'pending')
    assert.match(JSON.stringify(warnings.pop()), /does not know/)
  }
})

test('a signal stops a refresh that waits for the provider', async () => {
  const never = () => new Promise<never>(() => {})
  await using kit = await testMailkeep({ identityProvider: { start: never, status: never } })
  await kit.client.identities.add({ email: 'ada@example.org' })
  const controller = new AbortController()
  const refreshing = kit.mailkeep.refreshIdentities({ signal: controller.signal })
  setTimeout(() => controller.abort(new Error('enough')), 20)
  await assert.rejects(refreshing, { message: 'enough' })
})
