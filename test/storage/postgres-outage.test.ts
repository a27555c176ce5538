import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { TestContext } from 'node:test'
import { createMailkeep } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { onPostgres, openPostgres, test } from '../support/databases.ts'
import { keepLog } from '../support/kept-log.ts'
import { openProxy } from '../support/tcp-proxy.ts'
import { assertFaster } from '../support/timing.ts'

/** Opens mailkeep on a database behind a proxy. */
async function openBehindProxy(t: TestContext) {
  const database = await openPostgres()
  const url = new URL(database.url)
  const proxy = await openProxy({ host: url.hostname, port: Number(url.port || 5432) })
  url.host = `127.0.0.1:${proxy.port}`
  const log = keepLog()
  const mailkeep = await createMailkeep({
    database: postgres(url.href, { schema: database.schema }),
    encryptionKey: Buffer.alloc(32, 7),
    logger: log.logger,
  })
  t.after(async () => {
    proxy.cut()
    await mailkeep.close({ timeoutMs: 0 })
    await database.close()
  })
  return { proxy, mailkeep, log }
}

onPostgres('while the database is away', () => {
  test('readiness is answered within seconds, although statements wait longer', async (t) => {
    const { proxy, mailkeep } = await openBehindProxy(t)
    t.after(() => proxy.close())
    assert.equal((await mailkeep.ready()).ready, true)
    await mailkeep.stats() // leaves an idle connection in the pool
    proxy.mute()
    const began = performance.now()
    let state = await mailkeep.ready()
    while (state.ready) state = await mailkeep.ready() // an earlier answer is kept for a second
    assertFaster(performance.now() - began, 15_000, 'the answer')
    assert.match(`${state.database} ${state.migrations}`, /The database did not answer within 6 s\./)
  })

  test('an error that repeats is not logged each time', async (t) => {
    const { proxy, mailkeep, log } = await openBehindProxy(t)
    mailkeep.start()
    await proxy.close()
    const refusing = createServer((socket) => socket.destroy()).listen(proxy.port, '127.0.0.1')
    t.after(() => refusing.close())
    // The loops of deliveries and of messages, and background work, each try to connect every second.
    for (let attempts = 0; attempts < 24; attempts++) await once(refusing, 'connection')
    const texts = log.of('error').map(({ message, fields }) => `${message}: ${(fields.err as Error).cause}`)
    assert.ok(texts.some((text) => /could not claim or record deliveries/.test(text)))
    assert.deepEqual(texts, [...new Set(texts)])
  })
})
