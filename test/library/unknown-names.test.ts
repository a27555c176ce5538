/** Unknown names are refused everywhere, because a typo must not return all contacts, or silently change nothing. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createApi } from '../../daemon/api/index.ts'
import { createFetchHandler, createHandler } from '../../daemon/http/index.ts'
import { ses } from '../../lib/identities/ses.ts'
import { createMailkeep, isMailkeepError, type MailkeepError, unchecked } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { testMailkeep } from '../../lib/testing.ts'
import { test } from '../support/databases.ts'
import { openService, overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { description } from '../support/http-description.ts'
import { bodyOf, openWorld, pathTo, routes, titleOf } from '../support/http-world.ts'

/** Returns the parameters of a route, from its description. */
function parametersOf({ method, path }: (typeof routes)[number]): string[] {
  const operation = description.paths[`/api/v1${path.replace(/:(\w+)/g, '{$1}')}`]![method.toLowerCase()]!
  const inQuery = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
  return inQuery.map(({ name }) => name.replace('[]', ''))
}

test('every route refuses an unknown parameter and names the known ones', async (t) => {
  const service = await openService(t, { dispatch: false })
  const world = await openWorld(service, 'mine')
  for (const route of routes) {
    const before = await service.call('GET', '/contacts')
    for (const query of ['nope=1', 'nope[]=1', 'nope%5B0%5D=1', 'nope', 'nope=1&nope=2']) {
      const answer = await service.call(route.method, pathTo(route, world), { query, body: bodyOf(route) })
      assertInvalid(answer, 'nope')
      const [message] = answer.body.errors.nope
      const known = parametersOf(route)
      if (known.length === 0) assert.match(message, /takes none/, titleOf(route))
      else assert.equal(message, `There is no "nope" here. Known: ${known.join(', ')}.`, titleOf(route))
    }
    assert.deepEqual((await service.call('GET', '/contacts')).body, before.body, `${titleOf(route)} did something`)
  }
})

test('authentication, path, method and role are checked before parameters: 401, 404, 405 and 403', async (t) => {
  const { call, member } = await openService(t)
  const query = 'nope=1'
  assert.equal((await call('GET', '/tags', { query, token: null })).status, 401)
  assert.equal((await call('GET', '/labels', { query })).status, 404)
  assert.equal((await call('PUT', '/tags', { query })).status, 405)
  assert.equal((await call('GET', '/webhook-endpoints', { query, token: member })).status, 403)
})

test('pages of the service ignore the query, which load balancers may add', async (t) => {
  const { call } = await openService(t)
  for (const path of ['//healthz', '//readyz', '/openapi.json']) {
    assert.equal((await call('GET', path, { query: 'nope=1', token: null })).status, 200)
  }
})

test('all unknown fields of a body are refused, including names that every object inherits', async (t) => {
  const { call } = await openService(t)
  const raw = '{"name":"News","nome":"x","constructor":"x","__proto__":"x"}'
  const answer = await call('POST', '/lists', { raw, headers: { 'content-type': 'application/json' } })
  assertInvalid(answer, 'nome', 'constructor', '__proto__')
  assert.deepEqual(answer.body.errors.nome, ['There is no "nome" here. Known: name, double_opt_in.'])
  assert.equal((await call('GET', '/lists')).body.data.length, 0)
})

/** Asserts that the call is refused with messages on exactly these paths, which list the known names. */
async function assertUnknown(call: () => unknown, paths: Readonly<Record<string, RegExp>>): Promise<void> {
  const error = await (async () => call())().then(
    () => assert.fail(`${call} was not refused`),
    (error: unknown) => error,
  )
  assert.ok(isMailkeepError(error, 'validation_failed'), `${call}: ${error}`)
  const { errors } = error as MailkeepError
  assert.deepEqual(Object.keys(errors!).sort(), Object.keys(paths).sort(), String(call))
  for (const [path, pattern] of Object.entries(paths)) assert.match(errors![path]![0]!, pattern, String(call))
}

overHttp('the library', (open) => {
  test('refuses unknown filters and fields of every operation', async (t) => {
    const { client, mailkeep, id: clientId, ...service } = await open(t, { dispatch: false })
    const { contactId, endpointId, listId, tagId, topicId } = await openWorld({ client, ...service } as never, 'mine')
    const { contacts, lists, tags, topics, segments, settings, identities, webhooks, events } = unchecked(client)
    const filters = /^There is no "tag" here\. Known: lists, tags, topics, search, include_unsubscribed, /
    const page = /^There is no "nope" here\. Known: per_page, cursor\.$/
    const countedPage = /^There is no "nope" here\. Known: per_page, cursor, counts\.$/
    const nope = /^There is no "nope" here\. Known: /
    const email = 'ada@example.org'
    await assertUnknown(() => contacts.list({ tag: [tagId] }), { tag: filters })
    await assertUnknown(() => contacts.listJson({ tag: [tagId] }), { tag: filters })
    await assertUnknown(() => contacts.export({ tag: [tagId], format: 'csv' }).next(), {
      tag: /Known: .*format, raw\.$/,
    })
    await assertUnknown(() => contacts.export({ format: 'csv', per_page: 5 }).next(), { per_page: /Known: / })
    await assertUnknown(() => contacts.import(listId!, [], { format: 'csv', nope: 1 }), {
      nope: /Known: format, map, mode, status, confirmed, dry_run\.$/,
    })
    await assertUnknown(() => contacts.unsubscribe(contactId!, { by_contact: true }), { by_contact: /byContact/ })
    await assertUnknown(() => lists.list({ nope: 1 }), { nope: countedPage })
    await assertUnknown(() => lists.create({ name: 'a', nope: 1 }), { nope })
    await assertUnknown(() => lists.update(listId!, { name: 'a', nope: 1 }), { nope })
    await assertUnknown(() => tags.list({ nope: 1 }), { nope: countedPage })
    await assertUnknown(() => segments.list({ nope: 1 }), { nope: page })
    await assertUnknown(() => segments.create({ name: 'a', filters: {}, nope: 1 }), { nope })
    await assertUnknown(() => settings.attributes.update({ indexed: [], nope: 1 }), { nope })
    await assertUnknown(() => tags.create({ name: 'a', nope: 1 }), { nope })
    await assertUnknown(() => tags.update(tagId!, { name: 'a', nope: 1 }), { nope })
    await assertUnknown(() => topics.list(listId!, { nope: 1 }), { nope: countedPage })
    await assertUnknown(() => topics.create(listId!, { name: 'a', nope: 1 }), { nope })
    await assertUnknown(() => topics.update(topicId!, { nope: undefined }), { nope })
    await assertUnknown(() => identities.list({ nope: 1 }), { nope: /Known: identity_status, per_page, cursor\.$/ })
    await assertUnknown(() => identities.add({ email, nope: 1 }), { nope })
    await assertUnknown(() => webhooks.listEndpoints({ nope: 1 }), { nope: page })
    await assertUnknown(() => webhooks.listDeliveries(endpointId!, { state: 'failed' }), { state: /Known: per_page/ })
    const endpoint = { url: 'http://127.0.0.1:9/', events: ['webhook.test'] }
    await assertUnknown(() => webhooks.createEndpoint({ ...endpoint, nope: 1 }), { nope })
    await assertUnknown(() => webhooks.updateEndpoint(endpointId!, { nope: 1 }), {
      nope: /Known: active, description\.$/,
    })
    const since = '2026-01-01T00:00:00Z'
    await assertUnknown(() => webhooks.recover(endpointId!, { since, nope: 1, until: since }), { nope, until: /since/ })
    await assertUnknown(() => events.raise({ type: 'newsletter.sent', data: {}, nope: 1 }), { nope })
    const { clients, tokens } = mailkeep as never as Record<
      'clients' | 'tokens',
      Record<string, (_: object) => unknown>
    >
    await assertUnknown(() => clients.create!({ name: 'a', nope: 1 }), { nope })
    await assertUnknown(() => clients.bootstrap!({ nope: 1 }), { nope })
    await assertUnknown(() => tokens.create!({ clientId, role: 'admin', expiresIn: 1 }), { expiresIn: /expiresInMs/ })
    await assertUnknown(() => tokens.list!({ client: clientId }), { client: /Known: clientId\.$/ })
    const rest = [contacts.list(), lists.list({}), tags.list(undefined), mailkeep.tokens.list()]
    for (const good of rest) await good
  })
})

test('every function of the library refuses unknown options', async () => {
  await using kit = await testMailkeep()
  const { mailkeep } = kit
  const options = { database: sqlite(':memory:'), encryptionKey: randomBytes(32) }
  const create = (more: object) => createMailkeep({ ...options, ...more })
  await assertUnknown(() => create({ webhook: {} }), { webhook: /Known: database, .*webhooks/ })
  await assertUnknown(() => create({ webhooks: { timeoutMs: 1, allowPrivate: true } }), {
    'webhooks.timeoutMs': /^There is no "timeoutMs" here\. Known: .*timeoutSeconds/,
  })
  await assertUnknown(() => create({ lookup: { cacheSeconds: 1 } }), { 'lookup.cacheSeconds': /cacheMs/ })
  await assertUnknown(() => mailkeep.start({ dispach: false } as never), { dispach: /Known: dispatch\.$/ })
  await assertUnknown(() => mailkeep.close({ timeout: 1 } as never), { timeout: /Known: timeoutMs\.$/ })
  await assertUnknown(() => mailkeep.on('webhook.test', () => {}, { name: 'a', nme: 1 } as never), { nme: /name/ })
  await assertUnknown(() => sqlite(':memory:', { binding: 1 } as never), { binding: /Known: nativeBinding\.$/ })
  await assertUnknown(() => postgres('postgres://a/b', { shema: 'a' } as never), { shema: /Known: schema, / })
  await assertUnknown(() => ses({ regoin: 'a' } as never), { regoin: /region/ })
  await assertUnknown(() => testMailkeep({ webhook: {} } as never), { webhook: /Known: now, webhooks, / })
  await assertUnknown(() => testMailkeep({ webhooks: { port: [1] } } as never), { 'webhooks.port': /ports/ })
  await assertUnknown(() => kit.contact({}, { lists: 1 } as never), { lists: /Known: list\.$/ })
  await assertUnknown(() => createApi({ mailkeep, url: 'x' } as never), { url: /Known: mailkeep, .*publicUrl/ })
  await assertUnknown(() => createHandler({ mailkeep, path: '/mail' } as never), { path: /prefix/ })
  await assertUnknown(() => createFetchHandler({ mailkeep, path: '/mail' } as never), { path: /prefix/ })
  await kit.client.contacts.list() // the refused call has closed nothing
})

test('a caller with an unknown name is refused', async (t) => {
  const { mailkeep } = await openService(t, { dispatch: false })
  const caller = { source: 'api', tokenid: 5 } as object as { source: 'api' }
  assert.throws(() => mailkeep.forClient(1, caller), /There is no "tokenid" here. Known: source, tokenId/)
})
