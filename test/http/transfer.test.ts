/** Imports and exports over HTTP. The rules for rows are in transfer.test. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { TestContext } from 'node:test'
import { test } from '../support/databases.ts'
import { needsClock, type Open, overHttp, until } from '../support/harness.ts'
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
    assert.deepEqual(await status('email\n', { ...csv, 'transfer-encoding': 'gzip, chunked' }), refused)
    assert.deepEqual((await status('email\n', { ...csv, 'transfer-encoding': 'chunked' }))[0], 200)
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

overHttp('the progress and the results of imports', (open) => {
  const rows = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => `{"email":"p${from + n}@example.org"}\n`).join('')

  test('are shown row by row while the file is sent, and on another connection', async (t) => {
    const opened = await openList(open, t)
    const { call, data, list } = opened
    const req = upload(opened, { ...ndjson, accept: 'application/x-ndjson', expect: '100-continue' })
    const [continued, responded] = [once(req, 'continue'), once(req, 'response')]
    req.flushHeaders()
    await continued
    const [res] = await responded
    const id = Number(res.headers['x-import-id'])
    assert.deepEqual(
      [res.statusCode, String(res.headers['content-type'])],
      [200, 'application/x-ndjson; charset=utf-8'],
    )
    const before = await data(200, 'GET', `/imports/${id}`)
    assert.deepEqual([before.status, before.rows, before.list_id, before.finished_at], ['running', 0, list.id, null])
    let text = ''
    res.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    req.write(rows(0, 1000))
    const during = await until(
      () => data(200, 'GET', `/imports/${id}`),
      (found) => found.rows === 1000,
    )
    assert.deepEqual([during.status, during.created, during.refused], ['running', 1000, 0])
    await until(
      async () => text.split('\n').length,
      (count) => count === 1001,
    )
    req.end(`${rows(999, 2)}{"email":"no one"}\n`)
    await once(res, 'end')
    const results = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const idOf = async (email: string) => (await data(200, 'GET', '/contacts', { query: `email=${email}` }))[0].id
    assert.deepEqual(results.slice(1000), [
      { line: 1001, status: 'updated', id: await idOf('p999@example.org') },
      { line: 1002, status: 'created', id: await idOf('p1000@example.org') },
      { line: 1003, status: 'refused', errors: { email: ['This must be an e-mail address.'] } },
    ])
    const after = await data(200, 'GET', `/imports/${id}`)
    const { started_at, finished_at, ...counts } = after
    assert.ok(started_at <= finished_at)
    assert.deepEqual(counts, {
      ...{ id, list_id: list.id, dry_run: false, status: 'finished', rows: 1003 },
      ...{ created: 1001, updated: 1, skipped: 0, refused: 1, error: null },
    })
    assert.deepEqual(await data(200, 'GET', '/imports', { token: opened.viewer }), [after])
    const other = await opened.addTenant('other')
    assert.equal((await other.call('GET', `/imports/${id}`)).status, 404)
    assert.equal((await call('GET', '/imports/999')).status, 404)
  })

  test('count as long as their files are sent: one client has at most nine', async (t) => {
    const opened = await openList(open, t)
    const begin = async () => {
      const req = upload(opened, { ...ndjson, accept: 'application/x-ndjson', expect: '100-continue' })
      t.after(() => req.destroy())
      req.on('error', () => {}).flushHeaders()
      const [res] = await once(req, 'response')
      return { req, res }
    }
    const begun = []
    for (let n = 0; n < 9; n++) begun.push(await begin())
    assert.deepEqual(new Set(begun.map(({ res }) => res.statusCode)), new Set([200]))
    assert.equal((await begin()).res.statusCode, 503)
    const { req, res } = begun[0]!
    req.end()
    assert.equal(await bodyOf(res), '')
    await until(
      async () => (await begin()).res.statusCode,
      (status) => status === 200,
    )
  })

  test('are shown and stored a second after a row has come, before the file ends', async (t) => {
    const opened = await openList(open, t)
    for (const [headers, parts] of [
      [csv, ['email\nada@example.org\nbob@', 'example.org\n']], // a row of CSV has come when the next one begins
      [ndjson, ['{"email":"cyd@example.org"}\n{"email":"dan@', 'example.org"}\n']],
    ] as const) {
      const req = upload(opened, { ...headers, accept: 'application/x-ndjson', expect: '100-continue' })
      const [continued, responded] = [once(req, 'continue'), once(req, 'response')]
      req.flushHeaders()
      await continued
      const [res] = await responded
      const results: Record<string, unknown>[] = []
      res.setEncoding('utf8').on('data', (text: string) =>
        results.push(
          ...text
            .trim()
            .split('\n')
            .map((one) => JSON.parse(one)),
        ),
      )
      req.write(parts[0])
      const [first] = await until(
        async () => results,
        ({ length }) => length > 0,
      )
      assert.equal(first!.status, 'created')
      assert.deepEqual((await opened.data(200, 'GET', `/contacts/${first!.id}`)).lists, [opened.list])
      await until(
        () => opened.data(200, 'GET', `/imports/${res.headers['x-import-id']}`),
        (found) => found.status === 'running' && found.created === 1,
      )
      req.end(parts[1])
      await once(res, 'end')
      assert.deepEqual(
        results.map(({ status }) => status),
        ['created', 'created'],
      )
    }
  })

  test('end with the error of the file, and are recorded as failed', async (t) => {
    const { call, data, path } = await openList(open, t)
    const accept = { accept: 'application/x-ndjson' }
    const file = 'email\nada@example.org\n"a"b\n'
    const answer = await call('POST', path, { raw: file, headers: { ...csv, ...accept } })
    const [saved, failed] = answer.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual([answer.status, saved.status, failed.error.code], [200, 'created', 'invalid_json'])
    const id = answer.headers['x-import-id']
    const { status, error, created } = await data(200, 'GET', `/imports/${id}`)
    assert.deepEqual([status, error, created], ['failed', 'invalid_json', 1])
    const headless = await call('POST', path, { raw: 'name\nx\n', headers: csv })
    assert.match(headless.body.errors.body[0], /Found: "name"\. Pass map\[email\]=/)
    const wrong = await call('POST', path, { query: 'mode=x&dry=1', headers: accept })
    assertInvalid(wrong, 'mode', 'dry')
    const missing = await call('POST', '/lists/999/contacts/import', { headers: accept })
    assert.equal(missing.status, 404)
    const [newest] = await data(200, 'GET', '/imports')
    assert.deepEqual([newest.status, newest.error], ['failed', 'validation_failed'])
  })

  test('are shown as failed a minute after their process has died', needsClock, async (t) => {
    const opened = await openList(open, t)
    const { mailkeep, id: clientId } = opened
    // A source that never ends looks like a process that has died: its heartbeats are missing.
    const controller = new AbortController()
    let importId = 0
    const source = new ReadableStream<Uint8Array>() as unknown as AsyncIterable<Uint8Array>
    const running = mailkeep.forClient(clientId).contacts.import(opened.list.id, source, {
      format: 'csv',
      signal: controller.signal,
      onStart: (id) => {
        importId = id
      },
    })
    await until(
      async () => importId,
      (id) => id > 0,
    )
    opened.advance(61_000)
    const { status, error, finished_at } = await opened.data(200, 'GET', `/imports/${importId}`)
    assert.deepEqual([status, error, typeof finished_at], ['failed', 'abandoned', 'string'])
    controller.abort()
    await assert.rejects(running, { name: 'AbortError' })
    const stopped = await opened.data(200, 'GET', `/imports/${importId}`)
    assert.deepEqual([stopped.status, stopped.error], ['failed', 'aborted'])
  })

  test('are deleted after 30 days', needsClock, async (t) => {
    const { mailkeep, call, data, advance } = await open(t, { dispatch: false })
    const { id } = await data(201, 'POST', '/lists', { body: { name: 'News' } })
    const path = `/lists/${id}/contacts/import`
    const { headers } = await call('POST', path, { raw: 'email\nada@example.org\n', headers: csv })
    const find = async () => (await call('GET', `/imports/${headers['x-import-id']}`)).status
    assert.equal(await find(), 200)
    advance(31 * 86_400_000)
    mailkeep.start()
    await until(find, (status) => status === 404)
  })

  test('take map, mode, status and dry_run from the query, and export raw cells', async (t) => {
    const { call, data, path } = await openList(open, t)
    const map = 'map[email]=Kontakt&map%5Bname%5D=Wer'
    const raw = "Kontakt,Wer,note\nada@example.org,Ada,'=1+1\n"
    const dry = await call('POST', path, { raw, headers: csv, query: `${map}&dry_run=true` })
    assert.match(String(dry.headers['x-import-id']), /^\d+$/)
    assert.deepEqual([dry.body.data.dry_run, dry.body.data.created], [true, 1])
    assert.deepEqual(await data(200, 'GET', '/contacts'), [])
    await data(200, 'POST', path, { raw, headers: csv, query: `${map}&status=unsubscribed` })
    const again = await data(200, 'POST', '/contacts/import', { raw, headers: csv, query: `${map}&mode=skip` })
    assert.deepEqual([again.skipped, again.updated], [1, 0])
    const [ada] = await data(200, 'GET', '/contacts', { query: 'include_unsubscribed=1' })
    assert.deepEqual([ada.name, ada.extra_attributes, ada.unsubscribed_at !== null], ['Ada', { note: '=1+1' }, true])
    await data(200, 'POST', path, { raw: 'email,name\n+x@example.org,@home\n', headers: csv })
    const cells = async (query: string) => (await call('GET', '/contacts/export', { query })).text.split('\r\n')[1]!
    assert.match(await cells('format=csv'), /,'@home,'\+x@example\.org,/)
    assert.match(await cells('format=csv&raw=true'), /,@home,\+x@example\.org,/)
  })

  test('take columns for attributes of any name', async (t) => {
    const { data, path } = await openList(open, t)
    const query = 'map[2024]=Spende&map[__proto__]=Art&map[a[b]]=Ort'
    await data(200, 'POST', path, { raw: 'email,Spende,Art,Ort\nada@example.org,10,x,Bonn\n', headers: csv, query })
    const [ada] = await data(200, 'GET', '/contacts')
    const attributes = Object.entries(ada.extra_attributes).sort()
    assert.deepEqual(attributes, [
      ['2024', '10'],
      ['__proto__', 'x'],
      ['a[b]', 'Bonn'],
    ])
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
