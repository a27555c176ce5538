/** Clients and their tokens, through the library. */
import assert from 'node:assert/strict'
import { isMailkeepError } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { addEndpoint, copies, dayMs, onEveryDatabase, openReceiver, raise, until } from '../support/webhook-harness.ts'

onEveryDatabase('clients', (open) => {
  test('are renamed; an unknown or deleted one is not found, and an empty name is refused', async (t) => {
    const { mailkeep, acmeId } = await open(t)
    const renamed = await mailkeep.clients.rename(acmeId, { name: ' Acme Ltd ' })
    assert.equal(renamed.name, 'Acme Ltd')
    assert.deepEqual(await mailkeep.clients.get(acmeId), renamed)
    await assert.rejects(mailkeep.clients.rename(acmeId, { name: '' }), (error) => {
      return isMailkeepError(error, 'validation_failed') && error.errors?.name !== undefined
    })
    await mailkeep.clients.delete(acmeId)
    for (const [id, code] of [
      [acmeId, 'not_found'],
      [999, 'not_found'],
      [0.5, 'validation_failed'],
    ] as const) {
      await assert.rejects(mailkeep.clients.rename(id, { name: 'x' }), (error) => isMailkeepError(error, code))
    }
  })

  test('are deleted with their tokens, their deliveries in flight and all personal data', async (t) => {
    const opened = await open(t, { webhooks: { timeoutSeconds: 60 } }) // longer than the test waits
    const { mailkeep, acme, acmeId, count } = opened
    const hanging = await openReceiver(t, 'hang')
    await addEndpoint(opened, hanging.url())
    const list = await acme.lists.create({ name: 'News' })
    const people = Array.from({ length: 700 }, (_, n) => ({ email: `p${n}@example.org`, name: `Person ${n}` }))
    await acme.contacts.addManyToList(list.id, people)
    const { token } = await mailkeep.tokens.create({ clientId: acmeId, role: 'admin' })
    await raise(opened)
    const { gone } = await hanging.count(1)
    await copies(opened, 300) // together with the contacts a backlog larger than one batch

    await mailkeep.clients.delete(acmeId)
    assert.equal(await mailkeep.tokens.authenticate(token), undefined)
    let isGone = false
    void gone.then(() => {
      isGone = true
    })
    await until('the attempt in flight is aborted: this receiver never answers', () => isGone)
    for (const table of ['contact', 'delivery', 'event', 'list', 'token', 'endpoint', 'contact_list']) {
      await until(`no ${table} is left`, async () => {
        return (await count(`mailkeep_${table} where client_id = ?`, acmeId)) === 0 || undefined
      })
    }
    await until('the client is gone', async () => {
      return (await count('mailkeep_client where id = ?', acmeId)) === 0 || undefined
    })
    assert.equal(hanging.received.length, 1, 'nothing was sent for the deleted client')
    assert.equal(await count(`mailkeep_contact where email like '%@example.org'`), 0)
  })

  test('are gone at once, also while a job still deletes their rows', async (t) => {
    const { mailkeep, acme, acmeId, count } = await open(t, { start: false, publicUrl: 'https://mail.example.org' })
    const list = await acme.lists.create({ name: 'News' })
    await acme.contacts.addManyToList(
      list.id,
      Array.from({ length: 600 }, (_, n) => ({ email: `p${n}@example.org` })),
    )
    const { token } = await mailkeep.tokens.create({ clientId: acmeId, role: 'admin' })
    const session = (await acme.portal.createLink()).url.split('token=')[1]!
    for (const one of [token, session]) assert.equal((await mailkeep.tokens.authenticate(one))?.clientId, acmeId)
    await mailkeep.clients.delete(acmeId)
    assert.ok((await count('mailkeep_contact where client_id = ?', acmeId)) > 0)
    for (const one of [token, session]) assert.equal(await mailkeep.tokens.authenticate(one), undefined)
    assert.ok((await mailkeep.clients.list()).every((client) => client.id !== acmeId))
    for (const attempt of [
      () => mailkeep.clients.get(acmeId),
      () => mailkeep.clients.rename(acmeId, { name: 'Acme' }),
      () => mailkeep.clients.delete(acmeId),
      () => mailkeep.tokens.create({ clientId: acmeId, role: 'viewer' }),
      () => acme.tokens.create({ name: 'Billing', role: 'viewer' }),
      () => acme.portal.createLink(),
    ]) {
      await assert.rejects(attempt(), { code: 'not_found' }, String(attempt))
    }
  })

  test('get no webhook after they are deleted, however many wait', async (t) => {
    const opened = await open(t, { start: false })
    const { mailkeep, acmeId, count } = opened
    const receiver = await openReceiver(t, 204)
    await addEndpoint(opened, receiver.url())
    await raise(opened)
    await copies(opened, 3000, 'pending')
    await mailkeep.clients.delete(acmeId)
    const waiting = () => count('mailkeep_delivery where client_id = ?', acmeId)
    assert.ok((await waiting()) > 0, 'a job deletes the rest')
    mailkeep.start()
    await until('all are deleted', async () => (await waiting()) === 0 || undefined)
    assert.deepEqual(receiver.received, [])
  })

  test('are deleted without an effect on the endpoints and tokens of others', async (t) => {
    const { mailkeep, acme, acmeId } = await open(t, { start: false })
    const other = await mailkeep.clients.create({ name: 'Other' })
    const { id } = await addEndpoint({ acme }, 'https://hook.example/')
    const { token } = await mailkeep.tokens.create({ clientId: acmeId, role: 'member' })
    await mailkeep.clients.delete(other.id)
    assert.equal((await acme.webhooks.getEndpoint(id)).active, true)
    assert.equal((await mailkeep.tokens.authenticate(token))?.clientId, acmeId)
  })

  test('have tokens that end at their time to the millisecond, also just after a use', async (t) => {
    const { mailkeep, acmeId, clock } = await open(t, { start: false })
    const { token } = await mailkeep.tokens.create({ clientId: acmeId, role: 'member', expiresInMs: 60_000 })
    clock.advance(59_999)
    assert.ok(await mailkeep.tokens.authenticate(token))
    clock.advance(1)
    assert.equal(await mailkeep.tokens.authenticate(token), undefined)
  })

  test('show the token of the caller only to its own client, and while it is valid', async (t) => {
    const { mailkeep, acmeId, clock } = await open(t, { start: false })
    const other = await mailkeep.clients.create({ name: 'Other' })
    const [short, long] = [
      await mailkeep.tokens.create({ clientId: acmeId, role: 'viewer', expiresInMs: 60_000 }),
      await mailkeep.tokens.create({ clientId: acmeId, role: 'viewer' }),
    ]
    const current = (tokenId: number | undefined, clientId = acmeId) =>
      mailkeep.forClient(clientId, { source: 'api', tokenId }).tokens.current()
    for (const { id } of [short, long]) assert.equal((await current(id)).id, id)
    await assert.rejects(current(long.id, other.id), { code: 'not_found' })
    await assert.rejects(current(undefined), { code: 'not_found' })
    clock.advance(60_000)
    await assert.rejects(current(short.id), { code: 'not_found' })
    await mailkeep.tokens.revoke(long.id)
    await assert.rejects(current(long.id), { code: 'not_found' })
  })

  test('show when a token was used also after the clock was set back', async (t) => {
    const { mailkeep, acmeId, clock } = await open(t)
    const { token } = await mailkeep.tokens.create({ clientId: acmeId, role: 'member' })
    const usedAt = (ms: number) =>
      until('the use is recorded', async () => {
        const [{ last_used_at } = { last_used_at: null }] = await mailkeep.tokens.list({ clientId: acmeId })
        return last_used_at !== null && Date.parse(last_used_at) === ms
      })
    for (const ms of [40 * dayMs, -40 * dayMs]) {
      clock.advance(ms)
      await mailkeep.tokens.authenticate(token)
      await usedAt(clock.ms)
    }
  })

  test('have tokens with names, and show when each was used', async (t) => {
    const { mailkeep, acmeId } = await open(t)
    const named = await mailkeep.tokens.create({ clientId: acmeId, role: 'member', name: ' Billing ' })
    const plain = await mailkeep.tokens.create({ clientId: acmeId, role: 'admin' })
    assert.deepEqual([named.name, plain.name], ['Billing', null])
    assert.deepEqual(await mailkeep.tokens.authenticate(named.token), {
      clientId: acmeId,
      role: 'member',
      tokenId: named.id,
    })
    const used = await until('the use is recorded', async () => {
      const tokens = await mailkeep.tokens.list({ clientId: acmeId })
      return tokens.some(({ last_used_at }) => last_used_at !== null) ? tokens : undefined
    })
    assert.deepEqual(
      used.map(({ id, name, last_used_at }) => [id, name, last_used_at !== null]),
      [
        [named.id, 'Billing', true],
        [plain.id, null, false],
      ],
    )
    for (const name of ['', 'x'.repeat(256)]) {
      const made = mailkeep.tokens.create({ clientId: acmeId, role: 'member', name })
      await assert.rejects(made, (error) => isMailkeepError(error, 'validation_failed') && 'name' in error.errors!)
    }
  })
})
