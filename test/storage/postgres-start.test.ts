import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { test } from 'node:test'
import pg from 'pg'
import { createMailkeep } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { needsPostgres, openPostgres } from '../support/databases.ts'
import { openReceiver } from '../support/http-receiver.ts'
import { keepLog } from '../support/kept-log.ts'

test(
  'a process that starts does not wait for a delivery that another is recording, and locks none',
  needsPostgres,
  async (t) => {
    const database = await openPostgres()
    const receiver = await openReceiver()
    const mailkeep = await createMailkeep({
      database: postgres(database.url, { schema: database.schema }),
      encryptionKey: Buffer.alloc(32, 7),
      webhooks: { allowPrivate: true },
    })
    const other = new pg.Client({ connectionString: database.url, options: `-c search_path=${database.schema}` })
    t.after(async () => {
      await other.end()
      await mailkeep.close({ timeoutMs: 0 })
      await receiver.close()
      await database.close()
    })
    const client = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
    await client.webhooks.createEndpoint({ url: receiver.url(), events: ['newsletter.sent'] })
    const raise = (number: number) => client.events.raise({ type: 'newsletter.sent', data: { number } })
    for (let number = 0; number < 3; number++) await raise(number)
    // Simulates another process: deliveries are in flight, and the outcome of one is being recorded.
    await database.ask(`update mailkeep_delivery set claim = 'theirs', attempts = 1, claimed_at = now(),
      lease_until = now() + interval '10 s'`)
    await other.connect()
    await other.query('begin')
    await other.query('select 1 from mailkeep_delivery where id = 2 for update')
    await raise(3)
    mailkeep.start()
    const received = await receiver.next()
    assert.equal(received.body.data.number, 3)
    await other.query(`set local lock_timeout = '1s'`)
    await other.query('select 1 from mailkeep_delivery where id <> 4 for update') // fails if the rows are locked
    assert.equal(receiver.received.length, 1)
  },
)

test('a start on a replica is refused, and names the primary server', needsPostgres, async (t) => {
  const database = await openPostgres()
  t.after(database.close)
  const { schema, ask } = database
  // Simulates a replica by a function that hides the server's.
  await ask(`create schema if not exists "${schema}"`)
  await ask(`create function "${schema}".pg_is_in_recovery() returns boolean language sql as 'select true'`)
  const options = encodeURIComponent(`-c search_path="${schema}",pg_catalog`)
  const opening = createMailkeep({
    database: postgres(`${database.url}?options=${options}`),
    encryptionKey: Buffer.alloc(32, 7),
  })
  await assert.rejects(opening, /^MailkeepError: This server is a replica, .*: name the primary server\.$/)
})

test('a start that waits for the locks of others logs once who they are', needsPostgres, async (t) => {
  const database = await openPostgres()
  const { url, ask } = database
  const schema = `${database.schema}_new`
  await ask(`create schema "${schema}"`)
  const options = `-c search_path=${schema}`
  const other = new pg.Client({ connectionString: url, options, application_name: 'nightly report' })
  const { logger, lines } = keepLog()
  const warned = new EventEmitter()
  const warn = (fields: object, message: string) => {
    logger.warn(fields, message)
    warned.emit('line')
  }
  t.after(async () => {
    await ask(`drop schema "${schema}" cascade`)
    await database.close()
  })
  await other.connect()
  await other.query('begin')
  await other.query(`select pg_advisory_xact_lock(hashtextextended('mailkeep ' || current_schema(), 0))`)
  const line = once(warned, 'line')
  const opening = createMailkeep({
    database: postgres(url, { schema }),
    encryptionKey: Buffer.alloc(32, 7),
    logger: { ...logger, warn },
  })
  await line
  await other.query('commit')
  await other.end()
  await (await opening).close()
  const waits = lines.filter(({ message }) => /waits until other connections end/.test(message))
  assert.equal(waits.length, 1)
  assert.match(JSON.stringify(waits[0]!.fields), /"pid":\d+,"role":"\w+","application":"nightly report"/)
})
