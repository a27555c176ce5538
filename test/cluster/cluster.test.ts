/** `npm run test:cluster`: four daemons on one PostgreSQL. Two are killed halfway, and one is restarted. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createMailkeep } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { needsPostgres } from '../support/databases.ts'
import { key, openKnownPlace, type Place, running } from '../support/postgres-program.ts'
import { raiseEvents, type Target } from './events.ts'
import { Sink } from './sink.ts'

const events = 20_000
const clients = 4
const types = ['newsletter.sent', 'sequence.completed'] as const
/** Claims of a killed daemon expire after this time-out plus 15 s. */
const timeoutSeconds = 5
const patienceMs = 300_000
const sampleMs = 200

/** Creates clients with two endpoints each; every event goes to one of them. @returns The targets for events. */
async function createRecords({ url, schema }: Place, sink: Sink): Promise<Target[]> {
  const mailkeep = await createMailkeep({
    database: postgres(url, { schema }),
    encryptionKey: key,
    webhooks: { allowPrivate: true },
  })
  const targets: Target[] = []
  for (let n = 0; n < clients; n++) {
    const { id } = await mailkeep.clients.create({ name: `client ${n}` })
    const { token } = await mailkeep.tokens.create({ clientId: id, role: 'admin' })
    for (const type of types) {
      await mailkeep.forClient(id).webhooks.createEndpoint({ url: sink.url(`${n}-${type}`), events: [type] })
      targets.push({ token, type })
    }
  }
  await mailkeep.close()
  return targets
}

type Daemon = Awaited<ReturnType<typeof running>>

async function deliveredBy({ url }: Daemon): Promise<number> {
  const page = await (await fetch(`${url}/metrics`)).text()
  return Number(/^mailkeep_deliveries_total\{outcome="success"\} (\d+)$/m.exec(page)?.[1])
}

async function until(what: string, ask: () => boolean | Promise<boolean>): Promise<void> {
  const ends = performance.now() + patienceMs
  while (!(await ask())) {
    assert.ok(performance.now() < ends, `timed out waiting until ${what}`)
    await delay(50)
  }
}

/** Records the longest wait of each endpoint's oldest due delivery, in seconds. */
function watchWaits({ ask }: Place) {
  const longest = new Map<string, number>()
  const timer = setInterval(async () => {
    const rows = await ask(`select endpoint_id as id, extract(epoch from now() - min(due_at))::float8 as waits
      from mailkeep_delivery where status = 'pending' and due_at <= now() group by endpoint_id`).catch(() => [])
    for (const { id, waits } of rows as { id: string; waits: number }[]) {
      longest.set(id, Math.max(longest.get(id) ?? 0, waits))
    }
  }, sampleMs)
  return { longest, stop: () => clearInterval(timer) }
}

test('four daemons share the work, take over the claims of killed ones, and lose nothing', needsPostgres, async (t) => {
  const sink = new Sink()
  await sink.listen()
  t.after(() => sink.close())
  const known = await openKnownPlace(t)
  const settings = { MAILKEEP_LOG_LEVEL: 'warn', MAILKEEP_WEBHOOK_TIMEOUT_SECONDS: String(timeoutSeconds) }
  const place = { ...known, env: { ...known.env, ...settings } }
  const daemons = [await running(t, place)]
  const targets = await createRecords(place, sink)
  daemons.push(...(await Promise.all([2, 3, 4].map(() => running(t, place)))))
  let living = [...daemons]

  const beganMs = performance.now()
  const seconds = () => ((performance.now() - beganMs) / 1000).toFixed(1)
  const waits = watchWaits(place)
  const raised = raiseEvents(events, () => living.map(({ url }) => url), targets)
  await until('half of the deliveries are recorded', () => sink.times.size >= events / 2)
  const shares = await Promise.all(daemons.map(deliveredBy))
  const killed = daemons.slice(0, 2)
  living = daemons.slice(2)
  for (const { child } of killed) child.kill('SIGKILL')
  await Promise.all(killed.map(({ child }) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
  t.diagnostic(`${seconds()} s: two daemons killed; deliveries recorded so far, by daemon: ${shares.join(', ')}`)
  const restarted = await running(t, place)
  living = [...living, restarted]

  const { again } = await raised
  t.diagnostic(`${seconds()} s: all ${events} events are answered; ${again} posts were repeated`)
  await until('every event', () => sink.numbers.size === events)
  const open = `select count(*)::int as count from mailkeep_delivery where status <> 'success'`
  await until('every outcome', async () => (await place.ask(open))[0]!.count === 0)
  waits.stop()
  t.diagnostic(`${seconds()} s: everything is delivered; by the restarted daemon: ${await deliveredBy(restarted)}`)

  // Nothing is lost: every stored delivery and every number has arrived.
  const stored = await place.ask('select uuid, attempts from mailkeep_delivery')
  assert.deepEqual(new Set(stored.map(({ uuid }) => uuid)), new Set(sink.times.keys()))
  assert.ok(stored.length >= events && stored.length <= events + again)

  // Only deliveries in flight at a kill may arrive twice. Their attempts are marked as interrupted.
  const marked = await place.ask(`select d.uuid from mailkeep_attempt as a join mailkeep_delivery as d
    on d.id = a.delivery_id where a.duration_ms is null`)
  const interrupted = new Set(marked.map(({ uuid }) => uuid))
  const repeated = [...sink.times].filter(([, times]) => times > 1)
  t.diagnostic(`in flight at a kill: ${interrupted.size}; of these arrived twice: ${repeated.length}`)
  assert.deepEqual(
    repeated.filter(([uuid, times]) => times > 2 || !interrupted.has(uuid)),
    [],
  )
  const spare = stored.filter(({ uuid, attempts }) => attempts !== (interrupted.has(uuid) ? 2 : 1))
  assert.deepEqual(spare, [], 'each delivery has one attempt, and one more for each interruption')

  const total = shares.reduce((sum, share) => sum + share, 0)
  assert.ok(Math.max(...shares) <= total / 2, `the work was not shared: ${shares.join(', ')}`)

  const longest = [...waits.longest.values()].sort((a, b) => a - b)
  t.diagnostic(
    `longest wait of the oldest delivery, by endpoint: ${longest.map((wait) => wait.toFixed(2)).join(', ')} s`,
  )
  assert.equal(longest.length, targets.length)
  assert.ok(
    longest.at(-1)! <= 2 * longest[Math.floor(longest.length / 2)]!,
    'one endpoint waited longer than the others',
  )
  for (const { said } of daemons) assert.doesNotMatch(said.err, /"level":(?:50|60)/)
  for (const daemon of living) assert.deepEqual(await daemon.stop(), [0, null])
})
