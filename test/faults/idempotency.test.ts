import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setScene } from './scene.ts'

const timeout = 300_000
const keeps = 'insert into "mailkeep_kept_answer"'
const email = 'ada@example.org'

describe('a request with an idempotency key', { timeout, concurrency: 2 }, () => {
  for (const when of ['before', 'after', 'committed'] as const) {
    const done = when === 'committed'
    const what = done
      ? 'once its key is committed: a repeat gets the same answer'
      : `${when} its key is stored: it was not executed`
    test(`in a process killed ${what}`, async (t) => {
      const scene = await setScene(t)
      const keeper = await scene.spawn()
      await keeper.control.setTrap({ matching: keeps, nth: 1, when, does: 'kill' })
      const first = keeper.control.addByKey('k', scene.listId, email)
      await keeper.trapped()
      await assert.rejects(first, /gone/, 'no caller got an answer')
      const found = () => scene.count(`mailkeep_contact where email = '${email}'`)
      const kept = () => scene.count('mailkeep_kept_answer')
      assert.deepEqual([found(), kept()], done ? [1, 1] : [0, 0])
      const next = await scene.spawn()
      const repeat = () => next.control.addByKey('k', scene.listId, email)
      assert.deepEqual(await repeat(), { created: true, replayed: done })
      assert.deepEqual(await repeat(), { created: true, replayed: true })
      assert.deepEqual([found(), kept()], [1, 1])
    })
  }

  test('that is retried because its transaction was lost to a full disk is executed once', async (t) => {
    const scene = await setScene(t)
    const keeper = await scene.spawn()
    await keeper.control.setTrap({ matching: keeps, nth: 1, when: 'after', does: 'full' })
    const add = (key: string) => keeper.control.addByKey(key, scene.listId, `${key}@example.org`)
    const answers = await Promise.all(['a', 'b', 'c'].map(add))
    assert.equal(keeper.triggered, 1)
    for (const answer of answers) assert.deepEqual(answer, { created: true, replayed: false })
    for (const key of ['a', 'b', 'c']) assert.deepEqual(await add(key), { created: true, replayed: true })
    assert.deepEqual([scene.count('mailkeep_kept_answer'), scene.count('mailkeep_kept_answer_contact')], [3, 3])
  })
})
