/** `serve --processes N` when some of the processes crash. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openReceiver } from '../support/http-receiver.ts'
import { until } from '../support/webhook-harness.ts'
import { answeredTags, ask, children, figure, metricsOf, startTwo, stored, untilBothAnswer } from './process-group.ts'

describe('several processes', { concurrency: 2 }, () => {
  test('are started again when they crash, and lose nothing', async (t) => {
    const { url, said, child, cwd, stop } = await startTwo(t)
    const receiver = await openReceiver()
    t.after(() => receiver.close())
    const hook = { url: receiver.url(), events: ['newsletter.sent'] }
    assert.equal((await ask(url, 'POST', '/api/v1/webhook-endpoints', hook)).status, 201)
    await untilBothAnswer({ url, said })
    const countedBefore = figure(await metricsOf(url), answeredTags)
    let raised = 0
    for (let round = 0; round < 2; round++) {
      const [killed] = children(child.pid!) // the older one
      process.kill(killed!, 'SIGKILL')
      for (let n = 0; n < 20; n++) {
        const answer = await ask(url, 'POST', '/api/v1/events', { type: 'newsletter.sent', data: {} }).catch(
          () => undefined,
        )
        if (answer?.status === 202) raised += 1
      }
      await until('it is started again', () => {
        return said.err.split('"a process ended unexpectedly').length === round + 2 || undefined
      })
      await untilBothAnswer({ url, said })
    }
    assert.ok(raised > 0)
    await until('all are delivered', () => receiver.received.length >= stored(cwd, 'mailkeep_delivery') || undefined)
    assert.ok(stored(cwd, 'mailkeep_delivery') >= raised)
    assert.ok(figure(await metricsOf(url), answeredTags) > countedBefore, 'counters do not decrease')
    assert.deepEqual(await stop(), [0, null])
  })

  test('create no new database when theirs is gone, and continue when it is back', async (t) => {
    const { url, said, child, cwd, stop } = await startTwo(t)
    await untilBothAnswer({ url, said })
    const [file, aside] = [join(cwd, 'mailkeep.db'), join(cwd, 'aside.db')]
    await rename(file, aside)
    for (const pid of children(child.pid!)) process.kill(pid, 'SIGKILL')
    await until('both have failed to start', () => said.err.split('There is no database at').length > 2 || undefined)
    assert.equal(existsSync(file), false)
    await rename(aside, file)
    await untilBothAnswer({ url, said })
    assert.deepEqual(await stop(), [0, null])
  })

  test('leave no connection open that was passed to a process which crashed', async (t) => {
    const { url, said, child } = await startTwo(t)
    await untilBothAnswer({ url, said })
    const [stopped] = children(child.pid!)
    process.kill(stopped!, 'SIGSTOP')
    let waiting = 8
    const failed: string[] = []
    const asked = Array.from({ length: waiting }, async () => {
      await ask(url, 'GET', '/healthz').catch(({ message }: Error) => failed.push(message))
      waiting -= 1
    })
    await until('only that process has not answered', () => waiting <= 1 || undefined)
    process.kill(stopped!, 'SIGKILL')
    await Promise.all(asked)
    assert.deepEqual(
      failed.filter((message) => /was not answered/.test(message)),
      [],
    )
  })

  test('keep their port when all of them crash at once', async (t) => {
    const { url, said, child } = await startTwo(t)
    await untilBothAnswer({ url, said })
    for (const id of children(child.pid!)) process.kill(id, 'SIGKILL')
    await untilBothAnswer({ url, said })
  })
})
