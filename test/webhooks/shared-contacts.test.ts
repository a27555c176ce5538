/** The events of many tags that a contact gets in one change: the contact is stored once. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from '../support/databases.ts'
import {
  addEndpoint,
  dayMs,
  newest,
  type Open,
  type Opened,
  onEveryDatabase,
  openReceiver,
  openSecondInstance,
  until,
} from '../support/webhook-harness.ts'

/** Names and a value with what the stored texts have, and with what replacements treat specially. */
const hostile = ['"contact":{}', `{"contact":{}}`, '$& $1 \\1 \\', "it's", 'é😀\u202e']
const attributes = { note: '"contact":{} \\" $&', empty: '{}' }

const tagNames = (count: number, length = 0) =>
  Array.from({ length: count }, (_, n) => `${hostile[n] ?? ''} ${n} `.padEnd(length, 't'))

const shared = (mk: Opened) => mk.count('mailkeep_shared_contact')

/** Adds an endpoint for each type, and a new contact with tags, by a batch. */
async function openWithTags(open: Open, t: TestContext, tags: readonly string[], start = false) {
  const mk = await open(t, { start })
  const receiver = await openReceiver(t)
  const created = await addEndpoint(mk, receiver.url('/created'), 'contact.created')
  const tagged = await addEndpoint(mk, receiver.url('/tagged'), 'contact.tagged')
  const list = await mk.acme.lists.create({ name: 'News' })
  const input = { email: 'ada@example.org', name: 'Ada Lovelace', tags, ...attributes }
  const [result] = await mk.acme.contacts.addManyToList(list.id, [input])
  assert.ok(result && 'id' in result)
  const contact = await mk.acme.contacts.get(result.id)
  return { mk, receiver, created, tagged, contact }
}

onEveryDatabase('the events of many tags that a contact gets at once', (open) => {
  test('each have the whole contact as it is read, and store it once', async (t) => {
    const { mk, receiver, contact, tagged } = await openWithTags(open, t, tagNames(40))
    assert.equal(await shared(mk), 1)
    const stored = await mk.ask('select sum(length(body)) as n from mailkeep_event')
    assert.ok(Number(stored[0]!.n) < 20_000, `${stored[0]!.n}`)
    const { payload } = await newest(mk, tagged.id)
    mk.mailkeep.start()
    await receiver.count(41)
    const names = new Set<string>()
    for (const { path, body } of receiver.received) {
      const event = JSON.parse(body)
      const { id, type, created_at, data } = event
      const { tag } = data
      if (path === '/tagged') names.add(tag.name)
      if (isSame(payload, event)) assert.equal(JSON.stringify(payload), body)
      // The same text, so the same order of fields too.
      const expected = { id, type, created_at, data: path === '/tagged' ? { contact, tag } : { contact } }
      assert.equal(body, JSON.stringify(expected))
    }
    assert.deepEqual([...names].sort(), contact.tags.map(({ name }) => name).sort())
  })

  test('are within 64 KiB, and say what they leave out', async (t) => {
    const { mk, receiver, contact } = await openWithTags(open, t, tagNames(500, 255), true)
    await receiver.count(501)
    for (const { body } of receiver.received) {
      assert.ok(Buffer.byteLength(body) <= 65_536)
      const { data } = JSON.parse(body)
      assert.deepEqual(data.truncated, ['extra_attributes', 'tags'])
      assert.deepEqual(data.contact, { ...contact, extra_attributes: {}, tags: [] })
    }
    assert.equal(await shared(mk), 1)
  })

  test('are erased with the contact', async (t) => {
    const { mk, tagged, contact } = await openWithTags(open, t, tagNames(350))
    await mk.acme.contacts.delete(contact.id)
    assert.equal((await newest(mk, tagged.id)).payload, null)
    await until('it is erased', async () => (await shared(mk)) === 0 || undefined)
    const left = `mailkeep_event where body <> '' or contact_id is not null or shared_contact_id is not null`
    await until('all events are erased', async () => (await mk.count(left)) === 0 || undefined)
    assert.equal((await mk.acme.webhooks.recover(tagged.id, { since: '2000-01-01T00:00:00Z' })).total, 0)
  })

  test('are erased with the contact that theirs was merged into', async (t) => {
    const { mk, tagged, contact } = await openWithTags(open, t, tagNames(40))
    const { contact: other } = await mk.acme.contacts.upsert({ email: 'augusta@example.org' })
    await mk.acme.contacts.merge(contact.id, { into: other.id })
    const first = (await mk.acme.webhooks.listDeliveries(tagged.id, { per_page: 100 })).data.at(-1)!
    const { payload } = await mk.acme.webhooks.getDelivery(tagged.id, first.id)
    assert.deepEqual((payload as { data: { contact: object } }).data.contact, contact)
    await mk.acme.contacts.delete(other.id)
    assert.equal((await mk.acme.webhooks.getDelivery(tagged.id, first.id)).payload, null)
    await until('it is erased', async () => (await shared(mk)) === 0 || undefined)
  })

  test('are in the data of the contact', async (t) => {
    const { mk, contact } = await openWithTags(open, t, tagNames(12))
    const lines: string[] = []
    for await (const part of mk.acme.contacts.data(contact.id)) lines.push(String(part))
    const { deliveries } = JSON.parse(lines.join(''))
    assert.equal(deliveries.length, 13)
    for (const { payload } of deliveries) assert.deepEqual(payload.data.contact, contact)
  })

  test('lose the contact when the last of them is deleted', async (t) => {
    const { mk, created, tagged } = await openWithTags(open, t, tagNames(40))
    const events = async (count: number) =>
      await until(`${count} events`, async () => (await mk.count('mailkeep_event')) === count || undefined)
    await mk.acme.webhooks.deleteEndpoint(tagged.id)
    await events(1)
    assert.equal(await shared(mk), 1)
    await mk.acme.webhooks.deleteEndpoint(created.id)
    await events(0)
    assert.equal(await shared(mk), 0)
  })

  test('lose the contact when they expire', async (t) => {
    const { mk, receiver } = await openWithTags(open, t, tagNames(40), true)
    await receiver.count(41)
    const pending = `mailkeep_delivery where status = 'pending'`
    await until('they are recorded', async () => (await mk.count(pending)) === 0 || undefined)
    mk.clock.advance(31 * dayMs)
    await openSecondInstance(t, mk) // it deletes them when it starts
    await until('they are deleted', async () => (await mk.count('mailkeep_event')) === 0 || undefined)
    assert.equal(await shared(mk), 0)
  })

  test('store their own copies when they are few', async (t) => {
    const { mk } = await openWithTags(open, t, tagNames(3))
    assert.deepEqual([await mk.count('mailkeep_event'), await shared(mk)], [4, 0])
  })
})

const isSame = (one: unknown, other: { id: string }) => (one as { id: string }).id === other.id
