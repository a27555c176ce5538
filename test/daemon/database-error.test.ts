import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseError } from '../../daemon/database-error.ts'

test('an error that an aborted request caused is no error of the database: the code of a DOMException is a number', () => {
  const cause = new DOMException('This operation was aborted', 'AbortError')
  const error = new Error('The request failed.', { cause })
  for (const each of [cause, error]) assert.equal(databaseError(each, { database: 'mailkeep.db' }), each)
})
