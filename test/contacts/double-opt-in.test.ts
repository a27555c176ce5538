/** Lists with double opt-in: a contact is a member only after it has confirmed. */
import assert from 'node:assert/strict'
import { isMailkeepError, type RaisedEvent } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { dayMs, hourMs, type Open, onEveryDatabase } from '../support/webhook-harness.ts'

const email = 'ada@example.org'
const publicUrl = 'https://mail.example.org'
const minuteMs = 60_000

type Opened = Awaited<ReturnType<typeof openNews>>

/** Opens a client with a list with double opt-in. `asked` returns the confirmation links since its last call. */
async function openNews(open: Open, t: Parameters<Open>[0], options: object = { publicUrl }) {
  const events: RaisedEvent[] = []
  const mk = await open(t, { start: false, onEvent: (event) => void events.push(event), ...options })
  const list = await mk.acme.lists.create({ name: 'News', double_opt_in: true })
  const { double_opt_in: _, ...plain } = list
  const raised = () => events.splice(0)
  const asked = () =>
    raised().flatMap(({ type, data }) =>
      type === 'contact.confirmation_requested' ? (data as { confirm_url: string }).confirm_url : [],
    )
  const types = async () => (await mk.acme.contacts.history({ email })).data.map(({ type }) => type).reverse()
  const isMember = async () => (await mk.acme.contacts.get({ email })).lists.length > 0
  return { ...mk, list, plain, raised, asked, types, isMember }
}

/** Does what the page does when a contact presses its button. @returns false if the link is refused. */
async function confirm({ mailkeep }: Pick<Opened, 'mailkeep'>, url: string): Promise<boolean> {
  const token = /\/c\/([^/]+)\/confirm$/.exec(url)![1]!
  const caller = { source: 'confirmation_link', ip: '192.0.2.7', userAgent: 'Mozilla' } as const
  try {
    const { clientId, contact, listId } = await mailkeep.links.open(token, 'confirm')
    await mailkeep.forClient(clientId, caller).contacts.confirm(listId!, contact.id)
    return true
  } catch (error) {
    assert.ok(isMailkeepError(error, 'not_found'), String(error))
    return false
  }
}

onEveryDatabase('a list with double opt-in', (open) => {
  test('takes a contact after it has followed its link, once', async (t) => {
    const mk = await openNews(open, t)
    const { acme, list, plain, raised, types, isMember } = mk
    const added = await acme.contacts.addToList(list.id, { email, tags: ['vip'] })
    assert.deepEqual([added.created, added.pending_lists, added.contact.lists], [true, [plain], []])
    const [created, tagged, request, ...more] = raised()
    assert.deepEqual([created!.type, tagged!.type, more], ['contact.created', 'contact.tagged', []])
    const { confirm_url, ...data } = request!.data as { confirm_url: string }
    assert.deepEqual([request!.type, data], ['contact.confirmation_requested', { contact: added.contact, list: plain }])
    assert.match(confirm_url, /^https:\/\/mail\.example\.org\/c\/[\w-]{20,100}\/confirm$/)
    assert.ok(await confirm(mk, confirm_url))
    const contact = await acme.contacts.get({ email })
    assert.deepEqual(contact.lists, [plain])
    assert.deepEqual(
      raised().map(({ type, data }) => [type, data]),
      [['contact.subscribed', { contact, list: plain }]],
    )
    assert.ok(await confirm(mk, confirm_url), 'twice is fine')
    assert.deepEqual(raised(), [])
    assert.deepEqual(await types(), ['confirmation_requested', 'confirmed'])
    const [last] = (await acme.contacts.history({ email })).data
    assert.deepEqual([last!.source, last!.ip, last!.list_id], ['confirmation_link', '192.0.2.7', list.id])
    assert.deepEqual((await acme.contacts.addToList(list.id, { email })).pending_lists, [])
    await acme.contacts.removeFromList(list.id, { email })
    assert.equal(await confirm(mk, confirm_url), false, 'the link does not undo a later removal')
    assert.equal(await isMember(), false)
  })

  test('asks again at most once in 10 minutes, and its links work for 30 days', async (t) => {
    const mk = await openNews(open, t)
    const { acme, list, plain, asked, clock, isMember } = mk
    const add = () => acme.contacts.addToList(list.id, { email })
    await add()
    const [first] = asked()
    clock.advance(9 * minuteMs)
    assert.deepEqual((await add()).pending_lists, [plain])
    assert.deepEqual(asked(), [])
    clock.advance(minuteMs + 1)
    await add()
    const [second] = asked()
    clock.advance(30 * dayMs - minuteMs)
    assert.equal(await confirm(mk, first!), false, 'the first link has expired')
    assert.equal(await confirm(mk, second!), true)
    assert.ok(await isMember())
    await acme.contacts.removeFromList(list.id, { email })
    await add()
    const [third] = asked()
    clock.advance(31 * dayMs)
    assert.equal(await confirm(mk, third!), false)
    await assert.rejects(acme.contacts.confirm(list.id, { email }), { code: 'not_found' })
    await add()
    assert.equal(asked().length, 1, 'after the link has expired a post asks again')
  })

  test('is shown as waiting until its link has expired', async (t) => {
    const { acme, list, plain, clock } = await openNews(open, t)
    const waiting = async () => {
      let text = ''
      for await (const chunk of acme.contacts.data({ email })) text += chunk
      return JSON.parse(text).pending_lists
    }
    await acme.contacts.addToList(list.id, { email })
    clock.advance(30 * dayMs - 1000)
    assert.deepEqual(await waiting(), [plain])
    clock.advance(1001)
    assert.deepEqual(await waiting(), [])
  })

  test('asks again after the clock was set back', async (t) => {
    const mk = await openNews(open, t)
    const add = () => mk.acme.contacts.addToList(mk.list.id, { email })
    mk.clock.advance(40 * dayMs)
    await add()
    mk.asked()
    mk.clock.advance(-40 * dayMs)
    await add()
    const [link] = mk.asked()
    assert.ok(link, 'a new link')
    assert.ok(await confirm(mk, link))
  })

  test('applies to batches and imports, unless an admin says that the contacts have confirmed', async (t) => {
    const mk = await openNews(open, t)
    const { mailkeep, acme, acmeId, list, asked, raised, count } = mk
    const pending = () => count('mailkeep_pending_membership')
    const plainList = await acme.lists.create({ name: 'Open' })
    const results = await acme.contacts.batch([
      { op: 'upsert', email: 'a@example.org', lists: [list.id, plainList.id] },
      { op: 'upsert', email: 'b@example.org', lists: [list.id], confirmed: true },
      { op: 'add_to_list', email: 'a@example.org', list_id: list.id },
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['created', 'created', 'done'],
    )
    assert.equal(asked().length, 1)
    const listsOf = async (address: string) => (await acme.contacts.get({ email: address })).lists.map(({ id }) => id)
    assert.deepEqual([await listsOf('a@example.org'), await listsOf('b@example.org')], [[plainList.id], [list.id]])
    await acme.contacts.addManyToList(list.id, [
      { email: 'c@example.org' },
      { email: 'd@example.org', confirmed: true },
    ])
    const file = ['email\ne@example.org\nb@example.org\n']
    await acme.contacts.import(list.id, file, { format: 'csv' })
    assert.equal(asked().length, 2)
    assert.deepEqual(
      [await listsOf('c@example.org'), await listsOf('d@example.org'), await listsOf('e@example.org')],
      [[], [list.id], []],
    )
    assert.equal(await pending(), 3)
    await acme.contacts.import(list.id, file, { format: 'csv', confirmed: true })
    assert.deepEqual([await listsOf('e@example.org'), await pending()], [[list.id], 2])
    assert.deepEqual(
      raised().map(({ type }) => type),
      ['contact.subscribed'],
    )

    const member = mailkeep.forClient(acmeId, { source: 'api', tokenId: 1, role: 'member' }).contacts
    const f = { email: 'f@example.org', confirmed: true } as const
    await assert.rejects(member.addToList(list.id, f), { code: 'forbidden' })
    await assert.rejects(member.import(list.id, file, { format: 'csv', confirmed: true }), { code: 'forbidden' })
    const [many] = await member.addManyToList(list.id, [f])
    assert.deepEqual(Object.keys(many!.refused!.errors!), ['confirmed'])
    const [one] = await member.batch([{ op: 'upsert', lists: [list.id], ...f }])
    assert.deepEqual(Object.keys(one!.errors!), ['confirmed'])
    assert.equal(await acme.contacts.count({ email: f.email }), 0)
    const { contact } = await member.addToList(plainList.id, { email: f.email, confirmed: 'yes' as never })
    assert.deepEqual(contact.extra_attributes, { confirmed: 'yes' })
  })

  test('subscribes someone again who had unsubscribed, and forgets requests with the contact and the list', async (t) => {
    const mk = await openNews(open, t)
    const { acme, list, asked, raised, types, count } = mk
    const { contact } = await acme.contacts.upsert({ email })
    await acme.contacts.unsubscribe(contact.id)
    await acme.contacts.addToList(list.id, { email })
    const [link] = asked()
    assert.ok(await confirm(mk, link!))
    assert.deepEqual(
      raised().map(({ type }) => type),
      ['contact.resubscribed', 'contact.subscribed'],
    )
    assert.deepEqual(await types(), ['unsubscribed', 'confirmation_requested', 'confirmed', 'resubscribed'])
    assert.deepEqual(
      (await acme.auditLog.list()).data.filter(({ source }) => source === 'confirmation_link').map(({ type }) => type),
      ['contact.resubscribed', 'contact.list_added'],
    )
    await acme.contacts.removeFromList(list.id, { email })

    const { contact: old } = await acme.contacts.addToList(list.id, { email: 'old@example.org' })
    await acme.contacts.merge(old.id, { into: contact.id })
    assert.equal(await count('mailkeep_pending_membership'), 1, 'the request is the target’s')
    await acme.contacts.delete(contact.id)
    assert.equal(await count('mailkeep_pending_membership'), 0)
    assert.equal(await confirm(mk, link!), false)
    await acme.contacts.addToList(list.id, { email })
    await acme.lists.delete(list.id)
    assert.equal(await count('mailkeep_pending_membership'), 0)
  })

  test('subscribes a member again that confirms a request, and none without a request', async (t) => {
    const mk = await openNews(open, t)
    const { acme, list, asked, raised, types } = mk
    await acme.contacts.addToList(list.id, { email })
    const [link] = asked()
    await acme.lists.update(list.id, { double_opt_in: false })
    await acme.contacts.addToList(list.id, { email })
    await acme.lists.update(list.id, { double_opt_in: true })
    await acme.contacts.unsubscribe({ email })
    raised()
    assert.ok(await confirm(mk, link!))
    assert.equal((await acme.contacts.get({ email })).unsubscribed_at, null)
    assert.deepEqual(
      raised().map(({ type }) => type),
      ['contact.resubscribed'],
    )
    assert.deepEqual(await types(), ['confirmation_requested', 'list_joined', 'unsubscribed', 'resubscribed'])
    await acme.contacts.unsubscribe({ email })
    assert.ok(await confirm(mk, link!))
    assert.ok((await acme.contacts.get({ email })).unsubscribed_at)
  })

  test('needs no confirmation from a contact that a merge puts on the list', async (t) => {
    const { acme, list, plain, count } = await openNews(open, t)
    const { contact: member } = await acme.contacts.addToList(list.id, { email: 'member@example.org', confirmed: true })
    const { contact: waiting } = await acme.contacts.addToList(list.id, { email })
    assert.equal(await count('mailkeep_pending_membership'), 1)
    assert.deepEqual((await acme.contacts.merge(member.id, { into: waiting.id })).lists, [plain])
    assert.equal(await count('mailkeep_pending_membership'), 0)
  })

  test('keeps the newer of two requests when a merge joins their contacts', async (t) => {
    const mk = await openNews(open, t)
    const { acme, list, asked, clock } = mk
    const { contact: stays } = await acme.contacts.addToList(list.id, { email })
    clock.advance(20 * dayMs)
    const { contact: goes } = await acme.contacts.addToList(list.id, { email: 'new@example.org' })
    const [, newer] = asked()
    await acme.contacts.merge(goes.id, { into: stays.id })
    clock.advance(15 * dayMs)
    assert.ok(await confirm(mk, newer!))
  })

  test('is not shown as waiting to contacts that joined while it had no double opt-in', async (t) => {
    const { acme, list } = await openNews(open, t)
    const waits = async () => {
      let text = ''
      for await (const chunk of acme.contacts.data({ email })) text += chunk
      return JSON.parse(text).pending_lists.length
    }
    await acme.contacts.addToList(list.id, { email })
    assert.equal(await waits(), 1)
    await acme.lists.update(list.id, { double_opt_in: false })
    await acme.contacts.addToList(list.id, { email })
    await acme.lists.update(list.id, { double_opt_in: true })
    assert.equal(await waits(), 0)
  })

  test('takes no other address than the one that got the link', async (t) => {
    const mk = await openNews(open, t)
    const { acme, list, asked } = mk
    const { contact } = await acme.contacts.addToList(list.id, { email })
    const [first] = asked()
    await acme.contacts.changeEmail(contact.id, { email: email.toUpperCase() })
    await acme.contacts.changeEmail(contact.id, { email: 'other@example.org' })
    assert.equal(await confirm(mk, first!), false)
    assert.deepEqual((await acme.contacts.get(contact.id)).lists, [])
    await acme.contacts.addToList(list.id, { email: 'other@example.org' })
    const [second] = asked()
    assert.equal(await confirm(mk, first!), false, 'although the new address was asked')
    assert.equal(await confirm(mk, second!), true)
  })

  test('takes the address that got the link also when it is spelled with other letters since', async (t) => {
    const mk = await openNews(open, t)
    const { contact } = await mk.acme.contacts.addToList(mk.list.id, { email })
    await mk.acme.contacts.changeEmail(contact.id, { email: email.toUpperCase() })
    assert.equal(await confirm(mk, mk.asked()[0]!), true)
    assert.equal(await mk.isMember(), true)
  })

  test('enrols a contact that had unsubscribed in the sequences of the list', async (t) => {
    const mk = await openNews(open, t)
    const { acme, list, asked } = mk
    const { id } = await acme.sequences.create({ name: 'Welcome', list_id: list.id })
    const { contact } = await acme.contacts.upsert({ email })
    await acme.contacts.unsubscribe(contact.id)
    await acme.contacts.addToList(list.id, { email })
    assert.equal(await confirm(mk, asked()[0]!), true)
    assert.deepEqual(
      (await acme.sequences.enrolments(id)).data.map(({ contact_id, status }) => [contact_id, status]),
      [[contact.id, 'active']],
    )
  })

  test('keeps people who unsubscribed elsewhere off the list, unless an admin imports them', async (t) => {
    const { mailkeep, acme, acmeId, list, asked, count } = await openNews(open, t)
    const member = mailkeep.forClient(acmeId, { source: 'api', tokenId: 1, role: 'member' }).contacts
    const restored = { extra_attributes: {}, lists: [list.name], unsubscribed_at: '2026-01-02T03:04:05Z' }
    const imports = (contacts: typeof member, name: string) => [
      contacts.import(list.id, [`email\na-${name}@example.org\n`], { format: 'csv', status: 'unsubscribed' }),
      contacts.import(null, [JSON.stringify({ email: `b-${name}@example.org`, ...restored })], { format: 'ndjson' }),
    ]
    const listsOf = async (address: string) => {
      const { lists, unsubscribed_at } = await member.get({ email: address })
      assert.ok(unsubscribed_at)
      await member.resubscribe({ email: address })
      return lists.map(({ id }) => id)
    }
    for (const { created, refused } of await Promise.all(imports(member, 'member'))) {
      assert.deepEqual([created, refused], [1, 0])
    }
    assert.deepEqual([await listsOf('a-member@example.org'), await listsOf('b-member@example.org')], [[], []])
    assert.equal(await acme.contacts.count({ lists: [list.id] }), 0)
    await Promise.all(imports(acme.contacts, 'admin'))
    assert.deepEqual(
      [await listsOf('a-admin@example.org'), await listsOf('b-admin@example.org')],
      [[list.id], [list.id]],
    )
    assert.deepEqual([asked().length, await count('mailkeep_pending_membership')], [0, 0])
  })

  test('gives an imported contact no topic before it has confirmed', async (t) => {
    const { acme, list } = await openNews(open, t)
    const topic = await acme.topics.create(list.id, { name: 'Weekly' })
    const row = { email, extra_attributes: {}, lists: [{ name: list.name }], topics: [{ name: 'Weekly', list_id: 1 }] }
    const report = await acme.contacts.import(null, [JSON.stringify(row)], { format: 'ndjson' })
    assert.equal(report.created, 1)
    const { lists, topics } = (await acme.contacts.list({ email })).data[0]!
    assert.deepEqual([lists, topics], [[], []])
    assert.equal(await acme.contacts.count({ topics: [topic.id] }), 0)
  })

  test('needs a public URL, and refuses contacts without one', async (t) => {
    const { acme, list, count } = await openNews(open, t, {})
    const field = (error: { errors: object }) => Object.keys(error.errors).join() === 'public_url'
    await assert.rejects(acme.contacts.addToList(list.id, { email }), field)
    for (const dry_run of [false, true]) {
      await assert.rejects(acme.contacts.import(list.id, [`email\n${email}\n`], { format: 'csv', dry_run }), field)
    }
    const options = { format: 'csv', dry_run: true, confirmed: true } as const
    assert.equal((await acme.contacts.import(list.id, [`email\n${email}\n`], options)).created, 1)
    const [refused] = await acme.contacts.batch([{ op: 'upsert', email, lists: [list.id] }])
    assert.ok(field(refused as never))
    assert.equal(await count('mailkeep_contact'), 0)
    await acme.contacts.addToList(list.id, { email, confirmed: true })
    assert.equal(await acme.contacts.count({ lists: [list.id] }), 1)
    await acme.lists.update(list.id, { double_opt_in: false })
    await acme.contacts.addToList(list.id, { email: 'b@example.org' })
    assert.equal(await acme.contacts.count({ lists: [list.id] }), 2)
  })

  test('deletes requests after their links have expired', async (t) => {
    const { mailkeep, acme, list, clock, count } = await openNews(open, t)
    await acme.contacts.addToList(list.id, { email })
    clock.advance(30 * dayMs + hourMs)
    mailkeep.start({ dispatch: false })
    for (let tries = 0; (await count('mailkeep_pending_membership')) > 0; tries++) {
      assert.ok(tries < 1000, 'the request stays')
      await new Promise((resolve) => setImmediate(resolve))
    }
  })
})
