import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type Campaign, Pace } from '../../lib/sending/dispatch/pace.ts'
import { test } from '../support/databases.ts'
import { until } from '../support/harness.ts'
import { addAudience, addNewsletter, content, openAnother, openMail } from '../support/mail-harness.ts'
import { onEveryDatabase, onSharedDatabases } from '../support/webhook-harness.ts'

const newsletter = (id: number, clientId: number, identityId = clientId): Campaign => ({
  ...{ kind: 'newsletter', id, clientId, identityId },
})

/** Sends one message after the other until a time, and returns how many each newsletter got. */
function sendFor(ms: number, rate: number, identityRate: number, due: readonly Campaign[]): Record<number, number> {
  let nowMs = 0
  const pace = new Pace(() => nowMs, rate, identityRate)
  const sent: Record<number, number> = {}
  for (; nowMs <= ms; nowMs += 10) {
    for (const { campaign, limit } of pace.allow(due, 100)) {
      pace.take(campaign, limit)
      sent[campaign.id] = (sent[campaign.id] ?? 0) + limit
    }
    pace.passTurns()
  }
  return sent
}

describe('the pace of mail', () => {
  test('is the rate in all, after a short burst', () => {
    const sent = sendFor(10_000, 100, 100, [newsletter(1, 1)])
    assert.ok(sent[1]! >= 1000 && sent[1]! <= 1011, `${sent[1]}`)
  })

  test('is shared between clients, however many newsletters one of them sends', () => {
    const due = [newsletter(1, 1), ...[2, 3, 4, 5, 6].map((id) => newsletter(id, 2))]
    const sent = sendFor(10_000, 100, 100, due)
    const other = [2, 3, 4, 5, 6].map((id) => sent[id]!)
    assert.ok(Math.abs(sent[1]! - 500) < 20, JSON.stringify(sent))
    assert.ok(Math.max(...other) - Math.min(...other) < 10, JSON.stringify(sent))
  })

  test('is limited for each sender identity', () => {
    const sent = sendFor(10_000, 100, 20, [newsletter(1, 1), newsletter(2, 2)])
    for (const id of [1, 2]) assert.ok(Math.abs(sent[id]! - 200) < 10, JSON.stringify(sent))
  })

  test('waits until the next message may be sent', () => {
    let nowMs = 0
    const pace = new Pace(() => nowMs, 10, 10)
    const due = [newsletter(1, 1)]
    pace.take(due[0]!, 1)
    assert.deepEqual(pace.allow(due, 5), [])
    nowMs += pace.waitMs(due)
    assert.equal(pace.allow(due, 5)[0]!.limit, 1)
    assert.ok(nowMs >= 100 && nowMs < 110, `${nowMs}`)
  })

  test('forgets what was taken in a transaction that was rolled back', () => {
    let nowMs = 0
    const pace = new Pace(() => nowMs, 10, 5)
    const due = [newsletter(1, 1)]
    const other = new Pace(() => nowMs, 10, 5)
    other.take(newsletter(2, 2), 1)
    nowMs = 150
    for (const stored of [undefined, other.state()]) {
      pace.load(stored)
      const allowed = pace.allow(due, 5)
      assert.equal(allowed.length, 1)
      pace.take(due[0]!, 1)
      pace.load(stored)
      assert.deepEqual(pace.allow(due, 5), allowed)
    }
  })

  test('is shared between clients and their newsletters, also if each claim runs twice', () => {
    let nowMs = 0
    const pace = new Pace(() => nowMs, 10, 10)
    const due = [newsletter(1, 1), newsletter(2, 1), newsletter(3, 2)]
    const sent: Record<number, number> = {}
    for (let stored: ReturnType<typeof pace.state> | undefined; nowMs < 40_000; nowMs += 100) {
      pace.load(stored)
      for (const { campaign, limit } of pace.allow(due, 20)) pace.take(campaign, limit)
      pace.load(stored) // the first run was rolled back
      for (const { campaign, limit } of pace.allow(due, 20)) {
        pace.take(campaign, limit)
        sent[campaign.id] = (sent[campaign.id] ?? 0) + limit
      }
      stored = pace.state()
      pace.passTurns()
    }
    assert.deepEqual(sent, { 1: 100, 2: 100, 3: 200 })
  })

  for (const [aheadMs, rate] of [
    [2, 1000],
    [20, 100],
    [50, 14],
  ] as const) {
    test(`is kept to by two processes whose clocks differ by ${aheadMs} ms, at ${rate} a second`, () => {
      let nowMs = 0
      const processes = [0, aheadMs].map((ms) => new Pace(() => nowMs + ms, rate, rate))
      let stored: ReturnType<Pace['state']> | undefined
      let sent = 0
      for (; nowMs < 10_000; nowMs += 1) {
        for (const pace of processes) {
          pace.load(stored)
          for (const { campaign, limit } of pace.allow([newsletter(1, 1)], 100)) {
            pace.take(campaign, limit)
            stored = pace.state()
            sent += limit
          }
        }
      }
      assert.ok(sent >= 9.9 * rate && sent <= 10.3 * rate + 1, `${sent}`)
    })
  }

  test('begins again when the clock is set back', () => {
    let nowMs = 100_000
    const pace = new Pace(() => nowMs, 10, 10)
    pace.take(newsletter(1, 1), 1)
    const stored = pace.state()
    nowMs -= 60_000
    pace.load(stored)
    assert.equal(pace.allow([newsletter(1, 1)], 5)[0]!.limit, 1)
  })

  test('of an identity survives the claims of a process that has no such rate', () => {
    const limiting = new Pace(() => 0, 10, 5)
    limiting.take(newsletter(1, 1), 1)
    const other = new Pace(() => 0, 10, 10)
    other.load(limiting.state())
    assert.deepEqual(other.state().identities, limiting.state().identities)
  })
})

onEveryDatabase('a newsletter that is sent at a pace', (open) => {
  test('takes the time of its rate on the clock, and none in reality', async (t) => {
    const mail = await openMail(t, { rate: 10 }, open)
    const { list } = await addAudience(mail, 21)
    const { id } = await addNewsletter(mail, { lists: [list.id] })
    const startedMs = mail.clock.read()
    await mail.acme.newsletters.send(id)
    for (let nextMs = await mail.run(); mail.mailed().length < 21; nextMs = await mail.run()) {
      mail.advance(Math.max(1, nextMs! - mail.clock.read()))
    }
    const tookMs = mail.clock.read() - startedMs
    assert.ok(tookMs >= 1900 && tookMs < 2500, `${tookMs} ms`)
  })
})

onEveryDatabase('a sequence without a sender of its own', (open) => {
  test('keeps to one pace with the mail of the identity that it is sent from', async (t) => {
    const mail = await openMail(t, { rate: 100, mail: { identityRate: 10 } }, open)
    const { acme } = mail
    const { identity, list } = await addAudience(mail, 0)
    for (const from_identity_id of [null, identity.id]) {
      const { id } = await acme.sequences.create({ name: 'Welcome', list_id: list.id, from_identity_id })
      await acme.sequences.setSteps(id, { steps: [{ delay_seconds: 0, ...content }] })
    }
    await acme.contacts.addManyToList(
      list.id,
      Array.from({ length: 60 }, (_, at) => ({ email: `c${at}@example.org` })),
    )
    for (let ms = 0; ms <= 2000; ms += 50) {
      await mail.run()
      mail.advance(50)
    }
    const sent = mail.mailed().length
    assert.ok(sent >= 20 && sent <= 22, `${sent}`)
  })
})

onSharedDatabases('a newsletter of several processes at a pace', (open) => {
  for (const [limit, settings] of [
    ['the rate in all', {}],
    ['the rate of its sender', { identityRate: 10 }],
  ] as const) {
    test(`keeps to ${limit}, however many processes send it`, async (t) => {
      const options = { rate: 'identityRate' in settings ? 100 : 10, mail: settings }
      const first = await openMail(t, options, open)
      const { list } = await addAudience(first, 100)
      const { id } = await addNewsletter(first, { lists: [list.id] })
      await first.acme.newsletters.send(id)
      const processes = [first, await openAnother(t, first, first.clock.read, options)]
      processes.push(await openAnother(t, first, first.clock.read, options))
      for (let ms = 0; ms <= 2000; ms += 50) {
        for (const process of processes) await process.run()
        first.advance(50)
      }
      const sent = processes.flatMap((process) => process.mailed())
      assert.ok(sent.length >= 20 && sent.length <= 22, `${sent.length}`)
    })
  }
})

onSharedDatabases('a newsletter with one connection to the mail server', (open) => {
  test('is sent without pauses', async (t) => {
    const mail = await openMail(t, { connections: 1, start: true }, open)
    const { list } = await addAudience(mail, 60)
    const { id } = await addNewsletter(mail, { lists: [list.id] })
    await mail.acme.newsletters.send(id)
    // A pause after each message would take a minute.
    await until(
      async () => mail.mailed().length,
      (count) => count === 60,
    )
  })
})
