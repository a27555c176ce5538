/** Statements that the server cancels in the middle of a transaction, as by `statement_timeout` or a deadlock. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { createMailkeep, isMailkeepError } from '../../lib/index.ts'
import { onPostgres, openPostgres, test } from '../support/databases.ts'

async function open(t: TestContext) {
  const database = await openPostgres()
  const mailkeep = await createMailkeep({ database: database.source, encryptionKey: randomBytes(32) })
  const admin = new pg.Client(database.url)
  await admin.connect()
  t.after(async () => {
    await mailkeep.close()
    await admin.end()
    await database.close()
  })
  const { id } = await mailkeep.clients.create({ name: 'Acme' })
  const client = mailkeep.forClient(id)
  await client.settings.attributes.update({ indexed: ['plan'] })
  const list = await client.lists.create({ name: 'News' })
  const events = ['newsletter.sent', 'contact.created', 'contact.tagged', 'contact.subscribed'] as const
  await client.webhooks.createEndpoint({ url: 'https://example.org/hook', events: [...events] })
  await client.contacts.addToList(list.id, { email: 'ada@example.org' })
  const rows = await database.ask(
    "select relname from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r' order by 1",
  )
  return { admin, client, list, schema: database.schema, tables: rows.map(({ relname }) => String(relname)) }
}

/** Cancels the statement of `work` that waits for the lock of a table. @returns Whether there was one. */
async function cancelAt(admin: pg.Client, table: string, work: () => Promise<unknown>): Promise<string | undefined> {
  await admin.query('begin')
  await admin.query(`lock table ${table} in access exclusive mode`)
  let result: string | undefined
  const done = work().then(
    () => (result = 'done'),
    (error: unknown) => (result = isMailkeepError(error) ? error.code : String(error)),
  )
  const cancel = `select pg_cancel_backend(pid) from pg_stat_activity
    where pg_backend_pid() = any(pg_blocking_pids(pid))`
  let canceled = 0
  while (result === undefined && canceled === 0) canceled += (await admin.query(cancel)).rowCount ?? 0
  await admin.query('rollback')
  await done
  return canceled > 0 ? result : undefined
}

onPostgres('a statement that the server cancels', () => {
  test('is reported as unavailable, whichever statement of the transaction it was', async (t) => {
    const { admin, client, list, schema, tables } = await open(t)
    const works: readonly ((n: number) => Promise<unknown>)[] = [
      (n) => client.contacts.addToList(list.id, { email: `p${n}@example.org`, tags: ['a', `t${n}`], plan: `${n}` }),
      (n) =>
        client.contacts.addToList(list.id, { email: 'ada@example.org', tags: [`u${n}`], plan: `${n}`, name: `${n}` }),
      (n) => client.contacts.batch([{ op: 'upsert', email: `b${n}@example.org`, tags: [`b${n}`], lists: [list.id] }]),
      (n) => client.events.raise({ type: 'newsletter.sent', data: { n } }),
      (n) => client.events.raiseMany([{ type: 'newsletter.sent', data: { n } }]),
    ]
    const canceled: string[] = []
    for (const [at, work] of works.entries()) {
      for (const [n, table] of tables.entries()) {
        const result = await cancelAt(admin, `${schema}.${table}`, () => work(n))
        if (result !== undefined) canceled.push(`${at} ${table} ${result}`)
      }
    }
    assert.deepEqual(
      canceled.filter((one) => !one.endsWith(' unavailable')),
      [],
    )
    assert.ok(canceled.length > 20, `${canceled.length} were canceled`)
  })
})
