/** The progress display of long-running commands. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { progressOf } from '../../daemon/commands/newsletter.ts'
import { progressOn } from '../../daemon/progress.ts'

/** Creates an output and a clock that the test moves. */
function openOutput(isTTY: boolean) {
  const output = {
    isTTY,
    columns: 90,
    said: '',
    ms: 0,
    write(text: string) {
      output.said += text
    },
  }
  return output
}

test('on a terminal a bar shows part, count, rate and remaining time, and is removed at the end', () => {
  const output = openOutput(true)
  const progress = progressOn(output, () => output.ms)
  progress.show({ what: 'client', done: 0, total: 2000, unit: 'row' })
  output.ms = 5000
  progress.show({ what: 'people.csv', done: 500, total: 2000, unit: 'row' })
  output.ms = 5010
  progress.show({ what: 'too soon', done: 501, total: 2000, unit: 'row' })
  progress.show({ what: 'verifying', done: 2000, total: 2000, unit: 'row' })
  progress.clear()
  progress.clear()
  assert.deepEqual(output.said.split('\r\x1b[K'), [
    '',
    `[${'.'.repeat(30)}] 0 %, 0 rows: client`,
    `[${'#'.repeat(7)}${'.'.repeat(23)}] 25 %, 500 rows, 100 rows/s, 0:15 left: people.csv`,
    `[${'#'.repeat(30)}] 100 %, 2,000 rows, 399 rows/s: verifying`,
    '',
  ])
})

test('without a terminal a line is printed every ten seconds, and none for shorter work', () => {
  const output = openOutput(false)
  const progress = progressOn(output, () => output.ms)
  for (const ms of [0, 9_999, 10_000, 12_000, 20_000]) {
    output.ms = ms
    progress.show({ what: 'people.csv', done: ms, unit: 'row', part: ms / 40_000 })
  }
  progress.clear()
  assert.equal(
    output.said,
    'mailkeep: people.csv: 25 %, 10,000 rows, 1,000 rows/s, 0:30 left\n' +
      'mailkeep: people.csv: 50 %, 20,000 rows, 1,000 rows/s, 0:20 left\n',
  )
})

test('on a terminal of 80 columns a newsletter says what its daemon needs, whatever its name', () => {
  const output = Object.assign(openOutput(true), { columns: 80 })
  const progress = progressOn(output, () => output.ms)
  const counts = { recipients: 4000, pending: 4000, sent: 0, failed: 0, skipped: 0, uncertain: 0 }
  const name = 'The summer sale, second try'
  progress.show(progressOf({ name, counts }, false))
  output.ms = 5000
  progress.show(progressOf({ name, counts: { ...counts, pending: 3000, sent: 1000 } }, false))
  const [, waiting, sending] = output.said.split('\r\x1b[K')
  assert.match(waiting!, /^0 messages: waits until the daemon sends it: it needs a mail transport: The/)
  assert.match(sending!, /^\[#+\.+\] 25 %, 1,000 messages, 200 messages\/s, 0:15/)
})

test('names cannot inject terminal control sequences', () => {
  for (const isTTY of [true, false]) {
    const output = openOutput(isTTY)
    const progress = progressOn(output, () => output.ms)
    output.ms = 10_000
    progress.show({ what: 'a\u001b]0;b\u0007', done: 1, unit: 'message' })
    assert.ok(output.said.includes('a?]0;b?'), JSON.stringify(output.said))
  }
})

test('names keep the joiners of emoji and of Persian and Hindi words', () => {
  const output = openOutput(false)
  const progress = progressOn(output, () => output.ms)
  output.ms = 10_000
  const name = '👩\u200d💻 می\u200cخواهم क्\u200dष'
  progress.show({ what: name, done: 1, unit: 'message' })
  assert.ok(output.said.includes(name), JSON.stringify(output.said))
})

test('with an unknown total, only the count and the rate are shown', () => {
  const output = openOutput(false)
  const progress = progressOn(output, () => output.ms)
  output.ms = 10_000
  progress.show({ what: 'standard input', done: 1, unit: 'row' })
  assert.equal(output.said, 'mailkeep: standard input: 1 row, 0 rows/s\n')
})
