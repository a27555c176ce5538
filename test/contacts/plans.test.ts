import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { type Contact, createMailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { recordStatements } from '../support/recorded-statements.ts'

/**
 * Opens a client with contacts on lists, with tags and topics. `plansOf` returns the query plans of a listing. mailkeep does
 * not run ANALYZE, but an operator may.
 */
async function open({ analyzed = true } = {}) {
  const handle = new Database(':memory:')
  const { texts, runs, prepare } = recordStatements(handle)
  const mailkeep = await createMailkeep({
    database: sqlite(handle),
    encryptionKey: randomBytes(32),
    publicUrl: 'https://mail.example.org',
  })
  const { client } = (await mailkeep.clients.bootstrap())!
  const acme = mailkeep.forClient(client.id)
  await acme.settings.attributes.update({ indexed: ['plan', 'city'] })
  for (let i = 1; i <= 3; i++) {
    const list = await acme.lists.create({ name: `List ${i}` })
    await acme.topics.create(list.id, { name: `Topic ${i}` })
  }
  // Enough contacts that some filters match many, some few, and some a medium number.
  const emails = Array.from({ length: 1000 }, (_, i) => `user${i}@example.org`)
  await Promise.all(
    emails.map(async (email, i) => {
      const tag = i % 25 === 0 ? 't0' : `t${(i % 2) + 1}`
      const { contact } = await acme.contacts.addToList((i % 3) + 1, {
        email,
        name: i % 2 ? 'Odd' : 'Even',
        tags: [tag],
        plan: i % 2 ? 'pro' : 'basic',
        city: `city ${i % 100}`,
      })
      await acme.contacts.subscribeToTopic(contact.id, (i % 3) + 1)
      if (i % 10 === 0) await acme.contacts.unsubscribe(contact.id)
    }),
  )
  if (analyzed) handle.exec('analyze')
  const explain = (sql: string) => {
    const parameters = Array.from({ length: sql.split('?').length - 1 }, () => 1n)
    return (prepare(`explain query plan ${sql}`).all(...parameters) as { detail: string }[]).map(({ detail }) => detail)
  }
  const plansOf = async (query: object) => {
    texts.clear()
    const page = await acme.contacts.list(query)
    const next = page.meta.next_cursor ? await acme.contacts.list({ ...query, cursor: page.meta.next_cursor }) : page
    if (next.meta.prev_cursor) await acme.contacts.list({ ...query, cursor: next.meta.prev_cursor })
    const { per_page: _, ...filters } = query as { per_page?: number }
    await acme.contacts.count(filters)
    return {
      page,
      plans: [...texts].filter((sql) => sql.includes('select')).map((sql) => ({ sql, plan: explain(sql) })),
    }
  }
  const plansAfter = async (work: () => Promise<void>) => {
    texts.clear()
    await work()
    return [...texts]
      .filter((sql) => /^\s*(?:select|insert|update|delete|with)/i.test(sql))
      .map((sql) => ({ sql, plan: explain(sql) }))
  }
  return { acme, mailkeep, runs, plansOf, plansAfter, close: () => mailkeep.close() }
}

/** Filters beyond the contract, each alone and with each of `companions`. */
const extensions = [
  { email: 'user7@example.org' },
  { ids: [7, 8, 9, 10] },
  { exclude_lists: [1] },
  { exclude_tags: [1, 2] },
  { created_after: '2020-01-01T00:00:00Z' },
  { created_after: '2020-01-01T00:00:00Z', created_before: '2999-01-01T00:00:00Z' },
  { unsubscribed: 'only' },
  { attributes: { plan: 'pro' } },
  { attributes: { plan: 'pro', city: 'city 7' } },
  { segment: 1 },
  { segment: 1, lists: [2], attributes: { city: 'city 7' }, search: 'odd' },
]

const companions = [
  {},
  { lists: [1, 2] },
  { tags: [1] },
  { topics: [1] },
  { search: 'user' },
  { include_unsubscribed: true },
]

const choices = {
  lists: [undefined, [1], [1, 2, 3]],
  tags: [undefined, [1], [1, 2, 3]],
  topics: [undefined, [1], [1, 2]],
  search: [undefined, 'er', 'user', 'USER42', 'user1@example', 'even'],
  include_unsubscribed: [false, true],
}

function* combinations(names = Object.keys(choices) as (keyof typeof choices)[]): Generator<Record<string, unknown>> {
  const [name, ...rest] = names
  if (!name) return yield {}
  for (const value of choices[name]) {
    for (const others of combinations(rest)) yield value === undefined ? others : { [name]: value, ...others }
  }
}

/** Matches full scans of the contact tables and their indexes, which no listing may need. */
const fullScan = /^SCAN (?:c|m|other|membership|mailkeep_\w+)(?: USING (?:COVERING )?INDEX \S+)?$/

describe('the contact listing', () => {
  test('uses an index for every combination of filters: no scan and no sort', async (t) => {
    const { plansOf, close } = await open()
    t.after(close)
    const texts: string[] = []
    for (const query of combinations()) {
      for (const { sql, plan } of (await plansOf({ ...query, per_page: 2 })).plans) {
        texts.push(sql)
        assert.doesNotMatch(sql, /[^+]\?/, 'SQLite compiles this statement again when a value is bound')
        for (const step of plan) {
          assert.doesNotMatch(step, fullScan, `${JSON.stringify(query)}\n${plan.join('\n')}\n${sql}`)
          assert.doesNotMatch(step, /TEMP B-TREE/, `${JSON.stringify(query)}\n${plan.join('\n')}\n${sql}`)
        }
      }
    }
    assert.ok(texts.length > 100, `${texts.length} texts were seen`)
    // Every strategy: comparing the parts of a search, counting contacts, scanning matches, members and contacts.
    for (const way of [
      /as reached from json_each/,
      /as id\s+from mailkeep_search/,
      /as counted/,
      /mailkeep_search as match.* as candidate/s,
      /select contact_id as id.* as candidate/s,
      /where c\.client_id/,
    ]) {
      assert.ok(
        texts.some((sql) => way.test(sql)),
        String(way),
      )
    }
  })

  test('uses an index for the filters beyond the contract, too', async (t) => {
    const { acme, plansOf, close } = await open()
    t.after(close)
    await acme.segments.create({
      name: 'S',
      filters: { lists: [1, 2], exclude_tags: [1], attributes: { plan: 'pro' }, search: 'user' },
    })
    const texts: string[] = []
    for (const extension of extensions) {
      for (const companion of companions) {
        const query = { per_page: 2, ...companion, ...extension }
        for (const { sql, plan } of (await plansOf(query)).plans) {
          texts.push(sql)
          const why = `${JSON.stringify(query)}\n${plan.join('\n')}\n${sql}`
          for (const step of plan) {
            assert.doesNotMatch(step, fullScan, why)
            // A listing by ids sorts these ids.
            if (!sql.includes('as wanted')) assert.doesNotMatch(step, /TEMP B-TREE FOR ORDER BY/, why)
          }
        }
      }
    }
    for (const way of [/as lowest/, /mailkeep_contact_attribute as m/, /as wanted/, /email_key =/, /as counted/]) {
      assert.ok(
        texts.some((sql) => way.test(sql)),
        String(way),
      )
    }
  })

  test('reads many contacts created between two times with one scan, far behind the others', async (t) => {
    const { acme, runs, close } = await open()
    t.after(close)
    const rows = (name: string, count: number, created_at: string) =>
      Array.from({ length: count }, (_, i) => ({ email: `${name}${i}@example.org`, extra_attributes: {}, created_at }))
    // More than two statements examine, and then more than are read before each scan.
    for (const line of [rows('old', 9000, '2024-01-01T00:00:00Z'), rows('new', 6000, '2035-01-01T00:00:00Z')]) {
      await acme.contacts.import(
        null,
        line.map((row) => `${JSON.stringify(row)}\n`),
        { format: 'ndjson' },
      )
    }
    runs.clear()
    const { data } = await acme.contacts.list({ created_after: '2030-01-01T00:00:00Z' })
    assert.equal(data[0]!.email, 'new0@example.org')
    const scans = [...runs].filter(([sql]) => sql.includes('as candidate'))
    assert.deepEqual(
      scans.map(([, times]) => times),
      [1],
    )
  })

  test('finds the same contacts as a plain full scan, for every combination of filters', async (t) => {
    const { acme, plansOf, close } = await open()
    t.after(close)
    const all: Contact[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await acme.contacts.list({ include_unsubscribed: true, per_page: 100, ...(cursor && { cursor }) })
      all.push(...page.data)
      cursor = page.meta.next_cursor
    }
    for (const query of combinations()) {
      const { lists, tags, topics, search, include_unsubscribed } = query as Record<string, never>
      const any = (wanted: number[] | undefined, has: { id: number }[]) =>
        !wanted || has.some(({ id }) => wanted.includes(id))
      const expected = all.filter(
        (contact) =>
          any(lists, contact.lists) &&
          any(tags, contact.tags) &&
          any(topics, contact.topics) &&
          (!search || `${contact.name} ${contact.email}`.toLowerCase().includes((search as string).toLowerCase())) &&
          (include_unsubscribed || contact.unsubscribed_at === null),
      )
      const { page } = await plansOf({ ...query, per_page: 100 })
      assert.deepEqual(
        page.data.map(({ id }) => id),
        expected.slice(0, 100).map(({ id }) => id),
        JSON.stringify(query),
      )
    }
  })
})

describe('the queries of history, requests and suppressions', () => {
  test('use an index, and no sort', async (t) => {
    const { acme, plansAfter, close } = await open()
    t.after(close)
    const list = await acme.lists.create({ name: 'Asked', double_opt_in: true })
    for (let i = 0; i < 300; i++) await acme.suppressions.create({ email: `s${i}@example.org` })
    await acme.suppressions.create({ email: 'user1@example.org' })
    const plans = await plansAfter(async () => {
      const contact = { email: 'user5@example.org' }
      for (const cursor of [undefined, 'bmV4dDo1']) {
        await acme.contacts.history(contact, { cursor })
        await acme.suppressions.list({ cursor })
      }
      await acme.contacts.addToList(list.id, contact)
      await acme.contacts.confirm(list.id, contact)
      await acme.contacts.removeFromList(list.id, contact)
      await acme.contacts.addToList(list.id, contact)
      const { contact: old } = await acme.contacts.addToList(list.id, { email: 'old@example.org' })
      await acme.contacts.merge(old.id, { into: contact })
      await acme.contacts.addManyToList(list.id, [contact, { email: 'many@example.org' }])
      for await (const _ of acme.contacts.data(contact)) {
      }
      await acme.contacts.recordBounce({ email: 'user1@example.org' })
      await acme.contacts.delete(contact, { suppress: true })
      await acme.contacts.addManyToList(1, [{ email: 'new@example.org' }])
      await acme.contacts.upsert({ email: 'newer@example.org' })
      await acme.contacts.delete({ email: 'newer@example.org' })
      await acme.lists.delete(list.id)
    })
    const tables = /mailkeep_(contact_history|pending_membership|suppression)/
    const seen = plans.filter(({ sql }) => tables.test(sql))
    assert.ok(seen.length >= 15, `${seen.length} texts were seen`)
    for (const { sql, plan } of seen) {
      for (const step of plan) {
        assert.doesNotMatch(step, /^SCAN (?:mailkeep_(?!contact$)\w+|s|w|d|e|m)\b/, `${plan.join('\n')}\n${sql}`)
        assert.doesNotMatch(step, /TEMP B-TREE FOR ORDER BY/, `${plan.join('\n')}\n${sql}`)
      }
    }
  })
})

describe('the queries of imports and preferences', () => {
  test('use an index, and sort no more than named lists, and the topics of the lists of one contact', async (t) => {
    const { acme, mailkeep, plansAfter, close } = await open({ analyzed: false })
    t.after(close)
    for (let i = 0; i < 300; i++) await acme.topics.create((i % 2) + 1, { name: `More ${i}` })
    await mailkeep.deliverDue() // deletes expired rows, by statements that are not judged here
    const rows = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`)
    const exported = { extra_attributes: { plan: 'pro' }, lists: [{ id: 1, name: 'List 1' }], topics: ['More 1'] }
    const plans = await plansAfter(async () => {
      const load = (lines: readonly object[], options: object = {}) =>
        acme.contacts.import(1, rows(lines), { format: 'ndjson', ...options })
      await load([
        { email: 'user5@example.org', tags: ['t1'] },
        { email: 'fresh@example.org', tags: ['t2'] },
      ])
      await load([{ email: 'user6@example.org' }, { email: 'newest@example.org' }], { mode: 'skip' })
      await load([{ email: 'user7@example.org', tags: ['t2'] }], { mode: 'replace_tags' })
      await load([{ email: 'user8@example.org' }, { email: 'gone@example.org' }], { status: 'unsubscribed' })
      await load([{ email: 'user9@example.org' }, { email: 'dry@example.org' }], { dry_run: true })
      const restored = rows([{ email: 'back@example.org', created_at: '2020-01-02T03:04:05Z', ...exported }])
      await acme.contacts.import(null, restored, { format: 'ndjson' })
      for (const cursor of [undefined, 'bmV4dDo1', 'cHJldjox']) await acme.imports.list({ cursor })
      await acme.imports.get(1)
      const contact = { email: 'user5@example.org' }
      const { lists } = await acme.contacts.preferences(contact)
      await acme.contacts.updatePreferences(contact, {
        joinTopics: [lists[0]!.topics[0]!.id],
        leaveLists: [lists[1]?.id ?? 1],
      })
      await mailkeep.deliverDue()
    })
    const tables = /mailkeep_(import|topic|list|contact_list|contact_topic|contact_tag|contact)\b/
    const seen = plans.filter(({ sql }) => tables.test(sql))
    for (const name of [
      /update mailkeep_contact set created_at/,
      /update mailkeep_contact\s+set unsubscribed_at/,
      /"mailkeep_import"/,
      /cross join "mailkeep_topic" as "t"/,
      /not in/,
    ]) {
      assert.ok(
        seen.some(({ sql }) => name.test(sql)),
        `${name}`,
      )
    }
    const searched = plans.flatMap(({ plan }) => plan)
    assert.ok(searched.includes('SEARCH l USING INDEX mailkeep_list_name (client_id=? AND name=?)'))
    assert.ok(searched.includes('SEARCH t USING INDEX mailkeep_topic_name (list_id=? AND name=?)'))
    for (const { sql, plan } of seen) {
      for (const step of plan) {
        assert.doesNotMatch(step, fullScan, `${plan.join('\n')}\n${sql}`)
        if (!/cross join "mailkeep_(?:list|topic)" as "[lt]"/.test(sql))
          assert.doesNotMatch(step, /TEMP B-TREE/, `${plan.join('\n')}\n${sql}`)
      }
      // Any other plan reads all contacts of the client for each row.
      const byId = 'SEARCH mailkeep_contact USING INTEGER PRIMARY KEY (rowid=?)'
      if (/^update mailkeep_contact\b/.test(sql)) assert.ok(plan.includes(byId), `${plan.join('\n')}\n${sql}`)
    }
  })
})

/** A search by the client alone, which reads all its contacts, or all its unsubscribed ones. */
const searchByClient = /^SEARCH mailkeep_contact USING .*\(client_id=\?(?: AND unsubscribed_at>\?)?\)$/

for (const analyzed of [false, true]) {
  describe(`changes of contacts that are found by their ids ${analyzed ? 'after' : 'without'} ANALYZE`, () => {
    test('read only these contacts, not all contacts of their client', async (t) => {
      const { acme, plansAfter, close } = await open({ analyzed })
      t.after(close)
      const plans = await plansAfter(async () => {
        await acme.contacts.delete(5)
        await acme.contacts.delete({ email: 'user20@example.org' })
        await acme.contacts.unsubscribe(6)
        await acme.contacts.resubscribe(6)
        await acme.contacts.merge(7, { into: 8 })
        const results = await acme.contacts.batch([
          { op: 'unsubscribe', id: 10 },
          { op: 'resubscribe', id: 10 },
          { op: 'upsert', email: 'user9@example.org', tags: ['t0'] },
          { op: 'tag', id: 12, tags: ['t0'] },
          { op: 'delete', id: 13 },
        ])
        assert.ok(results.every(({ status }) => status !== 'refused'))
      })
      const seen = plans.filter(({ sql }) => /mailkeep_contact"?\b/.test(sql))
      assert.ok(seen.length > 5, `${seen.length} texts were seen`)
      for (const { sql, plan } of seen)
        for (const step of plan) assert.doesNotMatch(step, searchByClient, `${plan.join('\n')}\n${sql}`)
    })
  })
}
