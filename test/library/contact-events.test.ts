/** The events of contacts beyond the contract, for handlers, `onEvent` and endpoints. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createMailkeep, type Logger, type RaisedEvent } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { dayMs, onEveryDatabase, onSharedDatabases, until } from '../support/webhook-harness.ts'

onEveryDatabase('events of contacts', (open) => {
  test('have a new contact as it is read afterwards, whichever of its tags are new', async (t) => {
    const events: RaisedEvent[] = []
    const { acme } = await open(t, { start: false, onEvent: (event) => void events.push(event) })
    const list = await acme.lists.create({ name: 'News' })
    const attributes = JSON.parse('{"__proto__":"own","10":"ten","2":"two","é😀":"x","empty":""}')
    const save = (email: string, tags: string[]) =>
      acme.contacts.addToList(list.id, { email, name: 'Ada “L”', tags, ...attributes })
    for (const [email, tags] of [
      ['A@Example.org', ['b', 'a']],
      ['b@example.org', ['A', 'b', 'a']],
      ['c@example.org', ['c', 'a']],
      ['d@example.org', []],
    ] as const) {
      const { contact, created } = await save(email, [...tags])
      const read = await acme.contacts.get(contact.id)
      assert.equal(created, true)
      assert.equal(JSON.stringify(contact), JSON.stringify(read))
      const last = events.at(-1)!
      assert.equal(JSON.stringify(last.type === 'contact.subscribed' && last.data.contact), JSON.stringify(read))
    }
    const { contact } = await acme.contacts.upsert({ email: 'e@example.org', tags: ['a'], ...attributes })
    assert.equal(JSON.stringify(contact), JSON.stringify(await acme.contacts.get(contact.id)))
  })

  test('report a removal from a list in a batch as they report one alone', async (t) => {
    const events: RaisedEvent[] = []
    const { acme } = await open(t, { start: false, onEvent: (event) => void events.push(event) })
    const list = await acme.lists.create({ name: 'News' })
    const topic = await acme.topics.create(list.id, { name: 'Weekly' })
    const { contact: ada } = await acme.contacts.addToList(list.id, { email: 'ada@example.org' })
    await acme.contacts.subscribeToTopic(ada.id, topic.id)
    events.length = 0
    await acme.contacts.batch([{ op: 'remove_from_list', id: ada.id, lists: [list.id] }])
    const contact = await acme.contacts.get(ada.id)
    assert.deepEqual(contact.topics, [])
    assert.deepEqual(
      events.map(({ type, data }) => [type, data]),
      [
        ['contact.list_removed', { contact, list }],
        ['contact.topic_unsubscribed', { contact, topic }],
      ],
    )
  })

  test('report each change once, with the contact after it', async (t) => {
    const events: RaisedEvent[] = []
    const { acme } = await open(t, { start: false, onEvent: (event) => void events.push(event) })
    const taken = () => events.splice(0).map(({ type, data }) => [type, data])
    const list = await acme.lists.create({ name: 'News' })
    const topic = await acme.topics.create(list.id, { name: 'Weekly' })
    const input = { email: 'ada@example.org', name: 'Ada', tags: ['vip'] }
    const { contact: ada } = await acme.contacts.addToList(list.id, input)
    const [vip] = ada.tags
    assert.deepEqual(taken(), [
      ['contact.created', { contact: ada }],
      ['contact.tagged', { contact: ada, tag: vip }],
      ['contact.subscribed', { contact: ada, list }],
    ])
    await acme.contacts.addToList(list.id, input)
    await acme.contacts.update(ada.id, { name: 'Ada', tags: ['vip'] })
    await acme.contacts.tag(ada.id, { tags: ['vip'] })
    await acme.contacts.untag(ada.id, { tags: ['other'] })
    await acme.contacts.changeEmail(ada.id, { email: ada.email })
    assert.deepEqual(taken(), [], 'nothing changed')
    let contact = await acme.contacts.update(ada.id, { city: 'London', tags: ['new'] })
    const [fresh] = contact.tags
    assert.deepEqual(taken(), [
      ['contact.updated', { contact }],
      ['contact.tagged', { contact, tag: fresh }],
      ['contact.untagged', { contact, tag: vip }],
    ])
    contact = await acme.contacts.changeEmail(ada.id, { email: 'countess@example.org' })
    assert.deepEqual(taken(), [['contact.updated', { contact }]])
    contact = await acme.contacts.subscribeToTopic(ada.id, topic.id)
    assert.deepEqual(taken(), [['contact.topic_subscribed', { contact, topic }]])
    contact = await acme.contacts.removeFromList(list.id, ada.id)
    assert.deepEqual(taken(), [
      ['contact.list_removed', { contact, list }],
      ['contact.topic_unsubscribed', { contact, topic }],
    ])
    const { contact: old } = await acme.contacts.upsert({ email: 'old@example.org' })
    taken()
    contact = await acme.contacts.merge(old.id, { into: ada.id })
    assert.deepEqual(taken(), [
      ['contact.deleted', { contact: { id: old.id, uuid: old.uuid, email: old.email } }],
      ['contact.updated', { contact }],
    ])
    const { contact: member } = await acme.contacts.addToList(list.id, { email: 'member@example.org', tags: ['vip'] })
    await acme.contacts.subscribeToTopic(member.id, topic.id)
    taken()
    contact = await acme.contacts.merge(member.id, { into: ada.id })
    assert.deepEqual(taken().slice(1), [
      ['contact.updated', { contact }],
      ['contact.tagged', { contact, tag: vip }],
      ['contact.subscribed', { contact, list }],
      ['contact.topic_subscribed', { contact, topic }],
    ])
    await acme.contacts.delete(ada.id)
    const gone = { id: ada.id, uuid: ada.uuid, email: 'countess@example.org' }
    assert.deepEqual(taken(), [['contact.deleted', { contact: gone }]])
  })

  test('of many contacts are the same as those of one', async (t) => {
    const events: RaisedEvent[] = []
    const { acme } = await open(t, { start: false, onEvent: (event) => void events.push(event) })
    const list = await acme.lists.create({ name: 'News' })
    await acme.contacts.addManyToList(list.id, [{ email: 'a@example.org', tags: ['x'] }, { email: 'b@example.org' }])
    await acme.contacts.addManyToList(list.id, [
      { email: 'a@example.org', tags: ['x'] },
      { email: 'b@example.org', name: 'Bo' },
    ])
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'contact.created',
        'contact.created',
        'contact.tagged',
        'contact.subscribed',
        'contact.subscribed',
        'contact.updated',
      ],
    )
  })

  test('leave no row where nothing asks for them', async (t) => {
    const { acme, count } = await open(t, { start: false })
    const { contact } = await acme.contacts.upsert({ email: 'ada@example.org', tags: ['vip'] })
    await acme.contacts.update(contact.id, { name: 'Ada' })
    await acme.contacts.delete(contact.id)
    assert.deepEqual([await count('mailkeep_event'), await count('mailkeep_delivery')], [0, 0])
  })

  test('of every type go to a handler of *', async (t) => {
    const { acme, mailkeep } = await open(t)
    const types: string[] = []
    await mailkeep.on('*', ({ type }) => void types.push(type), { name: 'all' })
    const { contact } = await acme.contacts.upsert({ email: 'ada@example.org' })
    await acme.contacts.unsubscribe(contact.id)
    await acme.events.raise({ type: 'newsletter.sent', data: {} })
    await until('all are handled', () => types.length >= 3 || undefined)
    assert.deepEqual(types.sort(), ['contact.created', 'contact.unsubscribed', 'newsletter.sent'])
    await assert.rejects(acme.webhooks.createEndpoint({ url: 'https://example.org/', events: ['*' as never] }))
  })

  test('of an erasure are delivered, and erased when their retries are over', async (t) => {
    const { acme, mailkeep, clock, ask } = await open(t, { start: false })
    const { id } = await acme.webhooks.createEndpoint({ url: 'https://example.org/', events: ['contact.deleted'] })
    await acme.webhooks.updateEndpoint(id, { active: false })
    const { contact } = await acme.contacts.upsert({ email: 'ada@example.org', name: 'Ada' })
    await acme.contacts.delete(contact.id)
    const bodies = async () =>
      (await ask('select body from mailkeep_event where type = ?', 'contact.deleted')).map((row) => String(row.body))
    assert.match((await bodies())[0]!, /ada@example\.org/)
    assert.doesNotMatch((await bodies())[0]!, /"name"/)
    clock.advance(6 * dayMs)
    await mailkeep.deliverDue()
    assert.deepEqual(await bodies(), [''])
  })

  test('of a merged contact follow it, so that an erasure finds them', async (t) => {
    const { acme, ask } = await open(t, { start: false })
    const list = await acme.lists.create({ name: 'News' })
    const { id } = await acme.webhooks.createEndpoint({ url: 'https://example.org/', events: ['contact.subscribed'] })
    await acme.webhooks.updateEndpoint(id, { active: false })
    const add = () => acme.contacts.addToList(list.id, { email: 'old@example.org' })
    const { answer } = await acme.withIdempotencyKey('k', 1, (client) =>
      client.contacts.addToList(list.id, { email: 'old@example.org' }),
    )
    const { contact: target } = await acme.contacts.upsert({ email: 'new@example.org' })
    await acme.contacts.merge(answer.contact.id, { into: target.id })
    const events = async () =>
      (await ask('select contact_id, body from mailkeep_event')).map((row) => [
        Number(row.contact_id),
        String(row.body) === '',
      ])
    const moved = [target.id, false]
    const raisedByMerge = [target.id, false]
    assert.deepEqual(await events(), [moved, raisedByMerge])
    assert.equal((await acme.withIdempotencyKey('k', 1, add)).replayed, true, 'the stored answer is still given')
    await acme.contacts.delete(target.id)
    assert.deepEqual(await events(), [
      [0, true],
      [0, true],
    ])
    assert.deepEqual(await ask('select id from mailkeep_kept_answer'), [])
  })

  test('an error of onEvent does not undo the change, and is logged', async (t) => {
    const logged: string[] = []
    const nothing = () => {}
    const error = ({ err }: { err: Error }) => void logged.push(err.message)
    const { place, encryptionKey } = await open(t, { start: false })
    for (const onEvent of [
      () => {
        throw new Error('the host failed')
      },
      async () => {
        throw new Error('the host failed later')
      },
    ]) {
      const logger = { debug: nothing, info: nothing, warn: nothing, error } as Logger
      const mailkeep = await createMailkeep({ database: place.source, encryptionKey, onEvent, logger })
      t.after(() => mailkeep.close())
      const acme = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
      const { contact } = await acme.contacts.upsert({ email: 'ada@example.org' })
      assert.equal((await acme.contacts.get(contact.id)).email, 'ada@example.org')
    }
    assert.deepEqual(logged, ['the host failed', 'the host failed later'])
  })
})

onSharedDatabases('closing', (open) => {
  test('closes the database also when the transport cannot be closed', async (t) => {
    const { place, encryptionKey } = await open(t, { start: false })
    const transport = {
      send: async () => ({ kind: 'sent' }) as const,
      close: () => Promise.reject(new Error('the host failed')),
    }
    const mailkeep = await createMailkeep({ database: place.source, encryptionKey, mail: { transport } })
    mailkeep.start()
    await assert.rejects(mailkeep.close(), /the host failed/)
    await assert.rejects(mailkeep.clients.list(), { code: 'unavailable' })
  })
})

onSharedDatabases('opening with migrate: false', (open) => {
  test('works on a migrated database, and changes no table of another', async (t) => {
    const { place, encryptionKey, acmeId, ask } = await open(t, { start: false })
    const options = { database: place.source, encryptionKey, migrate: false }
    const second = await createMailkeep(options)
    await second.forClient(acmeId).contacts.upsert({ email: 'ada@example.org' })
    await second.close()
    const last = place.source.migrations.at(-1)!.name
    await ask('delete from mailkeep_migration where name = ?', last)
    await assert.rejects(
      createMailkeep(options),
      (error: Error) => 'code' in error && error.code === 'conflict' && error.message.includes(last),
    )
    assert.deepEqual(await ask('select name from mailkeep_migration where name = ?', last), [])
    // Other tests use the schema again, with the tables of the last migration.
    await ask('insert into mailkeep_migration (name, applied_at) values (?, ?)', last, new Date().toISOString())
    await assert.rejects(createMailkeep({ ...options, encryptionKey: randomBytes(32), migrate: 'no' as never }), {
      code: 'validation_failed',
    })
  })
})

onSharedDatabases('a running process', (open) => {
  test('is not ready once a newer version has migrated its database', async (t) => {
    const { mailkeep, ask } = await open(t)
    await ask(`insert into mailkeep_migration (name, applied_at) values ('999-newer', ?)`, new Date().toISOString())
    const { ready, migrations } = await mailkeep.ready()
    await ask(`delete from mailkeep_migration where name = '999-newer'`) // other tests use the schema again
    assert.equal(ready, false)
    assert.match(migrations!, /newer mailkeep.*999-newer/)
  })
})
