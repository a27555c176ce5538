/** Imports and exports over HTTP. The rules for rows are in transfer.test. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { TestContext } from 'node:test'
import { test } from '../support/databases.ts'
import { type Open, overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertShape, contact } from '../support/http-shapes.ts'

const csv = { 'content-type': 'text/csv' }
const ndjson = { 'content-type': 'application/x-ndjson' }

async function openList(open: Open, t: TestContext) {
  const service = await open(t)
  const list = await service.data(201, 'POST', '/lists', { body: { name: 'News' } })
  const path = `/lists/${list.id}/contacts/import`
  return { ...service, list, path }
}

type Opened = Awaited<ReturnType<typeof openList>>

/** A request whose body the test writes piece by piece. */
function upload({ url, admin, path }: Opened, headers: Record<string, string>, agent?: Agent) {
  const authorization = `Bearer ${admin}`
  const options = { method: 'POST', headers: { authorization, ...headers }, ...(agent && { agent }) }
  return request(`${url}/api/v1${path}`, options)
}

async function bodyOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

overHttp('imports over HTTP', (open) => {
  test('answer 200 with counts and the refused rows', async (t) => {
    const { data, path, list } = await openList(open, t)
    const raw = 'email,name,tags,company\r\nada@example.org,Ada,vip;beta,Engines\r\nnobody,,,\r\n'
    assert.deepEqual(await data(200, 'POST', path, { raw, headers: csv }), {
      total: 2,
      created: 1,
      updated: 0,
      refused: 1,
      refused_rows: [{ line: 3, errors: { email: ['This must be an e-mail address.'] } }],
    })
    const again = '{"email":"ADA@example.org","tags":["new"]}'
    const report = await data(200, 'POST', path, { raw: again, headers: ndjson })
    assert.deepEqual(report, { total: 1, created: 0, updated: 1, refused: 0, refused_rows: [] })
    const [ada] = await data(200, 'GET', '/contacts')
    assert.deepEqual([ada.name, ada.extra_attributes, ada.lists], ['Ada', { company: 'Engines' }, [list]])
    assert.deepEqual(ada.tags.map(({ name }: { name: string }) => name).sort(), ['beta', 'new', 'vip'])
  })

  test('accept files of any length and at any speed, and members’ tokens', async (t) => {
    const opened = await openList(open, t)
    const line = (n: number) => `${JSON.stringify({ email: `p${n}@example.org`, note: 'x'.repeat(900) })}\n`
    const rows = 3000
    const req = upload(opened, { ...ndjson, authorization: `Bearer ${opened.member}`, expect: '100-continue' })
    req.flushHeaders()
    await once(req, 'continue')
    for (let n = 0; n < rows; n++) if (!req.write(line(n))) await once(req, 'drain')
    req.end()
    const [res] = await once(req, 'response')
    const { data } = JSON.parse(await bodyOf(res))
    assert.deepEqual([res.statusCode, data.created], [200, rows])
    assert.equal(await opened.client.contacts.count(), rows)
  })

  test('keep saved rows when the client disconnects, and serve the next request', async (t) => {
    const opened = await openList(open, t)
    const req = upload(opened, ndjson)
    req.on('error', () => {})
    const rows = Array.from({ length: 1500 }, (_, n) => `{"email":"p${n}@example.org"}\n`)
    req.write(rows.join(''))
    while ((await opened.client.contacts.count()) < 1000) await new Promise((resolve) => setTimeout(resolve, 5))
    req.destroy()
    const report = await opened.data(200, 'POST', opened.path, { raw: rows.join(''), headers: ndjson })
    assert.deepEqual([report.total, report.created + report.updated, report.refused], [1500, 1500, 0])
    assert.equal(await opened.client.contacts.count(), 1500)
  })

  test('refuse files that they cannot read, and the connection stays usable', async (t) => {
    const opened = await openList(open, t)
    const { call, path } = opened
    const status = async (raw: string, headers: Record<string, string>, at = path) => {
      const answer = await call('POST', at, { raw, headers })
      return [answer.status, answer.body.code]
    }
    const refused = [415, 'unsupported_media_type']
    assert.deepEqual(await status('{}', {}), refused)
    assert.deepEqual(await status('{}', { 'content-type': 'application/json' }), refused)
    assert.deepEqual(await status('email\n', { 'content-type': 'text/csv; charset=latin1' }), refused)
    assert.deepEqual(await status('email\n', { ...csv, 'content-encoding': 'gzip' }), refused)
    assert.deepEqual(await status('email\n"a', csv), [400, 'invalid_json'])
    assert.deepEqual(await status('email\n', csv, '/lists/999/contacts/import'), [404, 'not_found'])
    assertInvalid(await call('POST', path, { raw: 'name\nx\n', headers: csv }), 'body')
    // Most of the body is still in transit when the error is found.
    const long = `email\n"a"b\n${'x'.repeat(3 * 2 ** 20)}`
    assert.deepEqual(await status(long, csv), [400, 'invalid_json'])
    assert.equal((await call('POST', path)).status, 200)
    assert.deepEqual((await call('POST', path, { raw: '', headers: csv })).body.data.total, 0)
    const charset = { 'content-type': 'Text/CSV; header=present; charset="UTF-8"' }
    assert.deepEqual((await call('POST', path, { raw: 'email\n', headers: charset })).status, 200)
    assert.equal((await call('GET', path)).status, 405)
    for (const [body, status] of [
      ['', 200],
      ['{}', 415],
    ] as const) {
      const [res] = await once(upload(opened, { 'transfer-encoding': 'chunked' }).end(body), 'response')
      assert.equal(res.statusCode, status, body)
      await bodyOf(res)
    }
  })

  test('answered before their end leave the connection usable', async (t) => {
    const opened = await openList(open, t)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    // A body in one piece would have been read already.
    const rest = 'x'.repeat(300_000)
    const body = `email\n"a"b\n${rest}`
    for (const type of [csv, { 'content-type': 'text/csv', 'transfer-encoding': 'chunked' }]) {
      const length = 'transfer-encoding' in type ? {} : { 'content-length': String(body.length) }
      const req = upload(opened, { ...type, ...length }, agent)
      req.write(body.slice(0, 20))
      const answered = once(req, 'response')
      setImmediate(() => req.end(body.slice(20)))
      const [res] = await answered
      assert.equal(res.statusCode, 400)
      await bodyOf(res)
      const next = request(`${opened.url}/api/v1/tags`, { agent, headers: { authorization: `Bearer ${opened.admin}` } })
      const [second] = await once(next.end(), 'response')
      assert.equal(second.statusCode, 200)
      await bodyOf(second)
    }
  })
})

overHttp('exports over HTTP', (open) => {
  test('return the listing as NDJSON, or as CSV on request', async (t) => {
    const { call, data, path } = await openList(open, t)
    const raw = Array.from({ length: 250 }, (_, n) => `{"email":"p${n}@example.org","tags":["t${n % 2}"]}\n`).join('')
    await data(200, 'POST', path, { raw, headers: ndjson })
    const answer = await call('GET', '/contacts/export')
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-type'], 'application/x-ndjson; charset=utf-8')
    assert.equal(answer.headers['content-disposition'], 'attachment; filename="contacts.ndjson"')
    assert.equal(answer.headers['cache-control'], 'no-store')
    const shown = answer.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.equal(shown.length, 250)
    for (const each of shown) assertShape(each, contact)
    assert.deepEqual(shown.slice(0, 100), await data(200, 'GET', '/contacts', { query: 'per_page=100' }))
    const asked: [string, Record<string, string>, string][] = [
      ['format=csv', {}, 'text/csv'],
      ['', { accept: 'text/csv' }, 'text/csv'],
      ['format=ndjson', { accept: 'text/csv' }, 'application/x-ndjson'],
      ['', { accept: 'application/x-ndjson, text/csv;q=0.5' }, 'application/x-ndjson'],
    ]
    for (const [query, headers, type] of asked) {
      const { headers: got, text } = await call('GET', '/contacts/export', { query, headers })
      assert.equal(String(got['content-type']).split(';')[0], type)
      assert.equal(text.trimEnd().split('\n').length, type === 'text/csv' ? 251 : 250)
    }
    const tag = shown[0].tags[0]
    const filtered = await call('GET', '/contacts/export', { query: `tags[]=${tag.id}&search=P1&format=csv` })
    const expected = shown.filter(({ email, tags }) => email.includes('p1') && tags[0].id === tag.id).length
    assert.equal(filtered.text.trimEnd().split('\n').length, expected + 1)
  })

  test('answer errors like any other route, and HEAD without a body', async (t) => {
    const { call, addTenant, data, path } = await openList(open, t)
    await data(200, 'POST', path, { raw: 'email\nada@example.org\n', headers: csv })
    assertInvalid(await call('GET', '/contacts/export', { query: 'format=xml&lists[]=x' }), 'format', 'lists.0')
    assert.equal((await call('GET', '/contacts/export', { token: null })).status, 401)
    const head = await call('HEAD', '/contacts/export', { query: 'format=csv' })
    assert.deepEqual([head.status, head.headers['content-type']], [200, 'text/csv; charset=utf-8; header=present'])
    const other = await addTenant('other')
    assert.equal((await other.call('GET', '/contacts/export')).text, '')
    const theirs = await other.call('POST', path, { raw: 'email\nx@example.org\n', headers: csv })
    assert.equal(theirs.status, 404)
    assert.equal((await call('POST', '/contacts/export')).status, 405)
  })
})
