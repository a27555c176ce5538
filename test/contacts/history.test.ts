/** The history of a contact: the proof of what it agreed to. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Contact, HistoryEntry } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { type Acme, onEveryDatabase } from '../support/webhook-harness.ts'

const email = 'ada@example.org'

/** Returns the whole history, oldest first. */
async function historyOf({ contacts }: Acme, id: number | { email: string }): Promise<HistoryEntry[]> {
  const all: HistoryEntry[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await contacts.history(id, { per_page: 3, ...(cursor && { cursor }) })
    all.push(...page.data)
    cursor = page.meta.next_cursor
  }
  return all.reverse()
}

const brief = ({ type, list_id, topic_id }: HistoryEntry) => `${type} ${list_id ?? topic_id ?? ''}`.trim()

/** Returns the changes between two states of a contact, as history has them. */
function changesBetween(before: Contact | undefined, after: Contact | undefined): string[] {
  const ids = (records: { id: number }[] = []) => records.map(({ id }) => id)
  const missing = (some: number[], others: number[]) => some.filter((id) => !others.includes(id))
  const [lists, topics] = [ids(before?.lists), ids(before?.topics)]
  const [listsNow, topicsNow] = [ids(after?.lists), ids(after?.topics)]
  const wasOut = (before?.unsubscribed_at ?? null) !== null
  const isOut = (after?.unsubscribed_at ?? null) !== null
  return [
    ...missing(listsNow, lists).map((id) => `list_joined ${id}`),
    ...missing(lists, listsNow).map((id) => `list_left ${id}`),
    ...missing(topicsNow, topics).map((id) => `topic_subscribed ${id}`),
    ...missing(topics, topicsNow).map((id) => `topic_unsubscribed ${id}`),
    ...(isOut && !wasOut ? ['unsubscribed'] : []),
    ...(wasOut && !isOut ? ['resubscribed'] : []),
  ].sort()
}

type Step = (acme: Acme, listId: number, topicId: number) => Promise<unknown>

/** Every operation that can change memberships, and some that cannot. */
const steps: Readonly<Record<string, Step>> = {
  add: ({ contacts }, list) => contacts.addToList(list, { email }),
  addMany: ({ contacts }, list) => contacts.addManyToList(list, [{ email }, { email }]),
  import: ({ contacts }, list) => contacts.import(list, [`{"email":"${email}"}\n`], { format: 'ndjson' }),
  remove: ({ contacts }, list) => contacts.removeFromList(list, { email }),
  topic: ({ contacts }, _, topic) => contacts.subscribeToTopic({ email }, topic),
  noTopic: ({ contacts }, _, topic) => contacts.unsubscribeFromTopic({ email }, topic),
  unsubscribe: ({ contacts }) => contacts.unsubscribe({ email }),
  resubscribe: ({ contacts }) => contacts.resubscribe({ email }),
  rename: ({ contacts }) => contacts.upsert({ email, name: 'Ada', tags: ['vip'] }),
  batch: ({ contacts }, list) =>
    contacts.batch([
      { op: 'upsert', email, lists: [list] },
      { op: 'unsubscribe', email },
      { op: 'unsubscribe', email },
    ]),
  batchBack: ({ contacts }, list) =>
    contacts.batch([
      { op: 'remove_from_list', email, list_id: list },
      { op: 'resubscribe', email },
    ]),
}

onEveryDatabase('the history of a contact', (open) => {
  test('is exactly what changed its lists, topics and subscription', async (t) => {
    const { acme } = await open(t, { start: false })
    const lists = [await acme.lists.create({ name: 'A' }), await acme.lists.create({ name: 'B' })]
    const topics = [
      await acme.topics.create(lists[0]!.id, { name: 'a' }),
      await acme.topics.create(lists[1]!.id, { name: 'b' }),
    ]
    const find = async () => (await acme.contacts.list({ email, include_unsubscribed: true })).data[0]
    const plan = fc.array(fc.tuple(fc.constantFrom(...Object.keys(steps)), fc.nat(1)), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(plan, async (moves) => {
        if (await find()) await acme.contacts.delete({ email })
        let before: Contact | undefined
        let known = 0
        for (const [name, at] of moves) {
          await steps[name]!(acme, lists[at]!.id, topics[at]!.id).catch(() => {}) // refused without a contact
          const after = await find()
          const entries = after ? await historyOf(acme, after.id) : []
          assert.deepEqual(entries.slice(known).map(brief).sort(), changesBetween(before, after), name)
          for (const entry of entries.slice(known)) assert.equal(entry.source, name === 'import' ? 'import' : 'library')
          known = entries.length
          before = after
        }
      }),
      { numRuns: 15 },
    )
  })

  test('says where a change came from, and shows what the contact did itself', async (t) => {
    const { mailkeep, acme, acmeId, clock } = await open(t, { start: false })
    const list = await acme.lists.create({ name: 'News' })
    const { contact } = await acme.contacts.addToList(list.id, { email })
    clock.advance(1000)
    await mailkeep.forClient(acmeId, { source: 'api', tokenId: 7 }).contacts.unsubscribe(contact.id)
    clock.advance(1000)
    const page = { source: 'preferences_page', ip: '192.0.2.7', userAgent: `Mozilla ${'x'.repeat(1000)}` } as const
    await mailkeep.forClient(acmeId, page).contacts.resubscribe(contact.id)
    const nothing = { list_id: null, topic_id: null, token_id: null, ip: null, user_agent: null }
    const [last, second, first, ...rest] = (await acme.contacts.history({ email })).data
    assert.deepEqual(rest, [])
    assert.ok(last!.created_at > second!.created_at && second!.created_at > first!.created_at)
    const without = ({ id: _, created_at: __, ...entry }: HistoryEntry) => entry
    assert.deepEqual([first!, second!, last!].map(without), [
      { ...nothing, type: 'list_joined', source: 'library', list_id: list.id },
      { ...nothing, type: 'unsubscribed', source: 'api', token_id: 7 },
      {
        ...nothing,
        ...{ type: 'resubscribed', source: 'preferences_page', ip: '192.0.2.7' },
        user_agent: page.userAgent.slice(0, 500),
      },
    ])
    assert.throws(() => mailkeep.forClient(acmeId, { ...page, userAgent: 'a\0b' }), { code: 'validation_failed' })
    await assert.rejects(acme.contacts.history(contact.id + 1), { code: 'not_found' })
    const other = await mailkeep.clients.create({ name: 'Other' })
    await assert.rejects(mailkeep.forClient(other.id).contacts.history(contact.id), { code: 'not_found' })
  })

  test('is written in the transaction of the change', async (t) => {
    const { acme } = await open(t, { start: false })
    const list = await acme.lists.create({ name: 'News' })
    const { contact } = await acme.contacts.upsert({ email })
    const failed = acme.withIdempotencyKey('key', {}, async (client) => {
      await client.contacts.addToList(list.id, { email })
      throw new Error('no')
    })
    await assert.rejects(failed, /no/)
    assert.deepEqual(await historyOf(acme, contact.id), [])
  })

  test('ends with what a merge changed of the contact that stays', async (t) => {
    const { mailkeep, acme } = await open(t, { start: false })
    const [news, offers] = [await acme.lists.create({ name: 'News' }), await acme.lists.create({ name: 'Offers' })]
    const topic = await acme.topics.create(offers.id, { name: 'Shoes' })
    const { contact: old } = await acme.contacts.addToList(offers.id, { email: 'old@example.org' })
    await acme.contacts.subscribeToTopic(old.id, topic.id)
    await acme.contacts.addToList(news.id, { email: old.email })
    await acme.contacts.unsubscribe(old.id)
    const { contact: ada } = await acme.contacts.addToList(news.id, { email })
    await acme.contacts.addToList(offers.id, { email })
    await acme.contacts.removeFromList(offers.id, ada.id)
    await acme.contacts.unsubscribe(ada.id)
    await acme.contacts.resubscribe(ada.id)
    await acme.contacts.merge(old.id, { into: ada.id })
    await mailkeep.deliverDue()
    const last = (await historyOf(acme, ada.id)).slice(-4)
    assert.deepEqual(last.map(brief), [
      'resubscribed',
      `list_joined ${offers.id}`,
      `topic_subscribed ${topic.id}`,
      'unsubscribed',
    ])
    const { contact: spare } = await acme.contacts.addToList(news.id, { email: 'spare@example.org' })
    const { length } = await historyOf(acme, ada.id)
    await acme.contacts.merge(spare.id, { into: ada.id })
    await mailkeep.deliverDue()
    assert.equal((await historyOf(acme, ada.id)).length, length + 1, 'only that of the merged contact is added')
  })

  test('follows a contact through several merges, also if the first one has not ended', async (t) => {
    const { mailkeep, acme } = await open(t, { start: false })
    const list = await acme.lists.create({ name: 'News' })
    const emails = ['first@example.org', 'second@example.org', 'last@example.org']
    const contacts = await acme.contacts.addManyToList(
      list.id,
      emails.map((address) => ({ email: address })),
    )
    const [first, second, last] = contacts.map((result) => (result as { id: number }).id)
    for (let n = 0; n < 400; n++) {
      await acme.contacts.unsubscribe(first!)
      await acme.contacts.resubscribe(first!)
    }
    await Promise.all([
      acme.contacts.merge(first!, { into: second! }),
      acme.contacts.merge(second!, { into: last! }), // its transaction follows at once
    ])
    await mailkeep.deliverDue()
    assert.equal((await historyOf(acme, last!)).length, 803)
  })

  test('follows a merged contact, and goes with an erased contact and with a deleted client', async (t) => {
    const { mailkeep, acme, acmeId, count } = await open(t, { start: false })
    const list = await acme.lists.create({ name: 'News' })
    const { contact: ada } = await acme.contacts.addToList(list.id, { email })
    const { contact: old } = await acme.contacts.addToList(list.id, { email: 'old@example.org' })
    await acme.contacts.removeFromList(list.id, old.id)
    for (let n = 0; n < 300; n++) {
      await acme.contacts.unsubscribe(old.id)
      await acme.contacts.resubscribe(old.id)
    }
    await acme.contacts.merge(old.id, { into: ada.id })
    await mailkeep.deliverDue()
    const merged = await historyOf(acme, ada.id)
    assert.deepEqual(merged.slice(0, 3).map(brief), ['list_joined 1', 'list_joined 1', 'list_left 1'])
    assert.equal(merged.length, 603)
    await acme.contacts.delete(ada.id)
    await mailkeep.deliverDue()
    assert.equal(await count('mailkeep_contact_history'), 0)
    await acme.contacts.addToList(list.id, { email })
    await acme.contacts.addToList(list.id, { email: 'bob@example.org' })
    await mailkeep.clients.delete(acmeId)
    await mailkeep.deliverDue()
    assert.deepEqual([await count('mailkeep_contact_history'), await count('mailkeep_contact')], [0, 0])
  })
})
