/** Size limits of a contact and of a page of contacts. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type ClientOperations, type Contact, type ContactInput, inputLimits } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { type Open, onEveryDatabase, onSharedDatabases } from '../support/webhook-harness.ts'

const mebibyte = 2 ** 20

async function openWithList(open: Open, t: TestContext) {
  const mk = await open(t, { publicUrl: 'https://mail.example.org' })
  const { contacts, lists, topics } = mk.acme
  return { ...mk, contacts, lists, topics, list: await lists.create({ name: 'News' }) }
}

const texts = (count: number, characters: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'x'.repeat(characters)]))

const names = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `t${from + n}`)

const refusedOn = (field: string) => (error: unknown) => {
  const { code, errors } = error as { code: string; errors: object }
  assert.deepEqual([code, Object.keys(errors)], ['validation_failed', [field]])
  return true
}

onEveryDatabase('pages of contacts', (open) => {
  test('end early at 4 MiB, and no contact is missed or repeated in either direction', async (t) => {
    const { contacts, list } = await openWithList(open, t)
    const large = Array.from({ length: 60 }, (_, n) => ({
      email: `p${n}@example.org`,
      ...(n % 3 === 0 ? {} : texts(25, 10_000)),
    }))
    const results = await contacts.addManyToList(list.id, large)
    const ids = results.map((result) => (result.refused ? 0 : result.id)).sort((a, b) => a - b)
    for (const filter of [{}, { lists: [list.id] }, { search: 'example' }]) {
      const forwards: number[] = []
      let [pages, cursor, last] = [0, undefined as string | undefined, null as string | null]
      do {
        const { data, meta } = await contacts.list({ ...filter, per_page: 100, cursor })
        assert.ok(JSON.stringify(data).length <= 4 * mebibyte)
        forwards.push(...data.map(({ id }) => id))
        ;[pages, cursor, last] = [pages + 1, meta.next_cursor ?? undefined, meta.prev_cursor]
      } while (cursor !== undefined)
      assert.deepEqual(forwards, ids)
      assert.ok(pages >= 3 && pages <= 4, `${pages} pages`)
      // Walks back from the last page, which has the contacts that the way forward did not return.
      const backwards: number[] = []
      let back: string | null = last
      while (back !== null) {
        const { data, meta } = await contacts.list({ ...filter, per_page: 100, cursor: back })
        assert.ok(JSON.stringify(data).length <= 4 * mebibyte)
        backwards.unshift(...data.map(({ id }) => id))
        back = meta.prev_cursor
      }
      assert.deepEqual(backwards, ids.slice(0, backwards.length))
      assert.equal(new Set(backwards).size, backwards.length)
      assert.ok(backwards.length > 0)
    }
  })

  test('exports contain all of them, in chunks of bounded size', async (t) => {
    const { contacts, list } = await openWithList(open, t)
    const large = Array.from({ length: 30 }, (_, n) => ({ email: `p${n}@example.org`, ...texts(20, 10_000) }))
    await contacts.addManyToList(list.id, large)
    for (const format of ['ndjson', 'csv'] as const) {
      const emails: string[] = []
      for await (const piece of contacts.export({ format })) {
        assert.ok(piece.length <= 600_000, `${piece.length}`)
        emails.push(...(piece.match(/p\d+@example\.org/g) ?? []))
      }
      assert.deepEqual(emails.sort(), large.map(({ email }) => email).sort())
    }
  })
})

onEveryDatabase('a contact', (open) => {
  test('has at most 256 KiB of attributes in all, in bytes of UTF-8', async (t) => {
    const { contacts, list } = await openWithList(open, t)
    const full: ContactInput = { email: 'full@example.org', ...texts(26, 10_000) }
    const { contact } = await contacts.addToList(list.id, full)
    const refused = refusedOn('extra_attributes')
    const more = { more: 'é'.repeat(2000) }
    await assert.rejects(contacts.addToList(list.id, { email: 'full@example.org', tags: ['never'], ...more }), refused)
    await assert.rejects(contacts.update(contact.id, more), refused)
    await assert.rejects(contacts.addToList(list.id, { ...full, ...more, email: 'new@example.org' }), refused)
    const results = await contacts.addManyToList(list.id, [{ email: 'full@example.org', ...more }])
    assert.deepEqual(Object.keys(results[0]!.refused!.errors!), ['extra_attributes'])
    assert.deepEqual(await contacts.get(contact.id), contact)
    await contacts.update(contact.id, { k0: null, ...more })
    const report = await contacts.import(
      list.id,
      [JSON.stringify({ email: 'full@example.org', ...texts(26, 10_000) })],
      {
        format: 'ndjson',
      },
    )
    assert.deepEqual(Object.keys(report.refused_rows[0]!.errors), ['extra_attributes'])
  })

  test('is refused beyond its limits also if an endpoint gets the events of the change', async (t) => {
    const { acme, contacts, lists, list } = await openWithList(open, t)
    const events = ['contact.created', 'contact.updated', 'contact.tagged', 'contact.subscribed'] as const
    await acme.webhooks.createEndpoint({ url: 'https://receiver.example/', events })
    const email = 'full@example.org'
    await contacts.addToList(list.id, { email, tags: names(500) })
    const other = await lists.create({ name: 'Other' })
    for (let n = 0; n < 5; n++) {
      const more = { email, name: `Name ${n}`, tags: ['one more'] }
      await assert.rejects(contacts.addToList(other.id, more), refusedOn('tags'))
      await assert.rejects(contacts.upsert(more), refusedOn('tags'))
    }
  })

  test('has at most 500 tags, however they are added', async (t) => {
    const { contacts, list } = await openWithList(open, t)
    const email = 'full@example.org'
    const { contact } = await contacts.addToList(list.id, { email, tags: names(499) })
    await contacts.addToList(list.id, { email, tags: ['T0', 't499'] })
    const refused = refusedOn('tags')
    await assert.rejects(contacts.addToList(list.id, { email, name: 'Never', tags: ['one more'] }), refused)
    await assert.rejects(contacts.update(contact.id, { tags: names(501) }), refused)
    const results = await contacts.addManyToList(list.id, [
      { email, tags: names(100, 50) },
      { email, tags: ['one more'], name: 'Never' },
      { email, name: 'Full' },
      { email: 'new@example.org', tags: names(300) },
      { email: 'new@example.org', tags: names(300, 250) },
      { email: 'new@example.org', tags: names(200, 300) },
    ])
    assert.deepEqual(
      results.map((result) => result.refused && Object.keys(result.refused.errors!)),
      [undefined, ['tags'], undefined, undefined, ['tags'], undefined],
    )
    const all = await contacts.list()
    assert.deepEqual(
      all.data.map(({ name, tags }) => [name, tags.length]),
      [
        ['Full', 500],
        ['', 500],
      ],
    )
    const { tags } = await contacts.update(contact.id, { tags: ['other'] })
    assert.deepEqual(
      tags.map(({ name }) => name),
      ['other'],
    )
  })

  test('is on at most 500 lists, and subscribed to at most 500 topics', async (t) => {
    const { contacts, list, lists, topics, mailkeep, acmeId } = await openWithList(open, t)
    const email = 'full@example.org'
    const { contact } = await contacts.addToList(list.id, { email })
    const confirmable: number[] = []
    for (let n = 0; n < 499; n++) {
      confirmable.push((await lists.create({ name: `l${n}`, double_opt_in: true })).id)
      await contacts.addToList(confirmable.at(-1)!, { email, confirmed: true })
    }
    const another = await lists.create({ name: 'another' })
    await assert.rejects(contacts.addToList(another.id, { email, name: 'Never' }), refusedOn('lists'))
    const results = await contacts.addManyToList(another.id, [{ email, name: 'Never' }, { email: 'new@example.org' }])
    assert.deepEqual(
      results.map((result) => result.refused && Object.keys(result.refused.errors!)),
      [['lists'], undefined],
    )
    const dry = await contacts.import(another.id, [`email\n${email}\n`], { format: 'csv', dry_run: true })
    assert.deepEqual(Object.keys(dry.refused_rows[0]!.errors), ['lists'])
    await contacts.addToList(list.id, { email, name: 'There already' })
    const [again] = await contacts.addManyToList(list.id, [{ email, name: 'Still there' }])
    assert.equal(again!.refused, undefined)
    const { id } = await topics.create(list.id, { name: 'another' })
    for (let n = 0; n < 500; n++) {
      await contacts.subscribeToTopic(contact.id, (await topics.create(list.id, { name: `t${n}` })).id)
    }
    await assert.rejects(contacts.subscribeToTopic(contact.id, id), refusedOn('topics'))

    const [waiting] = await contacts.batch([{ op: 'upsert', email: 'waits@example.org', lists: confirmable }])
    const ask = async (name: string) =>
      contacts.addToList((await lists.create({ name, double_opt_in: true })).id, { email: 'waits@example.org' })
    assert.equal((await ask('the last')).pending_lists?.length, 1)
    await assert.rejects(ask('one more'), refusedOn('lists'))
    await contacts.addToList(list.id, { email: 'waits@example.org' })
    const { lists: shown } = await contacts.preferences(waiting!.id!)
    assert.deepEqual([shown.length, shown[0]!.topics.length], [1, 500], 'of 501 topics')

    const stored = await contacts.get(contact.id)
    assert.deepEqual([stored.name, stored.lists.length, stored.topics.length], ['Still there', 500, 500])

    const page = mailkeep.forClient(acmeId, { source: 'preferences_page' }).contacts
    await page.updatePreferences(contact.id, { joinTopics: [id], leaveTopics: [stored.topics.at(-1)!.id] })
    const left = stored.lists[1]!.id
    await page.updatePreferences(contact.id, { leaveLists: [left] })
    await contacts.addToList(another.id, { email })
    await assert.rejects(page.updatePreferences(contact.id, { joinLists: [left] }), refusedOn('lists'))
    await page.updatePreferences(contact.id, { joinLists: [left], leaveLists: [another.id] })
    const swapped = await contacts.get(contact.id)
    assert.deepEqual([swapped.lists.length, swapped.topics.length], [500, 500])
    assert.ok(swapped.topics.some((topic) => topic.id === id))

    await contacts.removeFromList(list.id, contact.id)
    await contacts.addToList(another.id, { email })
  })
})

onEveryDatabase('a contact stored before the limits existed', (open) => {
  test('is returned alone on its page, and can be changed as long as it does not grow', async (t) => {
    const { contacts, list, ask } = await openWithList(open, t)
    const email = 'old@example.org'
    await contacts.addToList(list.id, { email: 'before@example.org' })
    const { contact } = await contacts.addToList(list.id, { email })
    await contacts.addToList(list.id, { email: 'behind@example.org' })
    await ask(
      `update mailkeep_contact set attributes = '${JSON.stringify(texts(100, 60_000))}' where id = ${contact.id}`,
    )
    const pages: string[][] = []
    let cursor: string | undefined
    do {
      const { data, meta } = await contacts.list({ cursor })
      pages.push(data.map((each) => each.email))
      cursor = meta.next_cursor ?? undefined
    } while (cursor !== undefined)
    assert.deepEqual(pages, [['before@example.org'], [email], ['behind@example.org']])
    await contacts.update(contact.id, { name: 'Old' })
    await contacts.update(contact.id, { k0: null })
    await contacts.addToList(list.id, { email, k1: 'shorter' })
    await assert.rejects(contacts.update(contact.id, { k1: 'x'.repeat(10_000) }), refusedOn('extra_attributes'))
    assert.equal((await contacts.get(contact.id)).extra_attributes.k1, 'shorter')
  })
})

onEveryDatabase('a transaction of many contacts', (open) => {
  const large = texts(26, 10_000)
  const emails = names(60).map((name) => `${name}@example.org`)
  const calls: Record<
    string,
    (contacts: ClientOperations['contacts'], listId: number, signal: AbortSignal) => Promise<unknown>
  > = {
    addManyToList: (contacts, listId, signal) =>
      contacts.addManyToList(
        listId,
        emails.map((email) => ({ email, name: 'New' })),
        { signal },
      ),
    batch: (contacts, _, signal) =>
      contacts.batch(
        emails.map((email) => ({ op: 'update' as const, email, name: 'New' })),
        { signal },
      ),
    'batch, of one contact': (contacts, _, signal) =>
      contacts.batch(
        emails.map((_, n) => ({ op: 'update' as const, email: emails[0]!, name: `New ${n}` })),
        { signal },
      ),
    'batch, of contacts that it creates': (contacts, _, signal) =>
      contacts.batch(
        emails.map((_, n) => ({
          op: 'upsert' as const,
          email: 'created@example.org',
          ...(n === 0 ? large : { k0: `${n}` }),
        })),
        { signal },
      ),
  }
  for (const [name, call] of Object.entries(calls)) {
    test(`is bounded by the attributes that are stored: ${name}`, async (t) => {
      const controller = new AbortController()
      let onEvent = () => {}
      const { contacts, list } = await openWithList((test) => open(test, { start: false, onEvent: () => onEvent() }), t)
      await contacts.addManyToList(
        list.id,
        emails.map((email) => ({ email, ...large })),
      )
      let changes = 0
      onEvent = () => {
        changes += 1
        controller.abort()
      }
      await assert.rejects(call(contacts, list.id, controller.signal), { name: 'AbortError' })
      assert.ok(changes > 0 && changes < emails.length, `${changes} changes in one transaction`)
    })
  }
})

onEveryDatabase('a transaction of contacts with many tags', (open) => {
  const people = names(300).map((name) => ({ email: `${name}@example.org` }))
  const tagged = people.map((person) => ({ ...person, tags: names(inputLimits.tags) }))
  const replacement = people.map((person) => `${JSON.stringify({ ...person, tags: ['other'] })}\n`)
  const calls: Record<string, (contacts: ClientOperations['contacts'], signal: AbortSignal) => Promise<unknown>> = {
    'an update that replaces them': (contacts, signal) =>
      contacts.batch(
        people.map(({ email }) => ({ op: 'update' as const, email, tags: ['other'] })),
        { signal },
      ),
    'an import that replaces them': (contacts, signal) =>
      contacts.import(null, replacement, { format: 'ndjson', mode: 'replace_tags', signal }),
    'an update': (contacts, signal) =>
      contacts.batch(
        people.map(({ email }) => ({ op: 'update' as const, email, name: 'New' })),
        { signal },
      ),
  }
  test('is bounded by their number', async (t) => {
    let onEvent = (_id: number) => {}
    const { contacts, list } = await openWithList(
      (test) => open(test, { start: false, onEvent: ({ data }) => onEvent((data as { contact: Contact }).contact.id) }),
      t,
    )
    for (const [name, call] of Object.entries(calls)) {
      await contacts.addManyToList(list.id, tagged)
      const controller = new AbortController()
      const changed = new Set<number>()
      onEvent = (id) => {
        changed.add(id)
        controller.abort()
      }
      await assert.rejects(call(contacts, controller.signal), { name: 'AbortError' }, name)
      assert.ok(changed.size > 0 && changed.size < 30, `${name}: ${changed.size} contacts in one transaction`)
      onEvent = () => {}
    }
  })
})

onSharedDatabases('declaring attributes', (open) => {
  test('lets other callbacks run while the values of large contacts are indexed', async (t) => {
    const { acme, contacts, list } = await openWithList(open, t)
    const people = names(200).map((name) => ({ email: `${name}@example.org`, ...texts(5, 10) }))
    await contacts.addManyToList(list.id, people)
    let [turns, isRunning] = [0, true]
    const count = () => {
      turns += 1
      if (isRunning) setImmediate(count)
    }
    setImmediate(count)
    await acme.settings.attributes.update({ indexed: ['k0', 'k1', 'k2', 'k3', 'k4'] })
    isRunning = false
    assert.ok(turns >= 20, `${turns} turns of the event loop for 1,000 values`)
    assert.equal(await contacts.count({ attributes: { k4: 'x'.repeat(10) } }), 200)
  })
})
