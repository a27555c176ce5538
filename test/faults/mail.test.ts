/** Every recipient of a newsletter or a step has one outcome, and no one gets it twice, whatever happens to the processes. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { test } from '../support/databases.ts'
import { type Kind, onKinds } from '../support/kinds.ts'
import { assertUncertain, type Point } from './mail-scene.ts'
import type { MailFault } from './mail-server.ts'
import { NewsletterScene } from './newsletter-scene.ts'
import { isShort } from './rounds.ts'
import { SequenceScene } from './sequence-scene.ts'

/** FAULT_RECIPIENTS=100000 runs the full suite. */
const manyRecipients = Number(process.env.FAULT_RECIPIENTS ?? 600)
const timeout = Math.max(600_000, 30 * manyRecipients)

/** In `npm test` some suites run on one database: their points are also those of the suites in which many kills follow each other. */
const orBoth = (kind: Kind): Kind[] => (isShort ? [kind] : ['a SQLite file', 'PostgreSQL'])

const inserted = 'insert into mailkeep_message'
const claimed = 'update "mailkeep_message" set "claim"'
const recorded = 'update mailkeep_message set status = .{1,40}, due_at'
const finished = 'update "mailkeep_newsletter" set "status" = .{1,40}"finished_at"'

/** The points at which a message is claimed, handed over and recorded. @param claim Matches the statement that claims. */
function messagePoints({ claim, nthClaim, nthMessage }: { claim: string; nthClaim: number; nthMessage: number }) {
  const points: readonly Point[] = [
    { name: 'before a claim', trap: { matching: claim, when: 'before' }, nth: 1, uncertain: 'none' },
    { name: 'before a claim is committed', trap: { matching: claim, when: 'after' }, nth: nthClaim, uncertain: 'none' },
    {
      name: 'after a claim is committed',
      trap: { matching: claim, when: 'committed' },
      nth: 1,
      uncertain: 'not accepted',
    },
    { name: "before the server's 250", nth: nthMessage, uncertain: 'accepted' },
    {
      name: "after the server's 250, before it is recorded",
      trap: { matching: recorded, when: 'before' },
      nth: 1,
      uncertain: 'accepted',
    },
    {
      name: 'before the record is committed',
      trap: { matching: recorded, when: 'after' },
      nth: nthMessage,
      uncertain: 'accepted',
    },
    { name: 'after the record is committed', trap: { matching: recorded, when: 'committed' }, nth: nthMessage },
  ]
  return points
}

const points: readonly Point[] = [
  { name: 'before a batch of recipients is written', trap: { matching: inserted, when: 'before' }, nth: 2 },
  { name: 'before a batch of recipients is committed', trap: { matching: inserted, when: 'after' }, nth: 2 },
  { name: 'after a batch of recipients is committed', trap: { matching: inserted, when: 'committed' }, nth: 2 },
  ...messagePoints({ claim: claimed, nthClaim: 1, nthMessage: 15 }),
  {
    name: 'before the newsletter is finished',
    trap: { matching: finished, when: 'before' },
    nth: 1,
    uncertain: 'accepted',
  },
  {
    name: 'before the end of the newsletter is committed',
    trap: { matching: finished, when: 'after' },
    nth: 1,
    uncertain: 'accepted',
  },
  {
    name: 'after the newsletter is finished',
    trap: { matching: finished, when: 'committed' },
    nth: 1,
    uncertain: 'none',
  },
]

/** The points at which more than one batch of recipients must be written are those of the tests with many recipients. */
const sendingPoints = points.filter(({ trap }) => trap?.matching !== inserted)

onKinds(orBoth('a SQLite file'), 'a process that is killed while it sends a newsletter', (kind) => {
  describe('one kill', { concurrency: 2, timeout }, () => {
    for (const point of sendingPoints) {
      test(point.name, async (t) => {
        const scene = await NewsletterScene.open(t, kind, 60)
        const [dying, next] = await Promise.all([scene.spawn(), scene.spawn()])
        const killed = await scene.arrange(point, dying)
        await dying.control.start()
        await scene.send(dying)
        await killed()
        await scene.messages()
        await next.control.start()
        await scene.finish(next)
        assertUncertain(point, await scene.audit(t))
      })
    }
  })
})

onKinds(['a SQLite file'], 'a newsletter on a disk that is full at one statement after the other', (kind) => {
  test('reaches each once, and nothing is uncertain', { timeout }, async (t) => {
    const scene = await NewsletterScene.open(t, kind, 120)
    const keeper = await scene.spawn()
    await keeper.control.start()
    for (const [index, matching] of [inserted, claimed, recorded, claimed, recorded, finished].entries()) {
      await keeper.control.setTrap({ matching, nth: 1, when: 'after', does: 'full' })
      if (index === 0) await scene.send(keeper)
      await keeper.waitUntil(() => keeper.triggered > index)
    }
    await scene.finish(keeper)
    assert.deepEqual(await scene.audit(t), { sent: 120, failed: 0, uncertain: 0, acceptedUncertain: 0 })
  })
})

/** Traps at the second batch of recipients are triggered by the first batch of a process that continues. */
const inTurn = (point: Point): Point => (point.trap?.matching === inserted ? { ...point, nth: 1 } : point)

onKinds(['a SQLite file'], 'a newsletter to many recipients', (kind) => {
  test('reaches each at most once, when its process is killed at every point in turn', { timeout }, async (t) => {
    const scene = await NewsletterScene.open(t, kind, manyRecipients)
    for (const [index, point] of points.entries()) {
      const dying = await scene.spawn()
      const killed = await scene.arrange(index === 0 ? point : inTurn(point), dying)
      await dying.control.start()
      if (index === 0) await scene.send(dying)
      await killed()
      await scene.messages()
    }
    const last = await scene.spawn()
    await last.control.start()
    await scene.finish(last)
    await scene.audit(t)
  })
})

onKinds(['PostgreSQL'], 'a newsletter that two processes send', (kind) => {
  test('reaches each at most once, when one of them is killed at every point in turn', { timeout }, async (t) => {
    const scene = await NewsletterScene.open(t, kind, manyRecipients)
    const preparing = points.filter(({ trap }) => trap?.matching === inserted)
    const sending = sendingPoints.filter(({ trap }) => trap?.matching !== finished)
    for (const [index, point] of preparing.entries()) {
      const dying = await scene.spawn()
      const killed = await scene.arrange(index === 0 ? point : inTurn(point), dying)
      await dying.control.start()
      if (index === 0) await scene.send(dying)
      await killed()
    }
    let other = await scene.spawn()
    await other.control.start()
    for (const point of sending) {
      await scene.pause(other) // until the next process is ready to be killed
      const dying = await scene.spawn()
      await dying.control.start()
      const killed = await scene.arrange(point, dying, other)
      await scene.resume(other)
      await killed()
      await scene.messages()
      if (point.trap) continue
      other = await scene.spawn()
      await other.control.start()
    }
    await scene.finish(other)
    await scene.audit(t)
  })
})

const stepInserted = 'insert into "mailkeep_message"'

/** At the first step of some contacts. */
const stepPoints = messagePoints({ claim: stepInserted, nthClaim: 5, nthMessage: 5 })

onKinds(orBoth('PostgreSQL'), 'a process that is killed while it sends a sequence', (kind) => {
  describe('one kill', { concurrency: 2, timeout }, () => {
    for (const point of stepPoints) {
      test(point.name, async (t) => {
        const scene = await SequenceScene.open(t, kind, 30)
        const [dying, next] = await Promise.all([scene.spawn(), scene.spawn()])
        const killed = await scene.arrange(point, dying)
        await dying.control.start()
        await killed()
        await scene.messages()
        await next.control.start()
        await scene.finish(next)
        assertUncertain(point, await scene.audit(t))
      })
    }
  })
})

const faults: readonly {
  fault: MailFault
  outcome: 'sent at once' | 'sent later' | 'uncertain'
  timeoutMs?: number
}[] = [
  { fault: 'slow', outcome: 'sent at once' },
  { fault: 'greylist', outcome: 'sent later' },
  { fault: 'hang', outcome: 'sent later', timeoutMs: 1000 },
  { fault: 'hang after the message', outcome: 'uncertain', timeoutMs: 1000 },
  { fault: 'reset', outcome: 'sent later' },
  { fault: 'die before the answer', outcome: 'uncertain' },
  { fault: '421 after three messages', outcome: 'sent later' },
]

onKinds(orBoth('PostgreSQL'), 'a newsletter to a server that fails', (kind) => {
  describe('every fifth recipient', { concurrency: 4, timeout }, () => {
    for (const { fault, outcome, timeoutMs } of faults) {
      test(`${fault}: reaches each once, and what is not known is uncertain`, async (t) => {
        const scene = await NewsletterScene.open(t, kind, 60)
        if (timeoutMs !== undefined) scene.timeoutMs = timeoutMs
        scene.order({ fault, every: 5 })
        const keeper = await scene.spawn()
        await keeper.control.start()
        await scene.send(keeper)
        await scene.finish(keeper)
        const counts = await scene.audit(t)
        const lost = outcome === 'uncertain' ? 12 : 0
        assert.deepEqual(counts, { sent: 60 - lost, failed: 0, uncertain: lost, acceptedUncertain: lost })
        assert.equal(await scene.hasRetried(), outcome === 'sent later')
      })
    }
  })
})
