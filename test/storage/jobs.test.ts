/** Stored jobs: when they run, what a failure does, and what two processes do with one. */
import assert from 'node:assert/strict'
import type { Logger } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import {
  addEndpoint,
  copies,
  hourMs,
  type Opened,
  onEveryDatabase,
  onSharedDatabases,
  openSecondInstance,
  raise,
  secondMs,
} from '../support/webhook-harness.ts'

const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, -1)}000Z`

interface JobFields {
  readonly kind: string
  readonly target?: number
  readonly state?: unknown
  readonly runAtMs?: number
}

/** Stores a job as another process would. The kind `clear tag` removes a deleted tag from contacts. */
async function store({ ask, clock }: Opened, { kind, target = 0, state = {}, runAtMs = clock.ms }: JobFields) {
  await ask(
    `insert into mailkeep_job (client_id, kind, target_id, state, created_at, run_at) values (1, '${kind}', ${target},
      '${JSON.stringify(state)}', '${iso(clock.ms - hourMs)}', '${iso(runAtMs)}')`,
  )
}

/** Saves a contact with a membership of each tag, which needs not exist. */
async function tagged(mk: Opened, ...tags: number[]): Promise<void> {
  const list = await mk.acme.lists.create({ name: 'News' })
  const { contact } = await mk.acme.contacts.addToList(list.id, { email: 'ada@example.org' })
  for (const tag of tags) {
    await mk.ask(
      `insert into mailkeep_contact_tag (client_id, contact_id, tag_id) values (${mk.acmeId}, ${contact.id}, ${tag})`,
    )
  }
}

/** Creates more contacts with a tag than three batches clear. @returns The tag's id. */
async function tagOfMany({ acme, ask }: Opened): Promise<number> {
  const list = await acme.lists.create({ name: 'News' })
  const contacts = Array.from({ length: 1700 }, (_, i) => ({ email: `ada${i}@example.org`, tags: ['many'] }))
  await acme.contacts.addManyToList(list.id, contacts)
  await ask('delete from mailkeep_job')
  return (await acme.tags.list()).data[0]!.id
}

/** Returns the columns of the newest job. */
async function newestJob({ ask }: Opened) {
  const [row] = await ask('select status, failures, run_at, finished_at from mailkeep_job order by id desc limit 1')
  const { status, failures, run_at, finished_at } = row!
  const msOf = (time: unknown) => (time === null ? null : new Date(time as string).getTime())
  return { status, failures: Number(failures), runAtMs: msOf(run_at), finishedAtMs: msOf(finished_at) }
}

onEveryDatabase('a stored job', (open) => {
  test('waits for its time, and is kept after it finished', async (t) => {
    const mk = await open(t, { start: false })
    await tagged(mk, 901, 902)
    await store(mk, { kind: 'clear tag', target: 901 })
    await store(mk, { kind: 'clear tag', target: 902, runAtMs: mk.clock.ms + hourMs })
    const tags = async () => (await mk.ask('select tag_id from mailkeep_contact_tag')).map((row) => Number(row.tag_id))
    await mk.mailkeep.deliverDue()
    assert.deepEqual(await tags(), [902])
    mk.clock.advance(hourMs)
    await mk.mailkeep.deliverDue()
    assert.deepEqual(await tags(), [])
    assert.deepEqual(await newestJob(mk), {
      status: 'done',
      failures: 0,
      runAtMs: mk.clock.ms,
      finishedAtMs: mk.clock.ms,
    })
  })

  test('with many batches lets the jobs after it run between them', async (t) => {
    let ms = Date.now()
    const mk = await open(t, { start: false, clock: () => ++ms })
    const tag = await tagOfMany(mk)
    await store(mk, { kind: 'clear tag', target: tag, runAtMs: ms - 2 })
    await store(mk, { kind: 'clear tag', target: 901, runAtMs: ms - 1 })
    await mk.mailkeep.deliverDue()
    assert.equal(await mk.count('mailkeep_contact_tag'), 0)
    const finished = await mk.ask(`select target_id from mailkeep_job where kind = 'clear tag' order by finished_at`)
    assert.deepEqual(
      finished.map(({ target_id }) => Number(target_id)),
      [901, tag],
    )
  })

  test('with many batches continues even if the clock is set back between them', async (t) => {
    let ms = Date.now()
    const mk = await open(t, { start: false, clock: () => (ms -= secondMs) })
    await store(mk, { kind: 'clear tag', target: await tagOfMany(mk), runAtMs: ms - hourMs })
    await mk.mailkeep.deliverDue()
    assert.equal(await mk.count('mailkeep_contact_tag'), 0)
  })

  test('without a delay runs even if the clock was set back', async (t) => {
    const mk = await open(t, { start: false })
    const { id } = await addEndpoint(mk, 'http://127.0.0.1:9/')
    const recovery = await mk.acme.webhooks.recover(id, { since: iso(mk.clock.ms) })
    mk.clock.advance(-hourMs)
    await mk.mailkeep.deliverDue()
    assert.equal((await mk.acme.webhooks.getRecovery(id, recovery.id)).status, 'done')
    assert.equal((await newestJob(mk)).status, 'done')
  })

  test('that fails is logged and retried after growing delays; other jobs run', async (t) => {
    const logged: Record<string, unknown>[] = []
    const logger: Logger = { debug() {}, info() {}, warn() {}, error: (fields) => void logged.push({ ...fields }) }
    const mk = await open(t, { start: false, logger })
    await tagged(mk, 901)
    await store(mk, { kind: 'clear tag', target: 901, runAtMs: mk.clock.ms + 1 })
    await store(mk, { kind: 'recover', state: null }) // a state that its handler cannot read
    mk.clock.advance(1)
    for (const [failures, delayMs] of [
      [1, secondMs],
      [2, 2 * secondMs],
      [3, 4 * secondMs],
    ] as const) {
      await mk.mailkeep.deliverDue()
      await mk.mailkeep.deliverDue()
      assert.deepEqual(await newestJob(mk), {
        status: 'pending',
        failures,
        runAtMs: mk.clock.ms + delayMs,
        finishedAtMs: null,
      })
      mk.clock.advance(delayMs)
    }
    assert.equal(await mk.count('mailkeep_contact_tag'), 0)
    assert.deepEqual(
      logged.map(({ kind, failures, err }) => [kind, failures, err instanceof TypeError]),
      [1, 2, 3].map((failures) => ['recover', failures, true]),
    )
    await mk.ask(`update mailkeep_job set state = '{"total":0}' where failures > 0`)
    await mk.mailkeep.deliverDue()
    const { status, failures } = await newestJob(mk)
    assert.deepEqual([status, failures], ['done', 0])
  })

  test('that keeps failing is retried at least every hour, also if the clock was set back', async (t) => {
    const mk = await open(t, { start: false })
    await store(mk, { kind: 'recover', state: null })
    await mk.ask('update mailkeep_job set failures = 40')
    for (const ms of [0, -40 * 24 * hourMs]) {
      mk.clock.advance(ms)
      await mk.mailkeep.deliverDue()
      assert.equal((await newestJob(mk)).runAtMs, mk.clock.ms + hourMs)
    }
  })
})

onSharedDatabases('a stored job of two processes', (open) => {
  test('runs each of its batches once', async (t) => {
    const mk = await open(t, { start: false })
    const other = await openSecondInstance(t, mk, { start: false })
    const { id } = await addEndpoint(mk, 'http://127.0.0.1:9/')
    await mk.acme.webhooks.updateEndpoint(id, { active: false })
    await raise(mk)
    await copies(mk, 1199)
    await mk.acme.webhooks.updateEndpoint(id, { active: true })
    await mk.ask(`update mailkeep_delivery set due_at = '${iso(mk.clock.ms + hourMs)}' where endpoint_id = ${id}`)
    const recovery = await mk.acme.webhooks.recover(id, { since: iso(mk.clock.ms - hourMs) })
    await Promise.all([mk, other, mk, other].map(({ mailkeep }) => mailkeep.deliverDue()))
    const { total, done, status } = await mk.acme.webhooks.getRecovery(id, recovery.id)
    assert.deepEqual({ total, done, status }, { total: 1200, done: 1200, status: 'done' })
    assert.equal(await mk.count('mailkeep_job where status = ?', 'pending'), 0)
  })
})
