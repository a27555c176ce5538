/** Attempts that fail because of mailkeep itself, outcomes that come too late, and the log lines about deliveries. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as nodeModule from 'node:module'
import { describe } from 'node:test'
import { fileURLToPath } from 'node:url'
import { test } from '../support/databases.ts'
import { keepLog, type Line } from '../support/kept-log.ts'
import {
  addEndpoint,
  attempted,
  hourMs,
  type Opened,
  onSharedDatabases,
  openManualReceiver,
  openReceiver,
  openSecondInstance,
  raise,
  until,
  withStatus,
} from '../support/webhook-harness.ts'

const ownFault = /^Mailkeep's own fault, not the receiver's/

onSharedDatabases('an internal fault of mailkeep', (open) => {
  const broken = (cause: Error) => ({
    send: () => {
      throw cause
    },
    close: async () => {},
  })

  test('is logged with its cause, retried on schedule, and never counts against the endpoint', async (t) => {
    const { logger, of } = keepLog()
    const cause = new TypeError('a bug')
    const webhooks = { disableAfterFailures: 1, disableAfterHours: 0, retryScheduleSeconds: [5, 5] }
    const mk = await open(t, { logger, sender: broken(cause), webhooks })
    const { id, uuid } = await addEndpoint(mk, 'https://hook.example/secret-path')
    assert.ok(uuid)
    await raise(mk)
    const first = await attempted(mk, id, 1)
    assert.deepEqual([first.status, first.attempts, first.response_status], ['pending', 1, null])
    assert.match(first.error!, ownFault)
    assert.equal(first.attempt_log[0]!.error, first.error)
    const [logged] = of('error')
    const { err, endpoint_id, client_id, delivery, attempt } = logged!.fields
    assert.equal(err, cause)
    assert.deepEqual([endpoint_id, client_id, delivery, attempt], [id, mk.acmeId, first.uuid, 1])
    assert.ok(Date.parse(first.next_attempt_at!) >= mk.clock.ms + 4000)
    for (const count of [2, 3]) {
      await mk.pass(10_000)
      await attempted(mk, id, count)
    }
    assert.equal((await withStatus(mk, id, 'failed')).attempts, 3)
    const { active, consecutive_failures, last_triggered_at } = await mk.acme.webhooks.getEndpoint(id)
    assert.deepEqual([active, consecutive_failures], [true, 0])
    assert.ok(last_triggered_at)
    assert.equal((await mk.mailkeep.stats()).attempts.fault, 3)
    assert.equal((await mk.mailkeep.stats()).attempts.failure, 0)
  })

  test('neither adds to earlier failures nor resets them', async (t) => {
    let fails = true
    const real = {
      send: () => ({ outcome: Promise.resolve({ kind: 'answered' as const, status: 500, body: '' }), abort() {} }),
    }
    const sender = {
      send() {
        if (fails) return real.send()
        throw new Error('a bug')
      },
      close: async () => {},
    }
    const mk = await open(t, { sender })
    const { id } = await addEndpoint(mk, 'https://hook.example/')
    await raise(mk)
    await attempted(mk, id, 1)
    fails = false
    await mk.pass(10_000)
    assert.match((await attempted(mk, id, 2)).error!, ownFault)
    assert.equal((await mk.acme.webhooks.getEndpoint(id)).consecutive_failures, 1)
  })

  test('a network error is still a failure of the receiver', async (t) => {
    const { logger, of } = keepLog()
    const resolve4 = () => Promise.reject(Object.assign(new Error('down'), { code: 'ESERVFAIL' }))
    const mk = await open(t, { logger, lookup: { resolver: { resolve4, resolve6: resolve4 } } })
    const refused = await addEndpoint(mk, 'http://127.0.0.1:9/')
    const unresolved = await addEndpoint(mk, 'http://hook.example/')
    await raise(mk)
    for (const { id } of [refused, unresolved]) {
      assert.match((await attempted(mk, id, 1)).error!, /^The request failed: (ECONNREFUSED|ESERVFAIL)\.$/)
      assert.equal((await mk.acme.webhooks.getEndpoint(id)).consecutive_failures, 1)
    }
    assert.deepEqual(of('error'), [])
  })
})

describe('a process in which undici cannot be loaded', () => {
  // Node 20 cannot replace a module in the way that this test does.
  const skip = 'registerHooks' in nodeModule ? false : 'this Node has no module.registerHooks'
  test('logs this, and blames no receiver', { skip }, async () => {
    const errors = await errorsOfOwnFault('./without-undici.ts', [process.execPath])
    assert.deepEqual(errors, ['undici is not here'])
  })
})

describe('a process that has as many files open as it may', () => {
  const skip = process.platform === 'win32' ? 'Windows has no such limit' : false
  test('logs this, and blames no receiver', { skip }, async () => {
    const limited = ['/bin/sh', '-c', 'ulimit -n 256; exec "$0" "$@"', process.execPath]
    assert.deepEqual(await errorsOfOwnFault('./without-files.ts', limited), ['EMFILE'])
  })
})

/** Runs a script that makes one attempt, and checks that it blames no receiver. @returns What the script has logged. */
async function errorsOfOwnFault(script: string, [command = '', ...words]: readonly string[]): Promise<unknown> {
  const args = [...words, '--import', 'tsx', fileURLToPath(import.meta.resolve(script))]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  const [code] = await once(child, 'close')
  assert.equal(code, 0)
  const { delivery, endpoint, errors } = JSON.parse(text)
  assert.match(delivery.error, ownFault)
  assert.equal(delivery.status, 'pending')
  assert.deepEqual([endpoint.active, endpoint.consecutive_failures], [true, 0])
  return errors
}

onSharedDatabases('outcomes that come after their claim was lost', (open) => {
  test('are not counted by the metrics', async (t) => {
    const { receiver, answers } = await openManualReceiver(t)
    const first = await open(t)
    const { id } = await addEndpoint(first, receiver.url())
    await raise(first)
    await receiver.count(1)
    first.clock.advance(hourMs) // beyond the lease: another process takes the delivery over
    const second = await openSecondInstance(t, first)
    await receiver.count(2)
    answers[1]!(200)
    await withStatus(second, id, 'success')
    answers[0]!(500)
    await until('the first is done', async () => (await first.mailkeep.stats()).inFlight === 0 || undefined)
    const [lost, kept] = [await first.mailkeep.stats(), await second.mailkeep.stats()]
    assert.deepEqual([lost.attempts.failure, lost.deliveries, lost.attemptMsSum], [0, { success: 0, failed: 0 }, 0])
    assert.deepEqual([kept.attempts.success, kept.deliveries], [1, { success: 1, failed: 0 }])
  })
})

onSharedDatabases('the log', (open) => {
  test('has at most one line a second while deliveries cannot be claimed, however often the loop is woken', async (t) => {
    const { logger, of } = keepLog()
    const mk = await open(t, { logger })
    const { id } = await addEndpoint(mk, 'http://127.0.0.1:9/')
    const isServer = mk.place.kind === 'PostgreSQL'
    if (isServer) {
      await mk.ask(`create function no() returns trigger language plpgsql as 'begin raise ''no''; end'`)
      await mk.ask('create trigger no before update on mailkeep_delivery execute function no()')
    } else {
      await mk.ask(`create trigger no before update on mailkeep_delivery begin select raise(abort, 'no'); end`)
    }
    const startedMs = performance.now()
    const isLogged = () => of('error').length > 0 || undefined
    await raise(mk)
    await until('the first failure', isLogged)
    for (let i = 0; i < 30; i++) await raise(mk)
    const seconds = (performance.now() - startedMs) / 1000
    assert.ok(of('error').length <= seconds + 1, `${of('error').length} lines in ${seconds} s`)
    await mk.ask(`drop trigger no ${isServer ? 'on mailkeep_delivery' : ''}`)
    await attempted(mk, id, 1)
  })

  const secretUrl = (url: string) => `${url.replace('/hook', '/hook-secret')}?token=hush`

  const shows = (lines: readonly Line[]) => assert.doesNotMatch(JSON.stringify(lines), /hush|secret|whsec_|http|@/)

  const failing = (mk: Opened, url: string) => addEndpoint(mk, secretUrl(url))

  test('has one line for each delivery that failed finally, with ids and the reason', async (t) => {
    const { logger, of } = keepLog()
    const mk = await open(t, { logger, webhooks: { retryScheduleSeconds: [5] } })
    const { id } = await failing(mk, (await openReceiver(t, 500)).url())
    await raise(mk, { email: 'ann@example.org' })
    await attempted(mk, id, 1)
    assert.deepEqual(of('warn'), [])
    await mk.pass(10_000)
    const { uuid } = await withStatus(mk, id, 'failed')
    const line = await until('it is logged', () => of('warn')[0])
    assert.equal(line.message, 'a delivery failed and will not be retried')
    assert.deepEqual(line.fields, {
      client_id: mk.acmeId,
      endpoint_id: id,
      delivery: uuid,
      event_type: 'newsletter.sent',
      attempt: 2,
      reason: 'The receiver answered 500.',
    })
    assert.equal(of('warn').length, 1)
    shows(of('warn'))
  })

  test('has one line for each endpoint that was switched off, with its id and the reason', async (t) => {
    const { logger, of } = keepLog()
    const mk = await open(t, { logger, webhooks: { disableAfterFailures: 2, disableAfterHours: 0 } })
    const { id } = await failing(mk, (await openReceiver(t, 500)).url())
    const gone = await failing(mk, (await openReceiver(t, 410)).url())
    await raise(mk)
    await attempted(mk, id, 1)
    await mk.pass(10_000)
    await attempted(mk, id, 2)
    const off = () => of('warn').filter(({ message }) => message === 'a webhook endpoint was switched off')
    await until('both are logged', () => off().length === 2 || undefined)
    const reasons = new Map(off().map(({ fields }) => [fields.endpoint_id, [fields.client_id, fields.reason]]))
    assert.deepEqual(reasons.get(id), [mk.acmeId, '2 attempts in a row have failed.'])
    assert.deepEqual(reasons.get(gone.id), [mk.acmeId, 'The receiver answered 410.'])
    shows(of('warn'))
  })
})
