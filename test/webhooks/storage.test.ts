import assert from 'node:assert/strict'
import { createDecipheriv, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { describe, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { createMailkeep, isMailkeepError } from '../../lib/index.ts'
import { verifyDelivery } from '../../lib/webhooks/receiver.ts'
import { test } from '../support/databases.ts'
import { onSqlite } from '../support/kinds.ts'
import {
  addEndpoint,
  attempted,
  copies,
  dayMs,
  newest,
  type Open,
  type Opened,
  type OpenOptions,
  onEveryDatabase,
  onSharedDatabases,
  open,
  openReceiver,
  openSecondInstance,
  type Reply,
  raise,
  share,
  until,
  withStatus,
} from '../support/webhook-harness.ts'

/** Returns all bytes of the database: its file, log and index, after a checkpoint of the log. */
async function bytesOf({ handle, env }: ReturnType<typeof onSqlite>): Promise<Buffer> {
  await until('the log is checkpointed', () => {
    const [{ busy }] = handle.pragma('wal_checkpoint(truncate)') as [{ busy: number }]
    return busy === 0 || undefined
  })
  const files = ['', '-wal', '-shm'].map((end) => `${env.FILE}${end}`).filter((name) => existsSync(name))
  return Buffer.concat(files.map((name) => readFileSync(name)))
}

const ada = { email: 'Ada.Lovelace@example.org', name: 'Augusta Ada King', engine: 'Analytical No. 1843' }
const traces = [...Object.values(ada), 'ada.lovelace@example.org', 'augusta ada king']

/** Opens a client with endpoint, list and Ada, and a receiver that answers with the request it got. */
async function openWithAda(open: Open, t: TestContext, options: OpenOptions) {
  const mk = await open(t, options)
  const receiver = await openReceiver(t, ({ body }) => ({ status: receiver.received.length % 2 ? 500 : 200, body }))
  const types = ['contact.subscribed', 'contact.unsubscribed', 'contact.resubscribed'] as const
  const { id } = await addEndpoint(mk, receiver.url(), ...types)
  const list = await mk.acme.lists.create({ name: 'News' })
  const { contact } = await mk.acme.contacts.addToList(list.id, ada)
  return { mk, receiver, id, list, contact }
}

/** Raises this many events about a contact. */
async function raiseMany({ acme }: Opened, id: number, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await (n % 2 ? acme.contacts.resubscribe(id) : acme.contacts.unsubscribe(id))
}

const countOf = (mk: Opened, where: string) =>
  mk.count(`mailkeep_delivery join mailkeep_event as e on e.id = event_id where ${where}`)

onEveryDatabase('erasing a contact', (open) => {
  test('hides its payloads immediately and visibly fails its pending deliveries', async (t) => {
    const { mk, id, list, contact, receiver } = await openWithAda(open, t, { start: false })
    const bob = await mk.acme.contacts.addToList(list.id, { email: 'bob@example.org' })
    await raiseMany(mk, contact.id, 800)
    const { payload } = await newest(mk, id)
    assert.match(JSON.stringify(payload), /Ada\.Lovelace/)
    await mk.acme.contacts.delete(contact.id)
    const { data } = await mk.acme.webhooks.listDeliveries(id, { per_page: 100 })
    for (const delivery of [data[0]!, data.at(-1)!]) {
      assert.equal((await mk.acme.webhooks.getDelivery(id, delivery.id)).payload, null)
    }
    const left = () => countOf(mk, `e.body like '%Lovelace%'`)
    await until('everything is deleted', async () => (await left()) === 0 || undefined)
    assert.equal(await countOf(mk, `status = 'failed' and attempts = 0 and body = ''`), 801)
    const { status, error, next_attempt_at } = await newest(mk, id)
    assert.deepEqual([status, next_attempt_at], ['failed', null])
    assert.match(error!, /erased/)
    mk.mailkeep.start()
    assert.match((await receiver.count(1)).body, /bob@example\.org/)
    await until(
      'it is recorded',
      async () => (await countOf(mk, `attempts = 1 and contact_id = ${bob.contact.id}`)) === 1 || undefined,
    )
    const recovery = await mk.acme.webhooks.recover(id, { since: '2000-01-01T00:00:00Z' })
    assert.equal(recovery.total, 0, 'erased deliveries are not recovered')
  })

  test('while its delivery is in flight: no more of it is stored or sent', async (t) => {
    const mk = await open(t)
    let answer = (_: Reply) => {}
    const receiver = await openReceiver(t, () => new Promise<Reply>((resolve) => (answer = resolve)))
    const { id } = await addEndpoint(mk, receiver.url(), 'contact.subscribed')
    const list = await mk.acme.lists.create({ name: 'News' })
    const { contact } = await mk.acme.contacts.addToList(list.id, ada)
    await receiver.count(1)
    await mk.acme.contacts.delete(contact.id)
    assert.equal((await newest(mk, id)).status, 'failed')
    answer({ status: 500, body: receiver.received[0]!.body })
    await receiver.received[0]!.gone
    const other = await addEndpoint(mk, (await openReceiver(t)).url())
    await raise(mk)
    await withStatus(mk, other.id, 'success')
    const { status, attempts, attempt_log } = await newest(mk, id)
    assert.deepEqual([status, attempts], ['failed', 1])
    // The attempt itself is recorded, without its answer.
    const cut = [1, null, null, 'The attempt was interrupted by an erasure.', null]
    assert.deepEqual(
      attempt_log.map((one) => [one.number, one.duration_ms, one.response_status, one.error, one.response_body]),
      [cut],
    )
  })

  test('before its data is deleted: a delivery that is not deleted yet is not claimed either', async (t) => {
    const { mk, receiver, id, contact } = await openWithAda(open, t, { start: false })
    await mk.ask(`delete from mailkeep_contact where id = ${contact.id}`) // as if the rest were still to be deleted
    mk.mailkeep.start()
    const { attempts, error, payload } = await withStatus(mk, id, 'failed')
    assert.deepEqual([attempts, payload], [0, null])
    assert.match(error!, /erased/)
    assert.equal(receiver.received.length, 0)
  })
})

describe('the database file', () => {
  test('has no byte of an erased contact in events, answers or searches', async (t) => {
    const place = share(onSqlite('a SQLite file'))
    const { mk, id, contact, receiver } = await openWithAda(open, t, { place })
    await attempted(mk, id, 1) // its answer is stored with the attempt
    await raiseMany(mk, contact.id, 700)
    await receiver.count(20)
    const before = await bytesOf(place)
    for (const trace of [...Object.values(ada), 'ada.lovelace@example.org']) assert.ok(before.includes(trace), trace)
    await mk.acme.contacts.delete(contact.id)
    await until('everything is deleted', async () => (await countOf(mk, `body like '%Lovelace%'`)) === 0 || undefined)
    await until('nothing is in flight', async () => (await countOf(mk, 'claim is not null')) === 0 || undefined)
    assert.equal(await mk.count('mailkeep_attempt where response_body is not null'), 0)
    const after = await bytesOf(place)
    for (const trace of traces) assert.ok(!after.includes(trace), `${trace} is still there`)
  })

  test('has no secret in it, in any form', async (t) => {
    const place = share(onSqlite('a SQLite file'))
    const mk = await open(t, { place, start: false })
    const { id, secret } = await addEndpoint(mk, 'https://hook.example/')
    const rotated = await mk.acme.webhooks.rotateSecret(id)
    const bytes = await bytesOf(place)
    assert.ok(bytes.includes('https://hook.example/'))
    for (const one of [secret, rotated.secret]) {
      const base64 = one.slice('whsec_'.length)
      const raw = Buffer.from(base64, 'base64')
      for (const form of [one, base64, raw, raw.toString('hex'), raw.toString('base64url')]) {
        assert.ok(!bytes.includes(form), String(form))
      }
    }
  })
})

onSharedDatabases('a database', (open) => {
  test('has secrets sealed with AES-256-GCM under the encryption key: nonce, tag and cipher text', async (t) => {
    const mk = await open(t, { start: false })
    const { id, uuid, secret } = await addEndpoint(mk, 'https://hook.example/')
    const [row] = await mk.ask('select secret from mailkeep_endpoint where id = ?', id)
    const sealed = Buffer.from(String(row!.secret).split('.').at(-1)!, 'base64url')
    const key = Buffer.from(mk.encryptionKey as Uint8Array)
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12)).setAAD(Buffer.from(uuid))
    const text = decipher.setAuthTag(sealed.subarray(12, 28)).update(sealed.subarray(28), undefined, 'utf8')
    assert.equal(text + decipher.final('utf8'), secret)
  })

  test('opens with its own encryption key only', async (t) => {
    const mk = await open(t, { start: false })
    await addEndpoint(mk, 'https://hook.example/')
    const other = createMailkeep({ database: mk.place.source, encryptionKey: randomBytes(32) })
    await assert.rejects(other, (error) => isMailkeepError(error, 'conflict'))
  })

  test('sealed with a new key make a process that has only the old one unready', async (t) => {
    const mk = await open(t, { start: false })
    await addEndpoint(mk, 'https://hook.example/')
    const keys = { encryptionKey: randomBytes(32), previousEncryptionKeys: [mk.encryptionKey] }
    const next = await open(t, { place: mk.place, ...keys, start: false })
    assert.ok((await next.mailkeep.resealSecrets()) > 0)
    assert.equal((await next.mailkeep.ready()).database, null)
    const { ready, database } = await mk.mailkeep.ready()
    assert.equal(ready, false)
    assert.match(database!, /^The encryption key is not this database's/)
  })

  test('can be sealed with a new key: the old one is needed until then, and the secrets do not change', async (t) => {
    const mk = await open(t, { start: false })
    const receiver = await openReceiver(t)
    const endpoints = []
    for (let i = 0; i < 3; i++) endpoints.push(await addEndpoint(mk, receiver.url(`/${i}`)))
    await mk.mailkeep.close()
    const [place, encryptionKey] = [mk.place, randomBytes(32)]
    const next = await open(t, { place, encryptionKey, previousEncryptionKeys: [mk.encryptionKey], start: false })
    endpoints.push(await addEndpoint(next, receiver.url('/3')))
    assert.equal(await next.mailkeep.resealSecrets(), 4, 'three, and the secret of the first waker’s endpoint')
    assert.equal(await next.mailkeep.resealSecrets(), 0)
    await next.mailkeep.close()
    const old = createMailkeep({ database: place.source, encryptionKey: mk.encryptionKey })
    await assert.rejects(old, (error) => isMailkeepError(error, 'conflict'))
    const last = await open(t, { place, encryptionKey })
    await raise(last)
    await receiver.count(4)
    for (const { headers, body, path } of receiver.received) {
      const { secret } = endpoints[Number(path.slice(1))]!
      verifyDelivery(headers, body, secret, { now: last.clock.read })
    }
  })
})

onSharedDatabases('deliveries', (open) => {
  test('are deleted after 30 days with events and attempts, also behind many that are still pending', async (t) => {
    const mk = await open(t, { webhooks: { retryScheduleSeconds: [] }, start: false })
    const receiver = await openReceiver(t, ({ path }) => (path === '/hang' ? 'hang' : Number(path.slice(1))))
    const hanging = await addEndpoint(mk, receiver.url('/hang'), 'sequence.completed')
    await mk.acme.webhooks.updateEndpoint(hanging.id, { active: false })
    await raise(mk, {}, 'sequence.completed')
    await copies(mk, 599)
    for (const path of ['/200', '/500']) await addEndpoint(mk, receiver.url(path))
    await raise(mk)
    await mk.mailkeep.deliverDue()
    const off = await addEndpoint(mk, receiver.url('/200'), 'sequence_step.sent')
    await mk.acme.webhooks.updateEndpoint(off.id, { active: false })
    await raise(mk, {}, 'sequence_step.sent')
    const soon = await addEndpoint(mk, receiver.url('/200'))
    const recovery = await mk.acme.webhooks.recover(soon.id, { since: new Date(mk.clock.ms).toISOString() })
    const isDone = async () => (await mk.acme.webhooks.getRecovery(soon.id, recovery.id)).status === 'done'
    await until('the recovery is done', isDone) // before the clock moves
    await mk.acme.webhooks.updateEndpoint(hanging.id, { active: true })
    await mk.ask(`update mailkeep_delivery set status = 'pending' where endpoint_id = ${hanging.id}`)

    const counts = async () => {
      const delivery = `mailkeep_delivery where client_id = ${mk.acmeId} and endpoint_id`
      return {
        pending: await mk.count(`${delivery} = ${hanging.id}`),
        others: await mk.count(`${delivery} <> ${hanging.id}`),
        events: await mk.count(`mailkeep_event where client_id = ${mk.acmeId}`),
        attempts: await mk.count(
          'mailkeep_attempt join mailkeep_delivery on id = delivery_id where attempts = 1 and claim is null',
        ),
        recoveries: await mk.count('mailkeep_job'),
      }
    }
    const kept = await counts()
    assert.deepEqual(kept, { pending: 600, others: 3, events: 3, attempts: 2, recoveries: 1 })
    const { clock } = mk
    clock.advance(30 * dayMs)
    const early = await openSecondInstance(t, mk)
    await receiver.count(3)
    assert.deepEqual(await counts(), kept, '30 days are not over')
    clock.advance(1)
    await openSecondInstance(t, mk)
    const rest = { pending: 600, others: 0, events: 1, attempts: 0, recoveries: 0 }
    await until('the others are deleted', async () => isDeepStrictEqual(await counts(), rest) || undefined)
    await early.mailkeep.close({ timeoutMs: 0 })
  })

  test('are deleted after 30 days where a schedule calls deliverDue and nothing is started', async (t) => {
    const mk = await open(t, { start: false })
    const receiver = await openReceiver(t, () => 200)
    const endpoint = await addEndpoint(mk, receiver.url('/'))
    const left = () => mk.count(`mailkeep_delivery where endpoint_id = ${endpoint.id}`)
    await raise(mk)
    await mk.mailkeep.deliverDue()
    mk.clock.advance(30 * dayMs)
    await mk.mailkeep.deliverDue()
    assert.equal(await left(), 1, '30 days are not over')
    mk.clock.advance(3_600_000)
    await mk.mailkeep.deliverDue()
    assert.equal(await left(), 0)
  })
})
