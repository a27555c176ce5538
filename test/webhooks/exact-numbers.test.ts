/** Numbers in event data: receivers get exactly the values that the sender gave, or the event is refused. */
import assert from 'node:assert/strict'
import { describe, type TestContext } from 'node:test'
import { isMailkeepError } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'
import { open } from '../support/webhook-harness.ts'

const inexact: [json: string, path: string][] = [
  ['{"id":9007199254740993}', 'data.id'],
  ['{"id":12345678901234567890}', 'data.id'],
  ['{"id":-9223372036854775807}', 'data.id'],
  ['{"a":[1,{"b c":[2,1e400]}]}', 'data.a.1.b c.1'],
  ['{"a":-1e400}', 'data.a'],
  ['{"a":1e-400}', 'data.a'],
  ['{"a":0.1234567890123456789}', 'data.a'],
  ['{"a":"x","b":["y",{}],"c":{"d":{}},"e\\"\\u0041":9007199254740993}', 'data.e"A'],
  ['{"a":"12345678901234567890","b":{"c":9007199254740993}}', 'data.b.c'],
  ['{"__proto__":9007199254740993}', 'data.__proto__'],
]

const exact = [
  '1.0',
  '1e2',
  '1E+2',
  '100e-2',
  '0.1',
  '0.10000',
  '-0',
  '-0.0e5',
  '0e999999999',
  '9007199254740991',
  '9007199254740992',
  '-9007199254740991.0',
  '1e21',
  '123456789012345680000',
  '1e308',
  '5e-324',
  '0.30000000000000004',
  '1.7976931348623157e308',
  '"12345678901234567890 1e400"',
  '{"1e400 \\" 9007199254740993":1}',
]

overHttp('a number in event data', (openService) => {
  const raise = async (t: TestContext) => {
    const { call } = await openService(t)
    return (data: string) =>
      call('POST', '/events', {
        headers: { 'content-type': 'application/json' },
        raw: `{"type":"newsletter.sent","data":${data}}`,
      })
  }

  test('that JSON cannot represent exactly is refused, with its path', async (t) => {
    const send = await raise(t)
    for (const [json, path] of inexact) {
      const { status, body } = await send(json)
      assert.equal(status, 422, json)
      assert.equal(body.code, 'validation_failed')
      assert.deepEqual(Object.keys(body.errors), [path], json)
    }
  })

  test('is accepted in any notation of a value that JSON can represent', async (t) => {
    const send = await raise(t)
    for (const json of exact) assert.equal((await send(`{"a":[${json}]}`)).status, 202, json)
  })
})

describe('a number in event data, in the library', () => {
  test('that JSON cannot represent is refused, with its path', async (t) => {
    const { acme } = await open(t)
    const cases: [object, string][] = [
      [{ id: 9007199254740993n }, 'data.id'],
      [{ a: [1, { b: Number.NaN }] }, 'data.a.1.b'],
      [{ a: Number.POSITIVE_INFINITY }, 'data.a'],
      [{ a: { toJSON: () => ({ b: Number.NEGATIVE_INFINITY }) } }, 'data.a.b'],
      [{ a: Number.NaN, text: 'x'.repeat(70_000) }, 'data'], // too large an event is refused before it is searched
    ]
    for (const [data, path] of cases) {
      const isRefused = (error: unknown) =>
        isMailkeepError(error, 'validation_failed') && Object.keys(error.errors!).join() === path
      await assert.rejects(acme.events.raise({ type: 'newsletter.sent', data }), isRefused, path)
    }
    await acme.events.raise({ type: 'newsletter.sent', data: { a: 2 ** 60, b: -0, c: 1e308 } })
  })
})
