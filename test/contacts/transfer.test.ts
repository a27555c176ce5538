/** Imports and exports through the library; http-transfer tests them over HTTP. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Chunks, type Format, type ImportReport, isMailkeepError } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { addEndpoint, type Open, onEveryDatabase, openReceiver, until } from '../support/webhook-harness.ts'

async function openWithList(open: Open, t: TestContext) {
  const mk = await open(t)
  const list = await mk.acme.lists.create({ name: 'News' })
  const load = async (format: Format, ...chunks: (string | Uint8Array)[]): Promise<ImportReport> =>
    JSON.parse(JSON.stringify(await mk.acme.contacts.import(list.id, chunks, { format })))
  const dump = async (query: object = {}) => {
    const text = await collect(mk.acme.contacts.export({ format: 'ndjson', ...query }))
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  }
  const emails = async (query?: object) => (await dump(query)).map(({ email }) => email)
  return { ...mk, list, load, dump, emails, contacts: mk.acme.contacts }
}

async function collect(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

const lines = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `${JSON.stringify({ email: `p${from + n}@example.org` })}\n`)

const counts = { total: 0, created: 0, updated: 0, refused: 0, refused_rows: [] }

onEveryDatabase('imports', (open) => {
  test('of NDJSON save each line like addToList, and report the refused ones', async (t) => {
    const { load, dump, contacts, list } = await openWithList(open, t)
    await contacts.addToList(list.id, { email: 'bo@example.org', name: 'Bo', city: 'Bonn' })
    const report = await load(
      'ndjson',
      '\ufeff{"email":"ada@example.org","name":"Ada","tags":["vip"],"company":"Engines"}\r\n',
      '\n  \n{"email":"BO@example.org","city":null,"__proto__":"data"}\n',
      '{"email":"nope"}\n{broken\n"text"\n[]\n',
      new Uint8Array([0x7b, 0xff, 0x7d, 0x0a]),
      '{"email":"last@example.org"}',
    )
    assert.deepEqual(report, {
      total: 8,
      created: 2,
      updated: 1,
      refused: 5,
      refused_rows: [
        { line: 5, errors: { email: ['This must be an e-mail address.'] } },
        { line: 6, errors: { row: ['This line is not JSON.'] } },
        { line: 7, errors: { body: ['This must be an object.'] } },
        { line: 8, errors: { body: ['This must be an object.'] } },
        { line: 9, errors: { row: ['This line is not UTF-8.'] } },
      ],
    })
    const saved = (await dump()).map(({ email, name, tags, extra_attributes, lists }) => {
      return [email, name, tags.map((tag: { name: string }) => tag.name), { ...extra_attributes }, lists.length]
    })
    assert.deepEqual(saved, [
      ['bo@example.org', 'Bo', [], { ['__proto__']: 'data' }, 1],
      ['ada@example.org', 'Ada', ['vip'], { company: 'Engines' }, 1],
      ['last@example.org', '', [], {}, 1],
    ])
  })

  test('of CSV name their columns in the first line, in any order and case', async (t) => {
    const { load, dump } = await openWithList(open, t)
    const report = await load(
      'csv',
      '\ufeffcity, Tags ,EMAIL,Name,note\r\n',
      'Bonn,vip; beta,ada@example.org,"Lovelace, ""Ada""","two\r\nlines"\r\n\r\n',
      ',"[""a;b"",""c""]",bo@example.org,,\n',
      'Rome,x\n,,nope,,\n',
      '"Zürich","news,vip",last@example.org,Zoë,',
    )
    assert.deepEqual(report, {
      total: 5,
      created: 3,
      updated: 0,
      refused: 2,
      refused_rows: [
        { line: 6, errors: { row: ['This row has 2 cells, and the first line has 5 columns.'] } },
        { line: 7, errors: { email: ['This must be an e-mail address.'] } },
      ],
    })
    const saved = (await dump()).map(({ email, name, tags, extra_attributes }) => {
      return [email, name, tags.map((tag: { name: string }) => tag.name).sort(), extra_attributes]
    })
    assert.deepEqual(saved, [
      ['ada@example.org', 'Lovelace, "Ada"', ['beta', 'vip'], { city: 'Bonn', note: 'two\r\nlines' }],
      ['bo@example.org', '', ['a;b', 'c'], {}],
      ['last@example.org', 'Zoë', ['news', 'vip'], { city: 'Zürich' }],
    ])
  })

  test('have the same result wherever the chunks end', async (t) => {
    const { load } = await openWithList(open, t)
    const files: [Format, string][] = [
      ['csv', 'email,name\r\nzoë@example.org,"Zoë ""Z"""\r\nbad,\u{1F600}\r\n'],
      ['ndjson', '{"email":"zoë@example.org"}\r\n{"email":"bad","name":"\u{1F600}"}'],
    ]
    for (const [format, text] of files) {
      const bytes = Buffer.from(text)
      for (let size = 1; size < 6; size++) {
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
          bytes.subarray(n * size, (n + 1) * size),
        )
        const report = await load(format, ...chunks)
        assert.deepEqual([report.total, report.refused_rows.map(({ line }) => line)], [2, [format === 'csv' ? 3 : 2]])
      }
    }
  })

  test('raise an event for each contact that joins, none for members or unsubscribed contacts, and none when repeated', async (t) => {
    const mk = await openWithList(open, t)
    const receiver = await openReceiver(t)
    await addEndpoint(mk, receiver.url(), 'contact.subscribed')
    const other = await mk.acme.lists.create({ name: 'Other' })
    const { contact } = await mk.contacts.addToList(other.id, { email: 'p0@example.org' })
    await mk.contacts.unsubscribe(contact.id)
    await mk.load('ndjson', ...lines(1200))
    const again = await mk.load('ndjson', ...lines(1200))
    assert.deepEqual(again, { ...counts, total: 1200, updated: 1200 })
    await mk.load('ndjson', '{"email":"end@example.org"}')
    const receivedEmails = () => receiver.received.map(({ body }) => JSON.parse(String(body)).data.contact.email)
    await until(
      'the last has arrived',
      () => (receivedEmails().length === 1201 && receivedEmails().includes('end@example.org')) || undefined,
    )
    assert.equal(new Set(receivedEmails()).size, 1201)
    assert.ok((await mk.contacts.get(contact.id)).unsubscribed_at)
  })

  test('keep the time at which a contact has unsubscribed already', async (t) => {
    const { contacts, load } = await openWithList(open, t)
    const { contact } = await contacts.upsert({ email: 'ada@example.org' })
    const { unsubscribed_at } = await contacts.unsubscribe(contact.id)
    await load('csv', 'email,unsubscribed_at\nada@example.org,2020-01-02T03:04:05Z\n')
    assert.equal((await contacts.get(contact.id)).unsubscribed_at, unsubscribed_at)
    const { data } = await contacts.history(contact.id)
    assert.equal(data.filter(({ type }) => type === 'unsubscribed').length, 1)
  })

  test('put a contact on none of the lists of an export if these would be too many', async (t) => {
    const { contacts, acme } = await openWithList(open, t)
    const line = (email: string, from: number, to: number) => {
      const lists = Array.from({ length: to - from }, (_, n) => `list ${from + n}`)
      return `${JSON.stringify({ email, lists, extra_attributes: {} })}\n`
    }
    const [most, many] = ['most@example.org', 'many@example.org']
    const source = [line(most, 0, 500), line(many, 0, 300), line(many, 300, 501)]
    await acme.contacts.import(null, source, { format: 'ndjson' })
    const listsOf = async (email: string) => (await contacts.get({ email })).lists.length
    assert.deepEqual([await listsOf(most), await listsOf(many)], [500, 0])
  })

  test('save the rows before one that cannot be read, and report its position', async (t) => {
    const { load, emails } = await openWithList(open, t)
    const faults: [(string | Uint8Array)[], RegExp][] = [
      [['email,name\na1@example.org,x\na2@example.org,"x" y\n'], /^After line 2 a quote/],
      [['email,name\nb1@example.org,x\n', 'b2@example.org,"x\n'], /^After line 2 a quote/],
      [['email,name\nc1@example.org,x\nc2@example.or', new Uint8Array([0xff, 0xfe])], /^After line 2 it is not UTF-8/],
      [['email,name\nd1@example.org,x\n', `d2@example.org,"${'x'.repeat(2 ** 20)}"`], /^After line 2 a row has more/],
    ]
    for (const [chunks, message] of faults) {
      await assert.rejects(load('csv', ...chunks), (error) => {
        assert.ok(isMailkeepError(error, 'invalid_json'), String(error))
        assert.match(error.message, message)
        assert.match(error.message, /The rows before it were imported\.$/)
        return true
      })
    }
    assert.deepEqual(await emails(), ['a1@example.org', 'b1@example.org', 'c1@example.org', 'd1@example.org'])
  })

  test('say that no row was imported if the first line or the first row cannot be read, or in a dry run', async (t) => {
    const { load, emails, acme, list } = await openWithList(open, t)
    for (const [chunks, message] of [
      [
        ['em"ail,name\na@example.org,x\n'],
        /^The first line cannot be read: a quote is missing or out of place\. No row /,
      ],
      [['{"email":"a@example.org"}\n'], /^The first line cannot be read: it is JSON, not CSV\. Pass format=ndjson /],
      [['"email\n'], /^The first line cannot be read: a quote is missing or out of place\. No row was imported\.$/],
      [[Buffer.from('email,name\na@example.org,Zoë\n', 'latin1')], /^The file cannot be read: it /],
      [['\n\nemail', new Uint8Array([0xff, 0xfe])], /^The file cannot be read: it is not UTF-8\. /],
      [
        ['email,name\n"a@example.org","x"y\n'],
        /^After line 1 a quote is missing or out of place\. No row was imported\.$/,
      ],
    ] as const) {
      await assert.rejects(load('csv', ...chunks), { code: 'invalid_json', message })
    }
    const dry = acme.contacts.import(list.id, ['email\na@example.org\n"x"y\n'], { format: 'csv', dry_run: true })
    await assert.rejects(dry, { message: 'After line 2 a quote is missing or out of place. No row was imported.' })
    assert.deepEqual(await emails(), [])
  })

  test('refuse columns without an e-mail, without a name, or with a repeated name, before saving any row', async (t) => {
    const { load, acme, list, emails } = await openWithList(open, t)
    for (const head of ['name|email', 'name', 'email,', 'email,city,city', 'email,Email']) {
      await assert.rejects(load('csv', `${head}\na@example.org,b,c\n`), (error) => {
        assert.ok(isMailkeepError(error, 'validation_failed'), head)
        return true
      })
    }
    const repeated = /Two columns have the name "Phone"\. Rename one of them, or delete it\./
    await assert.rejects(load('csv', 'Email Address,Phone,First Name,Phone\n'), repeated)
    const level = acme.contacts.import(list.id, ['email,plan,plan\n'], { format: 'csv', map: { level: 'plan' } })
    await assert.rejects(level, /Two columns have the name "plan"/)
    await assert.rejects(load('csv', 'email,,plan\n'), /Column 2 has no name. Found: "email", "", "plan"./)
    const people = ['ada@example.org,Ada\n']
    await assert.rejects(
      acme.contacts.import(list.id, people, { format: 'csv', map: { email: 'E-Mail' } }),
      /The file has no column "E-Mail"\. Found: an e-mail address instead of names\.$/,
    )
    assert.deepEqual(await emails(), [])
    assert.deepEqual([await load('csv'), await load('csv', 'email\n'), await load('ndjson')], [counts, counts, counts])
  })

  test('do not buffer a line that is too long, and save the others', async (t) => {
    const { load } = await openWithList(open, t)
    const long = Array.from({ length: 40 }, () => 'x'.repeat(2 ** 16))
    const allowed = lines(1, 1)[0]!
      .trimEnd()
      .padEnd(2 ** 20)
    const report = await load('ndjson', ...lines(1), ...long, `\n${allowed}\n`)
    assert.deepEqual(
      [report.created, report.refused_rows],
      [2, [{ line: 2, errors: { row: ['A row has at most 1,048,576 bytes.'] } }]],
    )
  })

  test('refuse a cell of more than 500 names, and skip the empty ones', async (t) => {
    const { load, dump } = await openWithList(open, t)
    const report = await load(
      'csv',
      'email,tags\n',
      `ada@example.org,${'a;'.repeat(100_000)}\nbo@example.org,${';'.repeat(1000)}vip\n`,
    )
    assert.deepEqual({ created: report.created, refused: report.refused }, { created: 1, refused: 1 })
    assert.deepEqual(Object.keys(report.refused_rows[0]!.errors), ['tags'])
    assert.deepEqual(
      (await dump())[0].tags.map(({ name }: { name: string }) => name),
      ['vip'],
    )
  })

  test('refuse too many columns, and rows without an end, whatever their cells contain', async (t) => {
    const { load, acme, list, emails } = await openWithList(open, t)
    const columns = Array.from({ length: 200_000 }, (_, n) => n).join(',')
    await assert.rejects(load('csv', `email,${columns}\n`), { code: 'invalid_json' })
    await assert.rejects(load('csv', `email,${columns.slice(0, 100_000)}\n`), { code: 'validation_failed' })
    const commas = ','.repeat(2 ** 20)
    async function* endless() {
      yield Buffer.from('email\nfirst@example.org\n')
      for (let n = 0; n < 20; n++) yield Buffer.from(commas)
      assert.fail('it continued to read')
    }
    const loading = acme.contacts.import(list.id, endless(), { format: 'csv' })
    await assert.rejects(loading, { code: 'invalid_json', message: /^After line 2 a row has more than/ })
    assert.deepEqual(await emails(), ['first@example.org'])
    await assert.rejects(load('csv', commas, ','), { code: 'invalid_json' })
  })

  test('accept a row of an export with empty attributes', async (t) => {
    const { load, dump } = await openWithList(open, t)
    const head =
      'id,uuid,name,email,extra_attributes,unsubscribed_at,unsubscribed_by_contact,tags,lists,topics,created_at'
    const report = await load(
      'csv',
      `${head},plan\n7,u,Ann,ann@x.org,,2026-01-01T00:00:00Z,true,,L,,2026,\n`,
      '8,u,Bob,bob@x.org,,,false,vip,L,,2026,basic\n',
      '9,u,Cid,cid@x.org,"{""city"":""Bonn""}",,false,,L,,2026,\n',
    )
    assert.deepEqual([report.created, report.refused], [3, 0])
    assert.deepEqual(
      (await dump()).map(({ email, extra_attributes }) => [email, extra_attributes]),
      [
        ['bob@x.org', { plan: 'basic' }],
        ['cid@x.org', { city: 'Bonn' }],
      ],
    )
  })

  test('report as many refused rows as fit in a megabyte, and count all', async (t) => {
    const { load } = await openWithList(open, t)
    const { refused, refused_rows } = await load('ndjson', '{}\n'.repeat(30_000), ...lines(1))
    assert.equal(refused, 30_000)
    assert.ok(refused_rows.length > 1000 && refused_rows.length < 30_000)
    assert.ok(JSON.stringify(refused_rows).length < 1.1 * 2 ** 20)
  })

  test('skip blank lines, however many there are', { timeout: 20_000 }, async (t) => {
    const { contacts, list } = await openWithList(open, t)
    const blank = 2 ** 20
    for (const [format, head] of [
      ['ndjson', ''],
      ['csv', 'email\n'],
    ] as const) {
      const row = format === 'csv' ? 'email@example.org' : '{"email":"email@example.org"}'
      for (const end of ['\n', '\r\n']) {
        const source = [`${head}${end.repeat(blank / end.length)}${row}\n${'\n'.repeat(blank)}no row\n`]
        const { total, refused, refused_rows } = await contacts.import(list.id, source, { format })
        assert.deepEqual([total, refused], [2, 1])
        assert.equal(refused_rows[0]!.line, (head ? 1 : 0) + blank / end.length + 1 + blank + 1)
      }
    }
  })

  test('read no faster than they save', async (t) => {
    const { acme, list, contacts } = await openWithList(open, t)
    let ahead = 0
    async function* source() {
      for (let n = 0; n < 8; n++) {
        yield lines(1000, n * 1000).join('')
        ahead = Math.max(ahead, (n + 1) * 1000 - (await contacts.count()))
      }
    }
    assert.equal((await acme.contacts.import(list.id, source(), { format: 'ndjson' })).created, 8000)
    assert.ok(ahead <= 3000, `${ahead} rows were read and not saved`)
    assert.equal(await contacts.count(), 8000)
  })

  test('take few large rows at a time', async (t) => {
    const { contacts, list } = await openWithList(open, t)
    const line = `${JSON.stringify({ email: 'ada@example.org', motto: 'x'.repeat(900_000) })}\n`
    const totals: number[] = []
    const onProgress = ({ total }: { readonly total: number }) => totals.push(total)
    await contacts.import(list.id, [line.repeat(6)], { format: 'ndjson', onProgress })
    assert.ok(totals[0]! <= 3 && totals.at(-1) === 6, String(totals))
  })

  test('end at once when a batch fails, even if their source stays silent, or fails later', async (t) => {
    const { acme, list } = await openWithList(open, t)
    let fail = (_: Error) => {}
    async function* source() {
      yield '{"email":"ada@example.org"}\n'
      await acme.lists.delete(list.id)
      await new Promise((_, reject) => {
        fail = reject
      })
    }
    await assert.rejects(acme.contacts.import(list.id, source(), { format: 'ndjson' }), { code: 'not_found' })
    fail(new Error('the disk is gone')) // as an unhandled rejection it would end the process
    await new Promise((resolve) => setImmediate(resolve))
  })

  test('to another client’s list, or in an unknown format, read nothing', async (t) => {
    const { mailkeep, list } = await openWithList(open, t)
    const other = mailkeep.forClient((await mailkeep.clients.create({ name: 'other' })).id)
    const untouched: Chunks = {
      [Symbol.asyncIterator]: () => assert.fail('the source was read'),
    }
    const load = (format: string) => other.contacts.import(list.id, untouched, { format: format as Format })
    await assert.rejects(load('csv'), { code: 'not_found' })
    await assert.rejects(load('xml'), { code: 'validation_failed' })
  })

  test('end when their source fails, and keep the saved rows', async (t) => {
    const { acme, list, emails } = await openWithList(open, t)
    for (const format of ['csv', 'ndjson'] as const) {
      async function* source() {
        yield format === 'csv' ? 'email\ncsv@example.org\ncut@example.or' : '{"email":"ndjson@example.org"}\n{"email"'
        throw new Error('the disk is gone')
      }
      await assert.rejects(acme.contacts.import(list.id, source(), { format }), { message: 'the disk is gone' })
    }
    assert.deepEqual(await emails(), ['csv@example.org', 'ndjson@example.org'])
  })
})

onEveryDatabase('exports', (open) => {
  test('return the same contacts as the listing, with the same filters', async (t) => {
    const { load, contacts, list, dump, emails, acme } = await openWithList(open, t)
    await load('ndjson', ...lines(230))
    const other = await acme.lists.create({ name: 'Other' })
    const { contact } = await contacts.addToList(other.id, { email: 'solo@example.com', tags: ['vip'] })
    await contacts.unsubscribe((await contacts.list()).data[1]!.id)
    const ids = (page: { id: number }[]) => page.map(({ id }) => id)
    const first = (await contacts.list({ per_page: 100 })).data
    assert.deepEqual((await dump()).slice(0, 100), first)
    assert.equal((await dump()).length, 230)
    assert.equal((await dump({ include_unsubscribed: true })).length, 231)
    assert.deepEqual(ids(await dump({ lists: [other.id] })), [contact.id])
    assert.deepEqual(await emails({ search: 'SOLO' }), ['solo@example.com'])
    assert.deepEqual(await emails({ tags: contact.tags[0]!.id, lists: list.id }), [])
    // A file has no pages.
    await assert.rejects(dump({ per_page: 1, cursor: 'x' }), { code: 'validation_failed' })
  })

  test('are refused before their first piece', async (t) => {
    const { contacts } = await openWithList(open, t)
    for (const query of [{ format: 'xml' }, { format: 'csv', lists: 'x' }, {}]) {
      await assert.rejects(contacts.export(query as { format: Format }).next(), { code: 'validation_failed' })
    }
  })

  test('neither miss nor repeat a contact while others come and go', async (t) => {
    const { load, contacts, list } = await openWithList(open, t)
    await load('ndjson', ...lines(300))
    let text = ''
    let deleted = ''
    for await (const piece of contacts.export({ format: 'ndjson' })) {
      if (text === '') {
        const seen = piece
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).id)
        deleted = (await contacts.get(seen.at(-1) + 1)).email
        await contacts.delete(seen.at(-1))
        await contacts.delete(seen.at(-1) + 1)
        await contacts.addToList(list.id, { email: 'new@example.org' })
      }
      text += piece
    }
    const emails = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).email)
    const expected = Array.from({ length: 300 }, (_, n) => `p${n}@example.org`).filter((email) => email !== deleted)
    assert.deepEqual(emails.sort(), [...expected, 'new@example.org'].sort())
  })

  test('without contacts are the header line of a CSV, and empty in NDJSON', async (t) => {
    const { contacts } = await openWithList(open, t)
    const head =
      'id,uuid,name,email,extra_attributes,unsubscribed_at,unsubscribed_by_contact,tags,lists,topics,created_at\r\n'
    assert.equal(await collect(contacts.export({ format: 'csv' })), head)
    assert.equal(await collect(contacts.export({ format: 'ndjson' })), '')
  })
})
