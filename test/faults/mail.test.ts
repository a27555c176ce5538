/** Every recipient of a newsletter has one outcome, and no one gets it twice, whatever happens to the processes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onKinds } from '../support/kinds.ts'
import type { Keeper } from './keeper.ts'
import { type MailScene, setMailScene } from './mail-scene.ts'
import type { MailFault } from './mail-server.ts'
import type { Trap } from './statements.ts'

const timeout = 600_000
/** FAULT_RECIPIENTS=100000 runs the full suite. */
const manyRecipients = Number(process.env.FAULT_RECIPIENTS ?? 3000)

const inserted = 'insert into mailkeep_message'
const claimed = 'update "mailkeep_message" set "claim"'
const recorded = 'update mailkeep_message set status = .{1,40}, due_at'
const finished = 'update "mailkeep_newsletter" set "status" = .{1,40}"finished_at"'

interface Point {
  readonly name: string
  /** Undefined: while the server holds its answer to a message. */
  readonly trap?: Pick<Trap, 'matching' | 'when'>
  /** At which of the statements or messages. */
  readonly nth: number
  /** Whether messages are uncertain, and whether the server accepted any of them. Undefined: both may be. */
  readonly uncertain?: 'none' | 'accepted' | 'not accepted'
}

const points: readonly Point[] = [
  { name: 'before a batch of recipients is written', trap: { matching: inserted, when: 'before' }, nth: 2 },
  { name: 'before a batch of recipients is committed', trap: { matching: inserted, when: 'after' }, nth: 2 },
  { name: 'after a batch of recipients is committed', trap: { matching: inserted, when: 'committed' }, nth: 2 },
  { name: 'before a claim', trap: { matching: claimed, when: 'before' }, nth: 1, uncertain: 'none' },
  { name: 'before a claim is committed', trap: { matching: claimed, when: 'after' }, nth: 1, uncertain: 'none' },
  {
    name: 'after a claim is committed',
    trap: { matching: claimed, when: 'committed' },
    nth: 1,
    uncertain: 'not accepted',
  },
  { name: "before the server's 250", nth: 15, uncertain: 'accepted' },
  {
    name: "after the server's 250, before it is recorded",
    trap: { matching: recorded, when: 'before' },
    nth: 1,
    uncertain: 'accepted',
  },
  {
    name: 'before the record is committed',
    trap: { matching: recorded, when: 'after' },
    nth: 15,
    uncertain: 'accepted',
  },
  { name: 'after the record is committed', trap: { matching: recorded, when: 'committed' }, nth: 15 },
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

/** Prepares a kill. Without a trap all processes are killed, because any of them may send the message that is held. */
async function arrange(
  scene: MailScene,
  { trap, nth }: Point,
  dying: Keeper,
  ...others: Keeper[]
): Promise<() => Promise<void>> {
  if (trap) {
    await dying.control.setTrap({ ...trap, nth, does: 'kill' })
    return async () => assert.equal(await dying.gone, 'SIGKILL')
  }
  const held = scene.held()
  scene.order({ holdAt: nth })
  return async () => {
    await held
    await Promise.all([dying, ...others].map((keeper) => keeper.kill()))
  }
}

onKinds(['a SQLite file', 'PostgreSQL'], 'a process that is killed while it sends a newsletter', (kind) => {
  for (const point of points) {
    test(point.name, { timeout }, async (t) => {
      const scene = await setMailScene(t, kind, point.trap?.matching === inserted ? 600 : 60)
      const dying = await scene.spawn()
      const killed = await arrange(scene, point, dying)
      await dying.control.start()
      await scene.send(dying)
      await killed()
      await scene.auditRows()
      const next = await scene.spawn()
      await next.control.start()
      await scene.finish(next)
      const { failed, uncertain, acceptedUncertain } = await scene.audit(t)
      assert.equal(failed, 0)
      if (point.uncertain === 'none') assert.equal(uncertain, 0)
      if (point.uncertain === 'accepted') assert.ok(acceptedUncertain > 0)
      if (point.uncertain === 'not accepted') assert.ok(uncertain > 0 && acceptedUncertain === 0)
    })
  }
})

onKinds(['a SQLite file'], 'a newsletter to many recipients', (kind) => {
  test('reaches each at most once, when its process is killed at every point in turn', { timeout }, async (t) => {
    const scene = await setMailScene(t, kind, manyRecipients)
    for (const [index, point] of points.entries()) {
      const dying = await scene.spawn()
      const killed = await arrange(scene, point, dying)
      await dying.control.start()
      if (index === 0) await scene.send(dying)
      await killed()
      await scene.auditRows()
    }
    const last = await scene.spawn()
    await last.control.start()
    await scene.finish(last)
    await scene.audit(t)
  })
})

onKinds(['PostgreSQL'], 'a newsletter that two processes send', (kind) => {
  test('reaches each at most once, when one of them is killed at every point in turn', { timeout }, async (t) => {
    const scene = await setMailScene(t, kind, manyRecipients)
    const preparing = points.filter(({ trap }) => trap?.matching === inserted)
    const sending = points.filter(({ trap }) => trap?.matching !== inserted && trap?.matching !== finished)
    for (const [index, point] of preparing.entries()) {
      const dying = await scene.spawn()
      const killed = await arrange(scene, point, dying)
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
      const killed = await arrange(scene, point, dying, other)
      await scene.resume(other)
      await killed()
      await scene.auditRows()
      if (point.trap) continue
      other = await scene.spawn()
      await other.control.start()
    }
    await scene.finish(other)
    await scene.audit(t)
  })
})

const faults: readonly { fault: MailFault; uncertain: boolean; timeoutMs?: number }[] = [
  { fault: 'greylist', uncertain: false },
  { fault: 'hang', uncertain: false, timeoutMs: 1000 },
  { fault: 'hang after the message', uncertain: true, timeoutMs: 1000 },
  { fault: 'reset', uncertain: false },
  { fault: 'die before the answer', uncertain: true },
  { fault: '421 after three messages', uncertain: false },
]

onKinds(['a SQLite file'], 'a newsletter to a server that fails', (kind) => {
  for (const { fault, uncertain, timeoutMs } of faults) {
    test(`${fault}: reaches each once, and what is not known is uncertain`, { timeout }, async (t) => {
      const scene = await setMailScene(t, kind, 60)
      if (timeoutMs !== undefined) scene.timeoutMs = timeoutMs
      scene.order({ fault, every: 5 })
      const keeper = await scene.spawn()
      await keeper.control.start()
      await scene.send(keeper)
      await scene.finish(keeper)
      const counts = await scene.audit(t)
      const lost = uncertain ? 12 : 0
      assert.deepEqual(counts, { sent: 60 - lost, failed: 0, uncertain: lost, acceptedUncertain: lost })
      assert.equal(await scene.hasRetried(), !uncertain)
    })
  }
})
