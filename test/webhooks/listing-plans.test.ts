/** Statements on deliveries and on the audit log read ranges of indexes, whatever the filters. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { createMailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { recordStatements } from '../support/recorded-statements.ts'

/** Opens a client with two endpoints. `plansOf` returns the plans of the statements that a listing runs. */
async function open() {
  const handle = new Database(':memory:')
  const { texts, prepare } = recordStatements(handle)
  const mailkeep = await createMailkeep({ database: sqlite(handle), encryptionKey: randomBytes(32) })
  const { client } = (await mailkeep.clients.bootstrap())!
  const acme = mailkeep.forClient(client.id)
  const events = ['newsletter.sent', 'sequence.completed'] as const
  for (let n = 0; n < 2; n++) await acme.webhooks.createEndpoint({ url: `https://partner.example/${n}`, events })
  for (let n = 0; n < 20; n++) await acme.events.raise({ type: events[n % 2]!, data: {} })
  handle.exec(`update mailkeep_delivery set status = 'success', ended_at = created_at where id % 3 > 0`)
  const explain = (sql: string) => {
    const parameters = Array.from({ length: sql.split('?').length - 1 }, () => 1n)
    return (prepare(`explain query plan ${sql}`).all(...parameters) as { detail: string }[]).map(({ detail }) => detail)
  }
  const plansOf = async (list: (cursor: { cursor?: string }) => Promise<{ meta: { next_cursor: string | null } }>) => {
    texts.clear()
    const { next_cursor: cursor } = (await list({})).meta
    if (cursor) await list({ cursor })
    return [...texts]
      .filter((sql) => /select/.test(sql) && /mailkeep_(delivery|audit|token)\b/.test(sql))
      .map((sql) => ({ sql, steps: explain(sql) }))
  }
  return { acme, texts, plansOf, explain, close: () => mailkeep.close() }
}

/** Matches full scans of the tables or of their indexes. */
const fullScan = /^SCAN (?:d|mailkeep_(?:delivery|audit|token))\b/

const deliveryFilters = [
  {},
  { status: 'pending' },
  { status: 'success' },
  { event_type: 'newsletter.sent' },
  { status: 'failed', event_type: 'sequence.completed' },
  { since: '2020-01-01T00:00:00Z' },
  { status: 'success', event_type: 'newsletter.sent', since: '2020-01-01T00:00:00Z' },
] as const

describe('the plan of a listing', () => {
  test('of deliveries reads ranges of indexes, in order', async (t) => {
    const { acme, plansOf, close } = await open()
    t.after(close)
    let seen = 0 // a statement is prepared once, at its first use
    for (const filters of deliveryFilters) {
      for (const list of [
        (page: object) => acme.webhooks.listAllDeliveries({ ...filters, ...page, per_page: 2 }),
        (page: object) => acme.webhooks.listDeliveries(1, { ...filters, ...page, per_page: 2 }),
      ]) {
        const plans = await plansOf(list)
        seen += plans.length
        for (const { sql, steps } of plans) {
          const shown = `${JSON.stringify(filters)}\n${steps.join('\n')}\n${sql}`
          for (const step of steps) assert.doesNotMatch(step, fullScan, shown)
          const read = steps.filter((step) => /^SEARCH mailkeep_delivery /.test(step) && !/rowid>\?\)$/.test(step))
          for (const step of read)
            assert.match(step, /USING (?:COVERING )?INDEX mailkeep_delivery_\w+ \(endpoint_id=\?/, shown)
          // Only the ids of the merged ranges are sorted: each range comes from its index in order of id.
          for (const [at, step] of steps.entries()) {
            if (read.includes(step)) assert.doesNotMatch(steps[at + 1] ?? '', /TEMP B-TREE/, shown)
          }
        }
      }
    }
    assert.ok(seen >= 5, `${seen} plans were seen`)
  })

  test('of the audit log and of tokens reads the index of the filters, in order', async (t) => {
    const { acme, plansOf, close } = await open()
    t.after(close)
    for (const [filters, index] of [
      [{}, 'mailkeep_audit_client'],
      [{ token: 1 }, 'mailkeep_audit_token'],
      [{ type: 'tag.created' as const }, 'mailkeep_audit_type'],
      [{ token: 1, type: 'tag.created' as const }, 'mailkeep_audit_token_type'],
    ] as const) {
      for (const { sql, steps } of await plansOf((page) => acme.auditLog.list({ ...filters, ...page, per_page: 1 }))) {
        assert.match(steps.join('\n'), new RegExp(`^SEARCH mailkeep_audit USING INDEX ${index} \\(`), sql)
        assert.equal(steps.length, 1, steps.join('\n'))
      }
    }
    for (const { steps } of await plansOf((page) => acme.tokens.list({ ...page, per_page: 1 }))) {
      assert.match(steps.join('\n'), /^SEARCH mailkeep_token USING INDEX mailkeep_token_(valid|client) [^\n]*$/)
    }
  })
})

test('switching an endpoint off finds its requests in flight without reading its pending deliveries', async (t) => {
  const { acme, texts, explain, close } = await open()
  t.after(close)
  texts.clear()
  await acme.webhooks.updateEndpoint(1, { active: false })
  const [held] = [...texts].filter((sql) => /set status = 'held'.*lease_until is not null/s.test(sql))
  assert.match(explain(held!).join('\n'), /mailkeep_delivery USING INDEX mailkeep_delivery_lease/, held)
})
