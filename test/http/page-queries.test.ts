/** The query parameters of pages, and `meta.path`. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { openService, overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { idsOf, listings, openListing } from './listings.ts'

for (const [name, listing] of Object.entries(listings)) {
  test(`a page of ${name} has 25 rows by default, and 100 at most`, async (t) => {
    const { call, ids, path } = await openListing(openService, t, listing, 27)
    const first = await call('GET', path)
    assert.deepEqual([idsOf(first), first.body.meta.per_page], [ids.slice(0, 25), 25])
    for (const size of [1, 26, 27, 100]) {
      const answer = await call('GET', path, { query: { per_page: size } })
      assert.deepEqual([idsOf(answer), answer.body.meta.per_page], [ids.slice(0, size), size])
      assert.equal(answer.body.meta.next_cursor === null, size >= 27)
    }
    for (const size of [
      '0',
      '101',
      '-1',
      'abc',
      '1e9',
      '1e1',
      '2.5',
      '0x10',
      '',
      ' ',
      '1 000',
      '99999999999999999999',
      'null',
    ]) {
      assertInvalid(await call('GET', path, { query: { per_page: size } }), 'per_page')
    }
    for (const query of ['per_page[]=x', 'per_page=1&per_page=2', 'per_page[a]=1']) {
      assertInvalid(await call('GET', path, { query }), 'per_page')
    }
  })

  test(`an invalid cursor is refused by ${name}`, async (t) => {
    const { call, page, path } = await openListing(openService, t, listing, 2)
    const ours: string = (await page(1)).body.meta.next_cursor
    assert.match(ours, /^[\w-]+$/, 'base64url')
    const readable = Buffer.from(ours, 'base64url').toString()
    const forged = (text: string) => Buffer.from(text).toString('base64url')
    const cursors = [
      ...['', ' ', '0', '1', 'abc', 'null', '%00', '../..', "' or 1=1 --", '\u00e9', 'x'.repeat(10_000), readable],
      ...[
        `${ours}=`,
        `${ours}==`,
        ` ${ours}`,
        `${ours} `,
        `${ours}A`,
        `${ours}\0`,
        `-${ours}`,
        ours.slice(1),
        ours + ours,
      ],
      ...['x', '\0', '-1', '.5', 'e9', ' ', '99999999999999999'].map((more) => forged(readable + more)),
      ...[
        '{}',
        '{"id":1}',
        '[]',
        '1',
        'next',
        'next:',
        'next:-1',
        'next:x',
        'up:1',
        '__proto__:1',
        'next:9007199254740993',
      ].map(forged),
    ]
    for (const cursor of cursors) assertInvalid(await call('GET', path, { query: { cursor } }), 'cursor')
    for (const query of [`cursor[]=${ours}`, `cursor=${ours}&cursor=${ours}`]) {
      const { status, what } = await call('GET', path, { query })
      assert.equal(status, 422, what)
    }
  })
}

overHttp('pages of filtered contacts', (open) => {
  test('apply the filters of each request, which are not part of the cursor', async (t) => {
    const { call, data } = await open(t)
    const { id } = await data(201, 'POST', '/lists', { body: { name: 'list' } })
    const odd: number[] = []
    const all: number[] = []
    for (let n = 0; n < 9; n++) {
      const body = { email: `c${n}@example.org`, name: n % 2 ? 'Odd' : 'Even', tags: n % 2 ? ['odd'] : [] }
      all.push((await data(201, 'POST', `/lists/${id}/contacts`, { body })).id)
      if (n % 2) odd.push(all.at(-1)!)
    }
    const [tag] = await data(200, 'GET', '/tags')
    for (const filter of [
      `tags[]=${tag.id}`,
      'search=oDD',
      `tags=${tag.id}&search=c&lists=${id}&include_unsubscribed=1`,
    ]) {
      const first = await call('GET', '/contacts', { query: `${filter}&per_page=2` })
      const second = await call('GET', '/contacts', {
        query: `${filter}&per_page=2&cursor=${first.body.meta.next_cursor}`,
      })
      assert.deepEqual([idsOf(first), idsOf(second)], [odd.slice(0, 2), odd.slice(2)])
      assert.equal(second.body.meta.next_cursor, null)
      const back = await call('GET', '/contacts', {
        query: `${filter}&per_page=2&cursor=${second.body.meta.prev_cursor}`,
      })
      assert.deepEqual([idsOf(back), back.body.meta.prev_cursor], [odd.slice(0, 2), null])
      const unfiltered = await call('GET', '/contacts', { query: `cursor=${first.body.meta.next_cursor}` })
      assert.deepEqual(
        idsOf(unfiltered),
        all.filter((each) => each > odd[1]!),
      )
    }
  })
})

test('meta.path is the listing’s URL without its query', async (t) => {
  const { call, url } = await openService(t)
  const path = async (options = {}, at = '/tags') => (await call('GET', at, options)).body.meta.path
  assert.equal(await path({ query: { per_page: 3 } }), `${url}/api/v1/tags`)
  assert.equal(await path({ headers: { host: 'mail.example:8080' } }), 'http://mail.example:8080/api/v1/tags')
  assert.equal(await path({ headers: { host: '[::1]:99' } }), 'http://[::1]:99/api/v1/tags')
  const forwarded = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', forwarded: 'host=evil.example' }
  assert.equal(await path({ headers: forwarded }), `${url}/api/v1/tags`)
})

test('meta.path begins with the public URL if one is set', async (t) => {
  for (const publicUrl of ['https://mail.example', 'https://mail.example/', 'https://mail.example/base']) {
    const { call } = await openService(t, { publicUrl })
    const { body } = await call('GET', '/contacts', { query: { search: 'x' }, headers: { host: 'evil.example' } })
    assert.equal(body.meta.path, `${publicUrl.replace(/\/$/, '')}/api/v1/contacts`)
  }
})
