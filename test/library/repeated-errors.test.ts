/** The log of work that is retried often. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RepeatedErrors } from '../../lib/repeated-errors.ts'
import { keepLog } from '../support/kept-log.ts'

test('errors with other causes are logged, and a repeated one once, also if it is its own cause', () => {
  const log = keepLog()
  const errors = new RepeatedErrors(log.logger, 'failed')
  const endless = new Error('endless')
  endless.cause = endless
  const away = (cause: string) => new Error('away', { cause: new Error(cause) })
  for (const error of [endless, away('refused'), away('refused'), endless, away('reset')]) errors.add(error)
  assert.deepEqual(
    log.of('error').map(({ fields }) => [String((fields.err as Error).cause), fields.failures]),
    [
      ['Error: endless', 1],
      ['Error: refused', 1],
      ['Error: reset', 3],
    ],
  )
})
