import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { createMailkeep, isMailkeepError } from '../../lib/index.ts'
import { inspectServer, type PostgresOptions, postgres } from '../../lib/storage/postgres.ts'
import { databaseUrl, onPostgres, openPostgres, test } from '../support/databases.ts'
import { openProxy } from '../support/tcp-proxy.ts'

const encryptionKey = Buffer.alloc(32, 7)

/** Opens a pooler that drops the settings of connections. @returns The URL of the database through it. */
async function openDroppingPooler(t: TestContext): Promise<string> {
  const url = new URL(await databaseUrl())
  const proxy = await openProxy({ host: url.hostname, port: Number(url.port || 5432) })
  t.after(() => proxy.close())
  proxy.dropSettings()
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  return url.href
}

/** An error message of the server, as PgBouncer sends it before it ends the connection. */
function fatal(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(4 + fields.length, 1)
  return Buffer.concat([head, fields])
}

/** Opens a pooler that refuses the settings of connections. @returns The URL of a database through it. */
async function openRefusingPooler(t: TestContext, code: string, message: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(fatal(code, message)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `postgres://mailkeep@127.0.0.1:${(server.address() as AddressInfo).port}/mailkeep`
}

async function assertPoolerNamed(url: string, code: string, options: PostgresOptions = {}): Promise<void> {
  const isClear = (error: unknown) =>
    isMailkeepError(error) && error.code === code && /MAILKEEP_DATABASE_POOLER=true/.test(error.message)
  await assert.rejects(createMailkeep({ database: postgres(url, options), encryptionKey }), isClear)
  await assert.rejects(inspectServer(url, options), isClear)
}

onPostgres('a pooler for which mailkeep lacks the option', () => {
  test('is named if it refuses the settings of connections', async (t) => {
    for (const [code, message] of [
      ['08P01', 'unsupported startup parameter: statement_timeout'], // PgBouncer
      ['0A000', 'Feature not supported: RDS Proxy currently doesn’t support command-line options.'],
    ] as const)
      await assertPoolerNamed(await openRefusingPooler(t, code, message), 'unavailable')
  })

  test('is named if it drops the settings of connections', async (t) => {
    await assertPoolerNamed(await openDroppingPooler(t), 'conflict')
  })

  test('is named if it drops the schema, in whose place no tables are created', async (t) => {
    const { schema, ask } = await openPostgres()
    await assertPoolerNamed(await openDroppingPooler(t), 'conflict', { schema })
    assert.deepEqual(await ask(`select to_regclass('public.mailkeep_migration') as made`), [{ made: null }])
  })

  test('may drop the settings if mailkeep has the option', async (t) => {
    const url = await openDroppingPooler(t)
    const report = await inspectServer(url, { pooler: true })
    assert.equal(report.encoding, 'UTF8')
  })

  test('is named if it gives a host’s pool connections with the prepared statements of others', async (t) => {
    const { url, schema, ask, close } = await openPostgres()
    t.after(close)
    await ask(`create schema if not exists "${schema}"`)
    const pool = new pg.Pool({ connectionString: `${url}?options=-c%20search_path%3D${schema}`, max: 1 })
    t.after(() => pool.end())
    const mailkeep = await createMailkeep({ database: postgres(pool), encryptionKey })
    t.after(() => mailkeep.close())
    const client = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
    await client.lists.list()
    const { rows } = await pool.query(`select name from pg_prepared_statements where name like 'mailkeep%'`)
    pool.on('connect', (connection) => {
      for (const { name } of rows) void connection.query(`prepare "${name}" as select 1`)
    })
    pool.on('error', () => {})
    await pool.query('select pg_terminate_backend(pg_backend_pid())').catch(() => {})
    await assert.rejects(
      client.lists.list(),
      (error) => isMailkeepError(error, 'unavailable') && /the option pooler/.test(error.message),
    )
  })
})
