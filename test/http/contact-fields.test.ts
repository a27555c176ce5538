/** The fields of a contact and their rules. A refused request stores nothing. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from '../support/databases.ts'
import { type Open, overHttp } from '../support/harness.ts'
import { type Answer, assertInvalid } from '../support/http-call.ts'
import { badNames, eventTypes } from '../support/http-shapes.ts'

/** Opens a service with one contact on a list, and an inactive endpoint for every event. */
async function openContact(open: Open, t: TestContext) {
  const service = await open(t)
  const { call, client, data } = service
  const list = await data(201, 'POST', '/lists', { body: { name: 'list' } })
  const kept = { email: 'kept@example.org', name: 'Kept', tags: ['kept'], kept: 'yes' }
  const { id } = await data(201, 'POST', `/lists/${list.id}/contacts`, { body: kept })
  const endpoint = await client.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: eventTypes })
  await client.webhooks.updateEndpoint(endpoint.id, { active: false })
  const post = (body: object) => call('POST', `/lists/${list.id}/contacts`, { body })
  const put = (body: object) => call('PUT', `/contacts/${id}`, { body })
  const stored = async () => [
    await data(200, 'GET', '/contacts', { query: { include_unsubscribed: 1 } }),
    await data(200, 'GET', '/tags'),
    await data(200, 'GET', `/webhook-endpoints/${endpoint.id}/deliveries`),
  ]
  return { ...service, list, id, post, put, stored }
}

const attributesOf = ({ body }: Answer) => Object.entries(body.data.extra_attributes)

/** Creates an own property, even if the name is one of Object.prototype's. */
const field = (name: string, value: unknown = 'x') => Object.fromEntries([[name, value]])

const label = (letter: string, length = 63) => letter.repeat(length)
const longest = `${label('l', 64)}@${label('a')}.${label('b')}.${label('c', 61)}`

const goodEmails = [
  'a@b.co',
  longest,
  'Ann.Lee+tag@example.org',
  "o'brien!#$%&*/=?^_`{|}~-@example.org",
  'ünal@müller.example',
  'почта@пример.рф',
  'a@xn--mller-kva.example',
  'a@1-2.example.museum',
]

const badEmails: Readonly<Record<string, unknown>> = {
  empty: '',
  'only white space': '  ',
  null: null,
  'a number': 7,
  'an array': ['a@example.org'],
  'an object': { address: 'a@example.org' },
  '255 characters': longest.replace('.c', '.cc'),
  '100,000 characters': `${'a'.repeat(100_000)}@example.org`,
  'no at sign': 'example.org',
  'nothing before it': '@example.org',
  'nothing after it': 'a@',
  'two at signs': 'a@b@example.org',
  'white space within': 'a b@example.org',
  'white space in the domain': 'a@exam ple.org',
  'two dots': 'a@example..org',
  'a name with it': 'Ann <a@example.org>',
  'a list of them': 'a@example.org,b@example.org',
  'a line break': 'a@example.org\nBcc: b@example.org',
  'a carriage return': 'a\r@example.org',
  'a control character': 'a\u0001b@example.org',
  DEL: 'a\u007f@example.org',
  'a C1 control character': 'a\u0085b@example.org',
  'a NUL': 'a\0@example.org',
  'an encoded word': '=?utf-8?Q?eve=40example.net=0D=0A?=@example.org',
  'an encoded word within it': 'a=?utf-8?b?DQo=?=b@example.org',
  'half a surrogate pair': 'a\ud800@example.org',
}

overHttp('the fields of a contact', (open) => {
  test('valid e-mail addresses are accepted', async (t) => {
    const { post } = await openContact(open, t)
    for (const email of goodEmails) {
      const { status, body, what } = await post({ email: `\t${email} ` })
      assert.deepEqual([status, body.data?.email], [201, email], what)
    }
  })

  test('invalid e-mail addresses are refused', async (t) => {
    const { post, stored } = await openContact(open, t)
    const before = await stored()
    for (const email of Object.values(badEmails)) {
      assertInvalid(await post({ email, name: 'x', tags: ['stray'], city: 'x' }), 'email')
    }
    assertInvalid(await post({ name: 'x', tags: ['stray'] }), 'email')
    assert.deepEqual(await stored(), before)
  })

  const badFullNames = Object.entries(badNames).filter(([what]) => !/empty|white space/.test(what))
  test('invalid names and tags are refused', async (t) => {
    const { post, put, stored } = await openContact(open, t)
    const before = await stored()
    const calls = [put, (body: object) => post({ email: 'new@example.org', ...body })]
    for (const call of calls) {
      for (const [, name] of badFullNames) assertInvalid(await call({ name, tags: ['stray'], city: 'x' }), 'name')
      for (const name of Object.values(badNames)) {
        assertInvalid(await call({ tags: [name, 'stray'] }), 'tags.0')
        assertInvalid(await call({ tags: ['stray', 'other', name], city: 'x' }), 'tags.2')
      }
      for (const tags of ['stray', null, 7, true, { 0: 'stray' }]) assertInvalid(await call({ tags }), 'tags')
      assertInvalid(await call({ name: 7, tags: ['', 'stray', []], x: 1 }), 'name', 'tags.0', 'tags.2', 'x')
    }
    assertInvalid(await post({ email: 'x', name: null, tags: null, x: [] }), 'email', 'name', 'tags', 'x')
    assert.deepEqual(await stored(), before)
  })

  test('names and tags up to 255 characters are accepted', async (t) => {
    const { post, put } = await openContact(open, t)
    for (const letter of ['a', 'é', '😀']) {
      const name = letter.repeat(255)
      const answers = [
        await post({ email: 'new@example.org', name, tags: [name] }),
        await put({ name, tags: [` ${name} `] }),
      ]
      for (const { body, what } of answers) {
        assert.equal(body.data?.name, name, what)
        assert.ok(
          body.data.tags.some((tag: { name: string }) => tag.name === name),
          what,
        )
      }
    }
  })

  test('attributes are strings', async (t) => {
    const { post, put, stored } = await openContact(open, t)
    const before = await stored()
    const wrong = [
      7,
      0,
      true,
      false,
      [],
      ['a'],
      {},
      { a: 'b' },
      'a\0b',
      '\udc00',
      'x'.repeat(10_001),
      '😀'.repeat(10_001),
    ]
    for (const call of [put, (body: object) => post({ email: 'new@example.org', ...body })]) {
      for (const value of wrong) assertInvalid(await call({ ok: 'x', city: value, tags: ['stray'] }), 'city')
      for (const key of ['a'.repeat(256), '😀'.repeat(256), 'a\0b', 'a\ud800'])
        assert.equal((await call(field(key))).status, 422)
      assertInvalid(await call({ a: 1, b: '', c: null, d: [] }), 'a', 'd')
    }
    assert.deepEqual(await stored(), before)
  })

  test('an error says how attributes are sent to a caller that sends extra_attributes', async (t) => {
    const { post, put } = await openContact(open, t)
    for (const call of [put, (body: object) => post({ email: 'new@example.org', ...body })]) {
      const answer = await call({ extra_attributes: { city: 'Bonn' } })
      assertInvalid(answer, 'extra_attributes')
      assert.match(
        answer.body.message,
        /^extra_attributes must be a string\. Give each attribute as a field of its own/,
      )
    }
  })

  const longestPieces = ['x', '😀'].map((letter) => field(letter.repeat(255), letter.repeat(10_000)))
  test('attribute names of 255 and values of 10,000 characters are stored', async (t) => {
    const { post, put } = await openContact(open, t)
    for (const attributes of longestPieces) {
      const answers = [
        await post({ email: 'new@example.org', ...attributes }),
        await put({ kept: null, ...attributes }),
      ]
      const [name, value] = Object.entries(attributes)[0]!
      for (const answer of answers) assert.equal(answer.body.data?.extra_attributes[name], value, answer.what)
    }
  })

  test('a contact has at most 100 attributes, counted after merging', async (t) => {
    const { post, put, stored } = await openContact(open, t)
    const some = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'x']))
    const before = await stored()
    assert.equal((await post({ email: 'new@example.org', tags: ['stray'], ...some(101) })).status, 422)
    assert.equal((await put({ name: 'Changed', tags: ['stray'], ...some(100) })).status, 422)
    assert.deepEqual(await stored(), before)
    const full = await post({ email: 'new@example.org', ...some(100) })
    assert.deepEqual([full.status, attributesOf(full).length], [201, 100])
    assert.equal((await post({ email: 'new@example.org', name: 'Changed', tags: ['stray'], another: 'x' })).status, 422)
    assert.equal(attributesOf(await post({ email: 'new@example.org', k0: 'y' })).length, 100)
    const swapped = await post({ email: 'new@example.org', k0: null, another: 'x' })
    assert.deepEqual([swapped.status, attributesOf(swapped).length, swapped.body.data.name], [200, 100, ''])
    assert.equal((await put(some(99))).status, 200)
  })

  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']
  const more = [
    '',
    ' ',
    '0',
    '-1',
    'id',
    'uuid',
    'lists',
    'topics',
    'extra_attributes',
    'unsubscribed_at',
    'Email',
    'a.b',
    'a[b]',
    '"',
    "'",
    '\\',
    '$',
    'ключ',
    '😀',
    'then',
    'toJSON',
  ]
  test('any other name is an attribute like any other', async (t) => {
    const { data, id, post, put } = await openContact(open, t)
    await put({ kept: null })
    for (const name of [...names, ...more]) {
      assert.deepEqual(attributesOf(await put(field(name, 'one'))), [[name, 'one']], name)
      assert.deepEqual(attributesOf(await put(field(name, 'two'))), [[name, 'two']], name)
      assert.deepEqual(Object.entries((await data(200, 'GET', `/contacts/${id}`)).extra_attributes), [[name, 'two']])
      const [listed] = await data(200, 'GET', '/contacts')
      assert.deepEqual(Object.entries(listed.extra_attributes), [[name, 'two']])
      assertInvalid(await put(field(name, 7)), name)
      assert.deepEqual(attributesOf(await put(field(name, null))), [], name)
    }
    const all = Object.fromEntries([...names, ...more].map((name) => [name, `of ${name}`]))
    const sent = Object.entries(all).sort()
    assert.deepEqual(attributesOf(await post({ email: 'new@example.org', ...all })).sort(), sent)
    assert.deepEqual(attributesOf(await post({ email: 'new@example.org' })).sort(), sent)
  })

  test('a name with an escape is not taken for the name of another contact', async (t) => {
    const { call, data, list } = await openContact(open, t)
    const bodyOf = (email: string, name: string) => `{"email":"${email}","escape":"x","${name}":"x"}`
    const save = (raw: string) => call('POST', '/contacts', { raw, headers: { 'content-type': 'application/json' } })
    await save(bodyOf('a@example.org', '\\\\'))
    // The text, because the parser of this process has the bug of V8 that the API must not have.
    const text = async (answer: Promise<Answer>) => (await answer).text.replaceAll(' ', '')
    assert.match(await text(save(bodyOf('b@example.org', '\\u00e9'))), /"escape":"x","é":"x"/)
    assert.match(await text(save(bodyOf('c@example.org', '\\n'))), /"escape":"x","\\n":"x"/)
    assert.match(await text(save('{"email":"c@example.org","escape":"y"}')), /"escape":"y","\\n":"x"/)
    const lines = [bodyOf('d@example.org', '\\\\'), bodyOf('e@example.org', '\\n')].join('\n')
    const headers = { 'content-type': 'application/x-ndjson' }
    await data(200, 'POST', `/lists/${list.id}/contacts/import`, { raw: lines, headers })
    assert.match(await text(call('GET', '/contacts', { query: { email: 'e@example.org' } })), /"escape":"x","\\n":"x"/)
  })

  test('of an attribute that is given several times, the last value counts, with and without escapes', async (t) => {
    const { call } = await openContact(open, t)
    for (const name of ['a', '\\u0061']) {
      const raw = `{"email":"a@example.org","a":"1","${name}":"2","a":"3"}`
      const { text } = await call('POST', '/contacts', { raw, headers: { 'content-type': 'application/json' } })
      assert.match(text, /"a": ?"3"/)
    }
  })

  test('the contact’s own fields are never attributes', async (t) => {
    const { post, put } = await openContact(open, t)
    const created = await post({ email: 'new@example.org', name: 'New', tags: ['a'] })
    assert.deepEqual(attributesOf(created), [])
    assert.deepEqual(attributesOf(await put({ name: 'New', tags: ['a'], kept: null })), [])
  })

  test('values are stored exactly as sent', async (t) => {
    const { put } = await openContact(open, t)
    await put({ kept: null })
    for (const value of [
      '',
      ' a ',
      '\r\n\t',
      'cafe\u0301',
      '\u001f',
      '"\'\\',
      '{"a":1}',
      'null',
      '7',
      '\ufeffx',
      '\u2028',
      '😀',
    ]) {
      assert.deepEqual(attributesOf(await put({ value, name: value })), [['value', value]])
      assert.equal((await put({})).body.data.name, value)
    }
  })

  test('a request refused for another reason stores nothing either', async (t) => {
    const { call, id, list, stored } = await openContact(open, t)
    const before = await stored()
    const body = { name: 'Stray', tags: ['stray'], stray: 'x' }
    const refused = [
      [404, 'POST', `/lists/${list.id + 1}/contacts`, { ...body, email: 'new@example.org' }],
      [404, 'POST', `/lists/${list.id + 1}/contacts`, { ...body, email: 'kept@example.org' }],
      [404, 'PUT', `/contacts/${id + 1}`, body],
      [422, 'POST', `/contacts/${id}/unsubscribe`, { by_contact: true }],
      [422, 'POST', `/contacts/${id}/resubscribe`, { any: 'thing' }],
      [404, 'DELETE', `/lists/${list.id + 1}/contacts/${id}`, undefined],
      [404, 'DELETE', `/lists/${list.id}/contacts/${id + 1}`, undefined],
    ] as const
    for (const [status, method, path, sent] of refused) {
      const answer = await call(method, path, { body: sent })
      assert.equal(answer.status, status, answer.what)
    }
    assert.deepEqual(await stored(), before)
  })
})
