/** Properties of idempotency keys that HTTP does not show: what is stored, and races between processes. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { type ClientOperations, createMailkeep, isMailkeepError, type MailkeepError } from '../../lib/index.ts'
import { onPostgres, openPostgres, test } from '../support/databases.ts'
import {
  type Acme,
  addEndpoint,
  dayMs,
  hourMs,
  type Opened,
  onEveryDatabase,
  onSharedDatabases,
  openReceiver,
  openSecondInstance,
  until,
} from '../support/webhook-harness.ts'

const has = (code: MailkeepError['code']) => (error: unknown) => isMailkeepError(error, code)
const tag = (name: string) => (client: ClientOperations) => client.tags.create({ name })
const counting = () => {
  const count = { ran: 0 }
  const work = async (client: ClientOperations) => {
    count.ran += 1
    return await client.tags.create({ name: `tag ${count.ran}` })
  }
  return { count, work }
}

/** Opens a list, and counts how often a contact was added to it under a key. */
async function openList(opened: Opened) {
  const list = await opened.acme.lists.create({ name: 'News' })
  const add = (key: string, email: string, door: Acme = opened.acme) =>
    door.withIdempotencyKey(key, { email }, (client) => client.contacts.addToList(list.id, { email, motto: 'Zebedee' }))
  return { list, add }
}

const rows = (opened: Opened) => opened.count('mailkeep_kept_answer')

onEveryDatabase('work under a key', (open) => {
  test('fails as a whole if it catches the error of an operation that had written', async (t) => {
    const { acme, count } = await open(t, { start: false })
    const names = (from: string) => Array.from({ length: 300 }, (_, n) => `${from}${n}`)
    const email = 'ada@example.org'
    await acme.contacts.upsert({ email, tags: names('a') })
    const careless = async (client: ClientOperations) => {
      await client.tags.create({ name: 'never' })
      return await client.contacts.upsert({ email, tags: names('b') }).catch(() => 'ignored')
    }
    await assert.rejects(acme.withIdempotencyKey('k', {}, careless), has('validation_failed'))
    const { tags } = (await acme.contacts.list({ email })).data[0]!
    assert.deepEqual([tags.length, await count('mailkeep_tag')], [300, 300])
  })

  for (const [what, careless] of [
    [
      'that it did not await',
      async ({ contacts }: ClientOperations) => void contacts.upsert({ email: 'a@example.org' }).catch(() => {}),
    ],
    [
      'beside one that failed',
      ({ contacts }: ClientOperations) =>
        Promise.all([
          contacts.upsert({ email: 'a@example.org', tags: ['vip'] }),
          contacts.upsert({ email: 'no address' }),
        ]).catch(() => 'ignored'),
    ],
  ] as const) {
    test(`fails as a whole if it ends before an operation ${what}`, async (t) => {
      const mk = await open(t, { start: false })
      await assert.rejects(mk.acme.withIdempotencyKey('k', {}, careless), /await every call inside it/)
      assert.deepEqual([(await mk.acme.contacts.list()).data, await rows(mk)], [[], 0])
    })
  }

  test('may catch the error of an operation that has written nothing', async (t) => {
    const { acme } = await open(t, { start: false })
    const { answer } = await acme.withIdempotencyKey('k', {}, async (client) => {
      const found = await client.contacts.get(4711).catch(() => undefined)
      await client.contacts.update(4711, { name: 'Someone' }).catch(() => undefined)
      return { found, tag: await client.tags.create({ name: 'new' }) }
    })
    assert.equal(answer.tag.name, 'new')
  })

  test('cannot import a file, and says so', async (t) => {
    const { acme } = await open(t, { start: false })
    const list = await acme.lists.create({ name: 'News' })
    const work = (client: ClientOperations) =>
      client.contacts.import(list.id, ['email\nada@example.org\n'], { format: 'csv' })
    await assert.rejects(acme.withIdempotencyKey('k', {}, work), {
      code: 'internal',
      message: /^An import cannot run in/,
    })
    assert.deepEqual((await acme.imports.list()).data, [])
  })

  test('shares its transaction with its key: work that fails stores neither', async (t) => {
    const mk = await open(t, { start: false })
    const failing = async (client: ClientOperations) => {
      await client.tags.create({ name: 'first' })
      throw new Error('second thoughts')
    }
    await assert.rejects(mk.acme.withIdempotencyKey('k', {}, failing), /second thoughts/)
    assert.deepEqual((await mk.acme.tags.list()).data, [])
    assert.equal(await rows(mk), 0)
    const { answer, replayed } = await mk.acme.withIdempotencyKey('k', {}, async (client) => {
      const list = await client.lists.create({ name: 'News' })
      const { contact } = await client.contacts.addToList(list.id, { email: 'ada@example.org' })
      return { list: list.id, contact: await client.contacts.unsubscribe(contact.id) }
    })
    assert.equal(replayed, false)
    const again = await mk.acme.withIdempotencyKey('k', {}, failing)
    assert.deepEqual(again, { answer, replayed: true })
    assert.equal(answer.contact.email, 'ada@example.org')
  })

  test('is refused while the first call is running in this process, and only then', async (t) => {
    const mk = await open(t, { start: false })
    const { count, work } = counting()
    const [first, second, other] = await Promise.allSettled([
      mk.acme.withIdempotencyKey('k', {}, work),
      mk.acme.withIdempotencyKey('k', {}, work),
      mk.acme.withIdempotencyKey('other', {}, tag('other')),
    ])
    assert.equal(first!.status, 'fulfilled')
    assert.ok(second!.status === 'rejected' && has('conflict')(second!.reason))
    assert.equal(other!.status, 'fulfilled')
    assert.equal((await mk.acme.withIdempotencyKey('k', {}, work)).replayed, true)
    assert.equal(count.ran, 1)
    await assert.rejects(
      mk.acme.withIdempotencyKey('fails', {}, (client) => client.lists.get(999)),
      has('not_found'),
    )
    await mk.acme.withIdempotencyKey('fails', {}, tag('done'))
  })

  test('returns the value as JSON gives it back, the first time too', async (t) => {
    const mk = await open(t, { start: false })
    const at = new Date(0)
    for (const given of [{ at, none: undefined, list: [true, Number.NaN] }, undefined, null, 'text', 0]) {
      const key = `k ${JSON.stringify(given)}`
      const first = await mk.acme.withIdempotencyKey(key, 1, async () => given)
      const again = await mk.acme.withIdempotencyKey(key, 1, async () => given)
      assert.deepEqual(again.answer, first.answer)
      assert.deepEqual(first.answer, given === undefined ? undefined : JSON.parse(JSON.stringify(given)))
    }
    await assert.rejects(
      mk.acme.withIdempotencyKey('big', 1, async () => 1n),
      (error) => isMailkeepError(error, 'validation_failed'),
    )
    assert.equal((await mk.acme.withIdempotencyKey('big', 1, tag('big'))).replayed, false)
  })

  test('accepts keys of 1–255 characters and requests that are JSON', async (t) => {
    const { acme } = await open(t, { start: false })
    const work = async () => 1
    for (const bad of ['', 'x'.repeat(256), 'a\0', 7, undefined, null, ['k']]) {
      await assert.rejects(
        acme.withIdempotencyKey(bad as string, {}, work),
        (error) => isMailkeepError(error, 'validation_failed') && Object.keys(error.errors!).join() === 'key',
        String(bad),
      )
    }
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    for (const bad of [cycle, 1n])
      await assert.rejects(acme.withIdempotencyKey('k', bad, work), has('validation_failed'))
    assert.equal((await acme.withIdempotencyKey('ключ', undefined, work)).answer, 1)
    await assert.rejects(acme.withIdempotencyKey('ключ', {}, work), has('idempotency_mismatch'))
    assert.equal((await acme.withIdempotencyKey('ключ', undefined, work)).replayed, true)
    await acme.withIdempotencyKey('order', { a: 1, b: { c: [1, 2], d: 2 } }, work)
    assert.equal((await acme.withIdempotencyKey('order', { b: { d: 2, c: [1, 2] }, a: 1 }, work)).replayed, true)
    await assert.rejects(
      acme.withIdempotencyKey('order', { a: 1, b: { c: [2, 1], d: 2 } }, work),
      has('idempotency_mismatch'),
    )
    const proto = (value: number) => JSON.parse(`{"__proto__":${value}}`)
    await acme.withIdempotencyKey('proto', proto(1), work)
    await assert.rejects(acme.withIdempotencyKey('proto', proto(2), work), has('idempotency_mismatch'))
  })

  test('is separate for each client', async (t) => {
    const mk = await open(t, { start: false })
    const other = mk.mailkeep.forClient((await mk.mailkeep.clients.create({ name: 'Other' })).id)
    const { count, work } = counting()
    const both = await Promise.all([mk.acme, other].map((door) => door.withIdempotencyKey('k', {}, work)))
    assert.deepEqual([count.ran, ...both.map(({ replayed }) => replayed)], [2, false, false])
    await assert.rejects(
      mk.mailkeep.forClient(999).withIdempotencyKey('k', {}, async () => 1),
      has('not_found'),
    )
  })

  test('is deleted with its contact, also among other contacts, immediately', async (t) => {
    const mk = await open(t, { start: false })
    const { list, add } = await openList(mk)
    const ada = (await add('ada', 'ada@example.org')).answer.contact
    await add('grace', 'grace@example.org')
    await mk.acme.withIdempotencyKey('both', 1, async (client) => (await client.contacts.list()).data)
    await mk.acme.withIdempotencyKey('one', 1, (client) => client.contacts.getJson(ada.id))
    await mk.acme.withIdempotencyKey('none', 1, (client) => client.lists.get(list.id))
    assert.equal(await rows(mk), 5)
    await mk.acme.contacts.delete(ada.id)
    assert.equal(await rows(mk), 2)
    assert.equal((await add('ada', 'ada@example.org')).replayed, false)
    assert.equal((await add('grace', 'grace@example.org')).replayed, true)
    assert.equal(await mk.count('mailkeep_kept_answer_contact'), 2)
  })

  test('follows a contact that is merged, also if it shows both contacts, and is deleted with the one that stays', async (t) => {
    const mk = await open(t, { start: false })
    const { add } = await openList(mk)
    const { contact: ada } = (await add('ada', 'ada@example.org')).answer
    const { contact: grace } = (await add('grace', 'grace@example.org')).answer
    await mk.acme.withIdempotencyKey('both', 1, async (client) => (await client.contacts.list()).data)
    await mk.acme.contacts.merge(ada.id, { into: grace.id })
    await mk.mailkeep.deliverDue()
    assert.equal((await add('ada', 'ada@example.org')).replayed, true)
    await mk.acme.contacts.delete(grace.id)
    assert.equal(await rows(mk), 0)
  })

  test('is hidden immediately and deleted in batches when a contact has very many results', async (t) => {
    const mk = await open(t, { start: false })
    const { add } = await openList(mk)
    const { contact } = (await add('k', 'ada@example.org')).answer
    for (let n = 0; n < 12; n++) {
      await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          mk.acme.withIdempotencyKey(`${n} ${i}`, 1, (client) => client.contacts.get(contact.id)),
        ),
      )
    }
    assert.equal(await rows(mk), 601)
    await mk.acme.contacts.delete(contact.id)
    await assert.rejects(
      mk.acme.withIdempotencyKey('11 49', 1, (client) => client.contacts.get(contact.id)),
      has('not_found'),
    )
    await mk.mailkeep.deliverDue()
    assert.equal(await rows(mk), 0)
    assert.equal(await mk.count('mailkeep_kept_answer_contact'), 0)
  })

  test('is hidden when its contact no longer exists, even if another version deleted it', async (t) => {
    const mk = await open(t, { start: false })
    const { add } = await openList(mk)
    const { contact } = (await add('k', 'ada@example.org')).answer
    await mk.acme.withIdempotencyKey('read', 1, (client) => client.contacts.get(contact.id))
    await mk.ask('delete from mailkeep_contact where id = ?', contact.id) // as the previous version does
    await assert.rejects(
      mk.acme.withIdempotencyKey('read', 1, (client) => client.contacts.get(contact.id)),
      has('not_found'),
    )
    assert.equal(await rows(mk), 2, 'the failed work changed nothing')
    assert.equal((await add('k', 'ada@example.org')).answer.created, true)
    assert.equal((await add('k', 'ada@example.org')).replayed, true)
  })

  test('stores no result when it reads a contact and erases it', async (t) => {
    const mk = await open(t, { start: false })
    const { add } = await openList(mk)
    const { contact } = (await add('k', 'ada@example.org')).answer
    const erase = async (client: ClientOperations) => {
      const { email } = await client.contacts.get(contact.id)
      await client.contacts.delete(contact.id)
      return email
    }
    assert.equal((await mk.acme.withIdempotencyKey('erase', 1, erase)).answer, 'ada@example.org')
    assert.equal(await rows(mk), 0)
    await assert.rejects(mk.acme.withIdempotencyKey('erase', 1, erase), has('not_found'))
  })

  test('that returns a delivery’s payload is deleted with the contact', async (t) => {
    const mk = await open(t, { start: false })
    const { id } = await addEndpoint(mk, 'https://hook.example/', 'contact.subscribed')
    const { add } = await openList(mk)
    const { contact } = (await add('k', 'ada@example.org')).answer
    const { data } = await mk.acme.webhooks.listDeliveries(id)
    await mk.acme.withIdempotencyKey('detail', 1, (client) => client.webhooks.getDelivery(id, data[0]!.id))
    await mk.acme.contacts.delete(contact.id)
    assert.equal(await rows(mk), 0)
  })

  test('is deleted with its client', async (t) => {
    const mk = await open(t, { start: false })
    const { add } = await openList(mk)
    await add('k', 'ada@example.org')
    await mk.mailkeep.clients.delete(mk.acmeId)
    await mk.mailkeep.deliverDue()
    assert.equal(await mk.count('mailkeep_client where id = ?', mk.acmeId), 0)
    assert.equal(await rows(mk), 0)
    assert.equal(await mk.count('mailkeep_kept_answer_contact'), 0)
  })

  test('raises its events after its commit, and delivers them', async (t) => {
    const raised: string[] = []
    const mk = await open(t, { onEvent: ({ type }) => void raised.push(type) })
    const receiver = await openReceiver(t)
    await addEndpoint(mk, receiver.url(), 'contact.subscribed')
    const { add } = await openList(mk)
    await add('k', 'ada@example.org')
    await add('k', 'ada@example.org')
    await receiver.count(1)
    assert.equal(receiver.received.length, 1)
    assert.deepEqual(
      raised.filter((type) => type === 'contact.subscribed'),
      ['contact.subscribed'],
    )
  })
})

onSharedDatabases('stored results', (open) => {
  test('lets other callers read while many events and contacts are stored in its transaction', async (t) => {
    const mk = await open(t, { start: false })
    for (let n = 0; n < 30; n++) {
      const events = ['newsletter.sent', 'contact.created'] as const
      await mk.acme.webhooks.createEndpoint({ url: `https://example.org/${n}`, events: [...events] })
    }
    const works: readonly ((client: ClientOperations) => Promise<unknown>)[] = [
      (client) => {
        const raised = Array.from({ length: 400 }, (_, n) => ({ type: 'newsletter.sent', data: { n } }) as const)
        return client.events.raiseMany(raised)
      },
      (client) => {
        const operations = Array.from(
          { length: 400 },
          (_, n) => ({ op: 'upsert', email: `p${n}@example.org` }) as const,
        )
        return client.contacts.batch({ operations })
      },
    ]
    for (const [key, work] of works.entries()) {
      let isDone = false
      const done = mk.acme.withIdempotencyKey(`k${key}`, {}, work).finally(() => (isDone = true))
      let reads = 0
      while (!isDone) {
        await mk.acme.lists.list()
        reads += 1
      }
      await done
      assert.ok(reads > 3, `${reads} reads`)
    }
  })

  test('outlive the process, and work in another one', async (t) => {
    const mk = await open(t, { start: false })
    const { add } = await openList(mk)
    const first = await add('k', 'ada@example.org')
    const beside = await openSecondInstance(t, mk, { start: false })
    assert.deepEqual(await add('k', 'ada@example.org', beside.acme), { ...first, replayed: true })
    await mk.mailkeep.close()
    assert.deepEqual(await add('k', 'ada@example.org', beside.acme), { ...first, replayed: true })
  })

  test('are unreadable in the database, like keys and requests', async (t) => {
    const mk = await open(t, { start: false })
    const { add } = await openList(mk)
    await add('key-of-ada@example.org', 'ada@example.org')
    const stored = JSON.stringify(await mk.ask('select * from mailkeep_kept_answer'))
    assert.doesNotMatch(stored, /@|ada@|example|Zebedee/i)
    const texts = ['ada@example.org', 'Zebedee'].map((text) => Buffer.from(text))
    const [row] = await mk.ask('select answer from mailkeep_kept_answer')
    const bytes = Buffer.from(String(row!.answer).split('.')[2]!, 'base64url')
    for (const text of texts) assert.ok(!bytes.includes(text))
  })

  test('can be opened with their own key and client only', async (t) => {
    const mk = await open(t, { start: false })
    await mk.acme.withIdempotencyKey('a', 1, async () => 'a')
    await mk.acme.withIdempotencyKey('b', 1, async () => 'b')
    await mk.ask(`update mailkeep_kept_answer set answer =
      (select answer from mailkeep_kept_answer as other where other.id <> mailkeep_kept_answer.id)`)
    await assert.rejects(mk.acme.withIdempotencyKey('a', 1, async () => 'again'))
  })

  test('are sealed again with a new key; without the old key they are a conflict, and block nothing', async (t) => {
    const mk = await open(t, { start: false })
    for (const key of ['a', 'b', 'c']) await mk.acme.withIdempotencyKey(key, 1, async () => key)
    const [lost] = await mk.ask('select * from mailkeep_kept_answer order by id')
    await mk.mailkeep.close()
    const [place, encryptionKey] = [mk.place, randomBytes(32)]
    const next = await open(t, { place, encryptionKey, previousEncryptionKeys: [mk.encryptionKey], start: false })
    assert.equal((await next.acme.withIdempotencyKey('a', 1, async () => 'again')).answer, 'a')
    await next.acme.withIdempotencyKey('d', 1, async () => 'd')
    assert.equal(await next.mailkeep.resealSecrets(), 4, 'three, and the secret of the waker’s endpoint')
    // A result that another process stored since, still with the old key.
    await next.ask('update mailkeep_kept_answer set answer = ? where id = ?', lost!.answer, Number(lost!.id))
    await next.mailkeep.close()
    const last = await open(t, { place, encryptionKey, clock: next.clock.read, start: false })
    for (const key of ['b', 'c', 'd']) {
      assert.deepEqual(await last.acme.withIdempotencyKey(key, 1, async () => 'again'), { answer: key, replayed: true })
    }
    const { count, work } = counting()
    await assert.rejects(last.acme.withIdempotencyKey('a', 1, work), (error) => {
      return isMailkeepError(error, 'conflict') && /no key decrypts its response/.test(error.message)
    })
    assert.equal(count.ran, 0, 'the work is not executed twice')
    assert.equal(await last.mailkeep.resealSecrets(), 0)
    next.clock.advance(dayMs + 1)
    assert.equal((await last.acme.withIdempotencyKey('a', 1, work)).replayed, false)
  })

  test('are deleted after 24 hours, however many there are', async (t) => {
    const mk = await open(t, { start: false })
    await mk.acme.withIdempotencyKey('old', 1, async () => 1)
    await mk.ask(`insert into mailkeep_kept_answer (client_id, key_hash, answer, created_at)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < 1200)
      select client_id, cast(i as text), answer, created_at
      from n, mailkeep_kept_answer`)
    mk.clock.advance(hourMs)
    await mk.acme.withIdempotencyKey('young', 1, async () => 1)
    mk.clock.advance(dayMs - hourMs)
    const early = await openSecondInstance(t, mk)
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(await rows(mk), 1202, '24 hours are not over')
    await early.mailkeep.close({ timeoutMs: 0 })
    mk.clock.advance(1)
    await openSecondInstance(t, mk)
    await until('expired results are deleted', async () => (await rows(mk)) === 1)
    assert.equal((await mk.acme.withIdempotencyKey('young', 1, async () => 2)).answer, 1)
  })
})

/** Opens several mailkeeps on one PostgreSQL, like daemons on several machines. */
async function openSeveral(t: TestContext) {
  const database = await openPostgres()
  const encryptionKey = randomBytes(32)
  const all = await Promise.all([1, 2].map(() => createMailkeep({ database: database.source, encryptionKey })))
  const host = new pg.Client({ connectionString: database.url })
  await host.connect()
  await host.query(`set search_path = "${database.schema}"`)
  t.after(async () => {
    await host.end()
    for (const mailkeep of all) await mailkeep.close()
    await database.close()
  })
  const { id } = await all[0]!.clients.create({ name: 'Acme' })
  const [here, there] = all.map((mailkeep) => mailkeep.forClient(id)) as [Acme, Acme]
  const list = await here.lists.create({ name: 'News' })
  const add = (door: Acme) => () =>
    door.withIdempotencyKey('k', 1, (client) => client.contacts.addToList(list.id, { email: 'ada@example.org' }))
  return { ...database, host, here, there, list, add, inside: () => all[0]!.using(host).forClient(id) }
}

onPostgres('the same key in several processes', () => {
  test('is a conflict while the first one’s transaction is open, and replayed after its commit', async (t) => {
    const { add, ask, here, host, inside, there } = await openSeveral(t)
    await host.query('begin')
    const first = await add(inside())()
    for (const door of [here, there]) await assert.rejects(add(door)(), has('conflict'))
    assert.equal((await there.withIdempotencyKey('other', 1, async () => 1)).replayed, false)
    await host.query('commit')
    for (const door of [here, there]) assert.deepEqual(await add(door)(), { ...first, replayed: true })
    assert.equal((await ask('select count(*)::int as n from mailkeep_contact'))[0]!.n, 1)
  })

  test('can be used again when the first one’s transaction was rolled back', async (t) => {
    const { add, ask, host, inside, there } = await openSeveral(t)
    await host.query('begin')
    await add(inside())()
    await host.query('rollback')
    assert.equal((await ask('select count(*)::int as n from mailkeep_kept_answer'))[0]!.n, 0)
    assert.equal((await add(there)()).replayed, false)
  })

  test('is executed once for many simultaneous calls', async (t) => {
    const { add, ask, here, there } = await openSeveral(t)
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, (_, i) => (i % 4 < 2 ? here : there)).map((door) => add(door)()),
    )
    const done = results.filter((one) => one.status === 'fulfilled' && !one.value.replayed)
    assert.equal(done.length, 1)
    for (const one of results) assert.ok(one.status === 'fulfilled' || has('conflict')(one.reason))
    assert.equal((await ask('select count(*)::int as n from mailkeep_contact'))[0]!.n, 1)
  })

  test('stores no data of a contact that another process erases at the same moment', async (t) => {
    const { ask, here, there, list } = await openSeveral(t)
    for (let n = 0; n < 25; n++) {
      const { contact } = await here.contacts.addToList(list.id, { email: `c${n}@example.org` })
      // The work only reads, so it does not lock the contact.
      const reading = (door: Acme, key: string) =>
        door.withIdempotencyKey(`${key} ${n}`, 1, (client) => client.contacts.resubscribe(contact.id)).catch(() => {})
      const erasing = new Promise((resolve) => setTimeout(resolve, n % 5)).then(() => there.contacts.delete(contact.id))
      await Promise.all([reading(here, 'a'), reading(there, 'b'), reading(here, 'c'), erasing, reading(there, 'd')])
    }
    assert.deepEqual(await ask('select * from mailkeep_kept_answer_contact'), [])
    assert.deepEqual(await ask('select * from mailkeep_kept_answer'), [])
  })
})
