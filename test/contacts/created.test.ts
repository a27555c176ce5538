/** Filters by the time of creation, where ids are not in the order of creation. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { onEveryDatabase } from '../support/webhook-harness.ts'

onEveryDatabase('a filter by the time of creation', (open) => {
  test('finds contacts whose time of creation was restored or written by a clock that was ahead', async (t) => {
    const { acme } = await open(t, { start: false })
    const add = (name: string, count: number, created_at: string) => {
      const rows = Array.from({ length: count }, (_, i) => ({
        email: `${name}${i}@example.org`,
        extra_attributes: {},
        created_at,
      }))
      return acme.contacts.import(
        null,
        rows.map((row) => `${JSON.stringify(row)}\n`),
        { format: 'ndjson' },
      )
    }
    // More contacts than the filter looks at to find the range of ids.
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
})
