/** Filters by the time of creation, where ids are not in the order of creation. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { onEveryDatabase } from '../support/webhook-harness.ts'

onEveryDatabase('a filter by the time of creation', (open) => {
  test('finds contacts whose time of creation was restored or written by a clock that was ahead', async (t) => {
    const { acme } = await open(t, { start: false })
    const add = (name: string, count: number, created_at: string) => importContacts(acme, name, count, created_at)
    // More contacts than are read before each scan to find the range of their ids.
    await add('ahead', 3, '2031-01-01T00:00:00Z')
    await add('normal', 6000, '2026-01-01T00:00:00Z')
    await add('old', 3, '2020-01-01T00:00:00Z')
    const found = async (filters: object) => {
      const emails: string[] = []
      for await (const { email } of acme.contacts.iterate(filters)) emails.push(email.slice(0, email.search(/\d/)))
      assert.equal(await acme.contacts.count(filters), emails.length)
      return Object.fromEntries(
        [...new Set(emails)].map((name) => [name, emails.filter((each) => each === name).length]),
      )
    }
    assert.deepEqual(await found({ created_after: '2025-01-01T00:00:00Z' }), { ahead: 3, normal: 6000 })
    assert.deepEqual(await found({ created_before: '2030-01-01T00:00:00Z' }), { normal: 6000, old: 3 })
    assert.deepEqual(await found({ created_after: '2019-01-01T00:00:00Z' }), { ahead: 3, normal: 6000, old: 3 })
    assert.deepEqual(await found({ created_after: '2030-01-01T00:00:00Z' }), { ahead: 3 })
    assert.deepEqual(await found({ created_before: '2021-01-01T00:00:00Z' }), { old: 3 })
    const between = { created_after: '2021-01-01T00:00:00Z', created_before: '2030-01-01T00:00:00Z' }
    assert.deepEqual(await found(between), { normal: 6000 })
  })

  test('finds the same contacts from each position, forwards and backwards, with and without other filters', async (t) => {
    const { acme } = await open(t, { start: false })
    for (const [name, year] of [
      ['early', 2024],
      ['middle', 2025],
      ['late', 2026],
    ] as const) {
      await importContacts(acme, name, 700, `${year}-06-01T00:00:00Z`)
    }
    await acme.contacts.import(
      null,
      ['email\n', 'early5@example.org\n', 'middle5@example.org\n', 'late5@example.org\n'],
      {
        format: 'csv',
        status: 'unsubscribed',
      },
    )
    await acme.contacts.tag({ email: 'middle699@example.org' }, { tags: ['rare'] })
    const [rare] = (await acme.tags.list()).data
    const windows = [
      { created_after: '2026-01-01T00:00:00Z' },
      { created_before: '2025-01-01T00:00:00Z' },
      { created_after: '2025-01-01T00:00:00Z', created_before: '2026-01-01T00:00:00Z' },
      { created_after: '2025-01-01T00:00:00Z' },
    ]
    const others = [
      {},
      { include_unsubscribed: true },
      { unsubscribed: 'only' },
      { search: '99@' },
      { tags: [rare!.id] },
    ] as const
    for (const window of windows) {
      for (const other of others) {
        const query = { ...window, ...other, per_page: 100 }
        const { forwards, backwards } = await walk(acme, query)
        const all = (await walk(acme, { ...other, per_page: 100 })).forwards
        const { created_after = '', created_before = '9' } = window as {
          created_after?: string
          created_before?: string
        }
        const expected = all.filter(({ created_at }) => created_at > created_after && created_at < created_before)
        const why = JSON.stringify(query)
        assert.deepEqual(forwards, expected, why)
        assert.deepEqual(backwards, expected.slice(0, backwards.length), why)
        assert.equal(await acme.contacts.count({ ...window, ...other }), expected.length, why)
      }
    }
  })
})

type Client = Awaited<ReturnType<Parameters<Parameters<typeof onEveryDatabase>[1]>[0]>>['acme']

/** Imports contacts that were created at a time. */
async function importContacts({ contacts }: Client, name: string, count: number, created_at: string): Promise<void> {
  const rows = Array.from({ length: count }, (_, i) => ({
    email: `${name}${i}@example.org`,
    extra_attributes: {},
    created_at,
  }))
  await contacts.import(
    null,
    rows.map((row) => `${JSON.stringify(row)}\n`),
    { format: 'ndjson' },
  )
}

/** Reads all pages of a listing, and back again from the last one to the first. `backwards` has no last page. */
async function walk({ contacts }: Client, query: object) {
  const read = async (cursor: string | null) => await contacts.list({ ...query, ...(cursor && { cursor }) })
  let page = await read(null)
  const forwards = [...page.data]
  while (page.meta.next_cursor) {
    page = await read(page.meta.next_cursor)
    forwards.push(...page.data)
  }
  const backwards = []
  while (page.meta.prev_cursor) {
    page = await read(page.meta.prev_cursor)
    backwards.unshift(...page.data)
  }
  return { forwards, backwards }
}
