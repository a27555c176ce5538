/** Files of other products, and what they say of subscriptions. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Format, ImportInput, ImportReport } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { addEndpoint, type Open, onEveryDatabase, openReceiver, until } from '../support/webhook-harness.ts'

async function openWithList(open: Open, t: TestContext) {
  const mk = await open(t)
  const list = await mk.acme.lists.create({ name: 'News' })
  const load = (text: string, options: Partial<ImportInput> = {}): Promise<ImportReport> =>
    mk.acme.contacts.import(list.id, [text], { format: 'csv', ...options })
  const contacts = async () => {
    const all = []
    for await (const contact of mk.acme.contacts.iterate({ include_unsubscribed: true })) all.push(contact)
    return all
  }
  const one = (email: string) => mk.acme.contacts.get({ email })
  return { ...mk, list, load, contacts, one }
}

const namesOf = (records: readonly { name: string }[]) => records.map(({ name }) => name).sort()

onEveryDatabase('files of other products', (open) => {
  test('of Mailchimp need no map: subscribed, unsubscribed and cleaned members', async (t) => {
    const { load, one } = await openWithList(open, t)
    const common = 'MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,LAST_CHANGED,LEID,EUID,NOTES,TAGS'
    const head = `"Email Address","First Name","Last Name",${common}`
    const times = '2,"2020-02-03 04:05:06",1.2.3.4,"2020-02-03 04:06:00","2021-01-01 00:00:00",123,abc,'
    await load(`${head}\nada@example.org,Ada,Lovelace,${times},"""VIP"",""Blog, weekly"""\n`)
    const unsubscribed = `${head},UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,UNSUB_REASON_OTHER`
    await load(`${unsubscribed}\nbo@example.org,Bo,,${times},,"2021-03-04 05:06:07",May,9,NORMAL,\n`)
    await load(
      `${head},CLEAN_TIME,CLEAN_CAMPAIGN_TITLE\ncy@example.org,,Twombly,${times},,"2022-01-02 03:04:05",June\n`,
    )
    const [ada, bo, cy] = [await one('ada@example.org'), await one('bo@example.org'), await one('cy@example.org')]
    assert.deepEqual(
      [ada.name, namesOf(ada.tags), ada.unsubscribed_at],
      ['Ada Lovelace', ['Blog, weekly', 'VIP'], null],
    )
    assert.equal(ada.extra_attributes.OPTIN_TIME, '2020-02-03 04:05:06')
    assert.deepEqual([bo.name, bo.unsubscribed_at], ['Bo', '2021-03-04T05:06:07.000000Z'])
    assert.deepEqual([cy.name, cy.unsubscribed_at], ['Twombly', '2022-01-02T03:04:05.000000Z'])
  })

  test('of Brevo, with semicolons and the blocklist', async (t) => {
    const { load, contacts } = await openWithList(open, t)
    const head = '\ufeffCONTACT ID;EMAIL;LASTNAME;FIRSTNAME;SMS;EMAIL_BLACKLISTED;SMS_BLACKLISTED;ADDED_TIME'
    const report = await load(
      `${head}\r\n1;ada@example.org;Lovelace;Ada;;No;No;12-04-2022 09:30\r\n2;bo@example.org;;Bo;33;Yes;No;12-04-2022 09:30\r\n`,
    )
    assert.deepEqual([report.created, report.refused], [2, 0])
    const shown = (await contacts()).map(({ email, name, unsubscribed_at }) => [email, name, unsubscribed_at !== null])
    assert.deepEqual(shown, [
      ['ada@example.org', 'Ada Lovelace', false],
      ['bo@example.org', 'Bo', true],
    ])
  })

  test('of listmonk, with attributes as JSON and the status', async (t) => {
    const { load, contacts } = await openWithList(open, t)
    await load(
      [
        'uuid,email,name,attributes,status,created_at,updated_at',
        'u1,ada@example.org,Ada,"{""city"": ""Bonn"", ""age"": 36, ""a"": {""b"": [1]}}",enabled,2021-01-02T03:04:05.123456Z,x',
        'u2,bo@example.org,Bo,{},blocklisted,2021-01-02 03:04:05.5 +0200 CEST,x',
      ].join('\n'),
    )
    const shown = (await contacts()).map((each) => [
      each.name,
      each.extra_attributes,
      each.unsubscribed_at !== null,
      each.created_at,
    ])
    assert.deepEqual(shown, [
      ['Ada', { city: 'Bonn', age: '36', a: '{"b":[1]}' }, false, '2021-01-02T03:04:05.123456Z'],
      ['Bo', {}, true, '2021-01-02T01:04:05.500000Z'],
    ])
  })

  test('of files for listmonk, with nothing but address, name and attributes as JSON', async (t) => {
    const { load, contacts } = await openWithList(open, t)
    await load('email,name,attributes\nada@example.org,Ada,"{""city"": ""Bonn""}"\nbo@example.org,,\n')
    await load('email,attributes,plan\ncyd@example.org,green,pro\n') // of another product
    const found = (await contacts()).map(({ extra_attributes }) => extra_attributes)
    assert.deepEqual(found, [{ city: 'Bonn' }, {}, { attributes: 'green', plan: 'pro' }])
  })

  test('of files for listmonk are still known when refused rows are imported again', async (t) => {
    const { load, contacts } = await openWithList(open, t)
    const head = 'email,name,attributes,refused_line,refused_reason'
    await load(`${head}\nada@example.org,Ada,"{""city"": ""Bonn""}",2,email must be an e-mail address.\n`)
    assert.deepEqual((await contacts())[0]!.extra_attributes, { city: 'Bonn' })
  })

  test('of Mailcoach, with tags and both times', async (t) => {
    const { load, contacts } = await openWithList(open, t)
    await load(
      [
        'email,first_name,last_name,tags,subscribed_at,unsubscribed_at,extra_attributes',
        'ada@example.org,Ada,Lovelace,vip;beta,2020-01-01 00:00:00,,"{""city"":""Bonn""}"',
        'bo@example.org,Bo,,,2020-01-01 00:00:00,2021-01-01 00:00:00,',
      ].join('\n'),
    )
    const [ada, bo] = await contacts()
    assert.deepEqual(
      [ada!.name, namesOf(ada!.tags), ada!.extra_attributes.city],
      ['Ada Lovelace', ['beta', 'vip'], 'Bonn'],
    )
    assert.equal(bo!.unsubscribed_at, '2021-01-01T00:00:00.000000Z')
  })

  test('of Mailcoach may have an empty list or null as attributes', async (t) => {
    const { load, contacts } = await openWithList(open, t)
    const file = [
      'email,unsubscribed_at,extra_attributes',
      'ada@example.org,2021-01-01 00:00:00,[]',
      'bo@example.org,2021-01-01 00:00:00,null',
      'cyd@example.org,2021-01-01 00:00:00,"[""a""]"',
    ].join('\n')
    assert.deepEqual((await load(file)).refused_rows, [
      { line: 4, errors: { extra_attributes: ['This must be a JSON object.'] } },
    ])
    const line = { email: 'dan@example.org', unsubscribed_at: '2021-01-01T00:00:00Z', extra_attributes: [] }
    assert.equal((await load(`${JSON.stringify(line)}\n`, { format: 'ndjson' })).created, 1)
    const found = (await contacts()).map(({ unsubscribed_at, extra_attributes }) => [unsubscribed_at, extra_attributes])
    assert.deepEqual(found, Array(3).fill(['2021-01-01T00:00:00.000000Z', {}]))
  })

  test('of Mailcoach refuse those who have not confirmed, and keep the time of the others', async (t) => {
    const { load, one, contacts } = await openWithList(open, t)
    const file = [
      'email,tags,subscribed_at,unsubscribed_at,extra_attributes',
      'ada@example.org,,2020-01-01 00:00:00,,',
      'bo@example.org,,,2021-01-01 00:00:00,',
      'cyd@example.org,,,,',
    ].join('\n')
    const errors = { subscribed_at: ['The person has not confirmed the subscription.'] }
    assert.deepEqual((await load(file)).refused_rows, [{ line: 4, errors }])
    assert.deepEqual((await one('ada@example.org')).extra_attributes, { subscribed_at: '2020-01-01 00:00:00' })
    assert.equal((await load(file, { status: 'unsubscribed' })).refused, 0)
    await load('email,subscribed_at\ndan@example.org,\n') // of another product
    assert.equal((await contacts()).length, 4)
  })

  test('refuse a row by the field that is neither text nor a number, and save the others', async (t) => {
    const { load } = await openWithList(open, t)
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
    const fields = ['unsubscribed_at', 'cleaned_at', 'blocklisted', 'status', 'first_name', 'last_name']
    const map = Object.fromEntries(['email', 'created_at', 'extra_attributes', ...fields].map((name) => [name, name]))
    const row = (n: number, field: string, value: string) => `{"email":"p${n}@example.org","${field}":${value}}\n`
    const values = ['{"toString":1,"valueOf":1}', '["unsubscribed"]', nested(100_000)]
    for (const value of values) {
      const rows = [...fields.map((field, n) => row(n, field, value)), row(7, 'created_at', value)]
      const options = { map, format: 'ndjson', dry_run: true } as const
      const report = await load(rows.join(''), options)
      assert.deepEqual(
        report.refused_rows,
        fields.map((field, n) => ({ line: n + 1, errors: { [field]: ['This must be text or a number.'] } })),
      )
      assert.equal((await load(rows.join(''), { ...options, status: 'unsubscribed' })).refused, 0)
    }
    const deep = row(0, 'extra_attributes', `{"plan":${nested(100_000)}}`)
    const { created, refused_rows } = await load(`${deep}${row(1, 'status', '"enabled"')}`, { map, format: 'ndjson' })
    assert.equal(created, 1)
    const [{ plan: [reason] = [] } = {}] = refused_rows.map(({ errors }) => errors)
    // Node 26 writes it as JSON, which is then too long.
    assert.match(reason!, /^(This is nested too deeply\.|This must have at most 10000 characters\.)$/)
    assert.deepEqual(
      refused_rows.map(({ line, errors }) => [line, { ...errors }]),
      [[1, { plan: [reason] }]],
    )
  })

  test('are mapped: a column by its name without case, spaces and underscores', async (t) => {
    const { load, one } = await openWithList(open, t)
    const map = { email: 'Kontakt', name: 'full_name', tags: 'Groups', plan: 'status' }
    await load('Kontakt\tFull Name\tGroups\tstatus\nada@example.org\tAda\tvip\tgold\n', { map })
    const ada = await one('ada@example.org')
    assert.deepEqual([ada.name, namesOf(ada.tags), ada.extra_attributes], ['Ada', ['vip'], { plan: 'gold' }])
    await load('{"Kontakt":"bo@example.org","Full Name":"Bo"}\n', { map, format: 'ndjson' })
    assert.equal((await one('bo@example.org')).name, 'Bo')
  })

  test('are mapped to attributes of any name', async (t) => {
    const { load, one } = await openWithList(open, t)
    const map = Object.fromEntries(['__proto__', 'constructor', 'prototype'].map((name, at) => [name, `column ${at}`]))
    await load('email,column 0,column 1,column 2\nada@example.org,a,b,c\n', { map })
    assert.deepEqual(Object.entries((await one('ada@example.org')).extra_attributes).sort(), [
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['prototype', 'c'],
    ])
    await assert.rejects(load('email\n', { map }), { code: 'validation_failed', message: /has no column "column 0"/ })
  })

  test('without an address say which columns they have and what to pass', async (t) => {
    const { load, contacts } = await openWithList(open, t)
    await assert.rejects(load('Kontakt,Name\nada@example.org,Ada\n'), {
      code: 'validation_failed',
      message:
        'No column for the email address. Found: "Kontakt", "Name". Pass map[email]=COLUMN (on the command line --map email=COLUMN).',
    })
    await assert.rejects(load('email\n', { map: { name: 'Who', tags: 'email', city: 'email' } }), (error) => {
      const { errors } = error as { errors: Record<string, string[]> }
      assert.deepEqual(Object.keys(errors), ['map.name', 'map.city'])
      return true
    })
    await assert.rejects(load('ada@example.org,Ada\n'), (error) => !String(error).includes('ada@'))
    await assert.rejects(load('', { map: { email: ['a', 'b'] as never } }), { code: 'validation_failed' })
    assert.deepEqual(await contacts(), [])
  })

  test('in UTF-16 are refused with what to do', async (t) => {
    const { acme, list } = await openWithList(open, t)
    const text = 'email,name\nada@example.org,Ada\n'
    const files = [
      Buffer.from(`\ufeff${text}`, 'utf16le'),
      Buffer.from(text, 'utf16le'),
      Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
    ]
    for (const file of files) {
      for (const format of ['csv', 'ndjson'] as Format[]) {
        const loading = acme.contacts.import(list.id, [file.subarray(0, 1), file.subarray(1)], { format })
        await assert.rejects(loading, { code: 'invalid_json', message: /UTF-16\. Save it as UTF-8/ })
      }
    }
  })

  test('may begin with the line that tells Excel the delimiter', async (t) => {
    const { load, one } = await openWithList(open, t)
    for (const [at, delimiter] of [',', ';', '\t'].entries()) {
      const rows = [`email${delimiter}city`, `${at}@example.org${delimiter}Oslo`, `wrong${delimiter}Rome`]
      const { created, refused_rows } = await load(`\ufeffsep=${delimiter}\r\n${rows.join('\r\n')}\r\n`)
      assert.deepEqual([created, refused_rows.map(({ line }) => line)], [1, [4]])
      assert.equal((await one(`${at}@example.org`)).extra_attributes.city, 'Oslo')
    }
  })

  test('may begin with empty lines after the byte order mark, wherever the chunks end', async (t) => {
    const { acme, list, one } = await openWithList(open, t)
    for (const [at, head] of ['\ufeff\r\n', '\ufeff', '\r\n\r\n'].entries()) {
      const chunks = [head, `email;city\r\n${at}@example.org;Oslo\r\n`]
      assert.equal((await acme.contacts.import(list.id, chunks, { format: 'csv' })).created, 1)
      assert.equal((await one(`${at}@example.org`)).extra_attributes.city, 'Oslo')
    }
  })

  test('keep quoted delimiters, quotes and line breaks with every delimiter', async (t) => {
    const { load, one } = await openWithList(open, t)
    for (const delimiter of [',', ';', '\t']) {
      const cells = ['"a@example.org"', '"one, two; three\t""four""\r\nfive"', 'x']
      await load(`${['email', '"note, with; all\tof them"', 'city'].join(delimiter)}\r\n${cells.join(delimiter)}\r\n`)
      const { extra_attributes } = await one('a@example.org')
      assert.deepEqual(extra_attributes, { 'note, with; all\tof them': 'one, two; three\t"four"\r\nfive', city: 'x' })
    }
  })
})

onEveryDatabase('unsubscribed people in an import', (open) => {
  test('are stored as unsubscribed and raise no event, and the import subscribes no one', async (t) => {
    const mk = await openWithList(open, t)
    const receiver = await openReceiver(t)
    const events = [
      'contact.subscribed',
      'contact.unsubscribed',
      'contact.created',
      'contact.updated',
      'contact.tagged',
    ]
    await addEndpoint(mk, receiver.url(), ...(events as ['contact.subscribed']))
    await mk.acme.contacts.upsert({ email: 'member@example.org' })
    await mk.acme.contacts.upsert({ email: 'gone@example.org' })
    await mk.acme.contacts.unsubscribe({ email: 'gone@example.org' })
    const gone = await mk.one('gone@example.org')
    const report = await mk.load(
      [
        'email,name,tags,unsubscribed_at,status',
        'new@example.org,New,a,2020-01-02T03:04:05Z,',
        'member@example.org,Member,b,,unsubscribed',
        'gone@example.org,,,,subscribed',
        'late@example.org,,,,Pending',
        'odd@example.org,,,soon,',
        'gold@example.org,,,,gold',
        'far@example.org,,,9999-12-31 23:59:59 -0100,', // the year 10000 in UTC
        'leap@example.org,,,2021-02-29,',
      ].join('\n'),
    )
    assert.deepEqual([report.created, report.updated, report.refused], [1, 2, 5])
    assert.deepEqual(
      report.refused_rows.map(({ line, errors }) => [line, Object.keys(errors)]),
      [
        [5, ['status']],
        [6, ['unsubscribed_at']],
        [7, ['status']],
        [8, ['unsubscribed_at']],
        [9, ['unsubscribed_at']],
      ],
    )
    await mk.load('email\neverybody@example.org\n', { status: 'unsubscribed' })
    await mk.load('{"email":"line@example.org","unsubscribed_at":"2021-01-01T00:00:00Z"}\n', { format: 'ndjson' })
    assert.equal((await mk.one('new@example.org')).unsubscribed_at, '2020-01-02T03:04:05.000000Z')
    assert.equal((await mk.one('line@example.org')).unsubscribed_at, '2021-01-01T00:00:00.000000Z')
    assert.ok((await mk.one('member@example.org')).unsubscribed_at)
    assert.ok((await mk.one('everybody@example.org')).unsubscribed_at)
    assert.equal((await mk.one('gone@example.org')).unsubscribed_at, gone.unsubscribed_at)
    assert.deepEqual((await mk.acme.contacts.list()).data, [])
    await mk.acme.contacts.upsert({ email: 'end@example.org' })
    const received = () =>
      receiver.received
        .map(({ body }) => JSON.parse(String(body)))
        .map(({ type, data }) => `${type} ${data.contact.email}`)
    await until('the last has arrived', () => received().includes('contact.created end@example.org') || undefined)
    assert.deepEqual(received().sort(), [
      'contact.created end@example.org',
      'contact.created gone@example.org',
      'contact.created member@example.org',
      'contact.unsubscribed gone@example.org',
    ])
  })

  test('of a whole file are stored as such, whatever its columns say', async (t) => {
    const { load, one } = await openWithList(open, t)
    const file = [
      'email,status,Blacklisted,unsubscribed_at,CLEAN_TIME',
      'gold@example.org,Gold,partly,,',
      'late@example.org,pending,,soon,2021-03-04T05:06:07Z',
      'member@example.org,subscribed,no,0,',
    ].join('\n')
    const report = await load(file, { status: 'unsubscribed' })
    assert.deepEqual([report.created, report.refused_rows], [3, []])
    for (const name of ['gold', 'member']) assert.ok((await one(`${name}@example.org`)).unsubscribed_at, name)
    assert.equal((await one('late@example.org')).unsubscribed_at, '2021-03-04T05:06:07.000000Z')
  })

  test('stay as they are with mode skip, and a repeated row cannot subscribe again', async (t) => {
    const { load, one } = await openWithList(open, t)
    await load('email\nada@example.org\n')
    await load('email,status\nada@example.org,unsubscribed\n', { mode: 'skip' })
    assert.equal((await one('ada@example.org')).unsubscribed_at, null)
    await load('email,status\nbo@example.org,unsubscribed\nbo@example.org,subscribed\n')
    assert.ok((await one('bo@example.org')).unsubscribed_at)
  })
})

onEveryDatabase('the modes of an import', (open) => {
  const before = 'email,name,tags,city\nada@example.org,Ada,old;both,Bonn\n'
  const file =
    'email,name,tags,city\nada@example.org,Countess,Both;new,Rome\nnew@example.org,New,x,\nnew@example.org,Again,y,\n'

  async function loaded(t: TestContext, options: Partial<ImportInput>) {
    const mk = await openWithList(open, t)
    await mk.load(before)
    const { refused_rows, ...counts } = await mk.load(file, options)
    const shown = (await mk.contacts()).map(({ name, tags, extra_attributes }) => [
      name,
      namesOf(tags),
      extra_attributes,
    ])
    return { ...mk, counts, shown }
  }

  test('merge: tags are added, and the last row wins', async (t) => {
    const { counts, shown } = await loaded(t, {})
    assert.deepEqual(counts, { total: 3, created: 1, updated: 2, refused: 0 })
    assert.deepEqual(shown, [
      ['Countess', ['both', 'new', 'old'], { city: 'Rome' }],
      ['Again', ['x', 'y'], {}],
    ])
  })

  test('skip: contacts that exist stay as they are, also those of an earlier row', async (t) => {
    const { counts, shown, acme } = await loaded(t, { mode: 'skip' })
    assert.deepEqual(counts, { total: 3, created: 1, updated: 0, refused: 0, skipped: 2 })
    assert.deepEqual(shown, [
      ['Ada', ['both', 'old'], { city: 'Bonn' }],
      ['New', ['x'], {}],
    ])
    const other = await acme.lists.create({ name: 'Other' })
    await acme.contacts.import(other.id, [file], { format: 'csv', mode: 'skip' })
    assert.equal(await acme.contacts.count({ lists: [other.id] }), 0)
  })

  test('skip: the first row of a new address that is accepted is saved, also in a dry run', async (t) => {
    const { acme, load, contacts } = await openWithList(open, t)
    const many = (name: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${name} ${at}`, 'x']))
    await acme.contacts.upsert({ email: 'full@example.org', ...many('old', 100) })
    const rows = [
      { email: 'new@example.org', ...many('a', 101) },
      { email: 'new@example.org', name: 'New', ...many('b', 60) },
      { email: 'new@example.org', name: 'Again', ...many('c', 60) },
      { email: 'new@example.org', ...many('a', 101) },
      { email: 'full@example.org', another: 'x' },
      { email: 'never@example.org', ...many('a', 101) },
      { email: 'never@example.org', ...many('b', 102) },
    ]
    const file = rows.map((row) => `${JSON.stringify(row)}\n`).join('')
    for (const dry_run of [true, false]) {
      const report = await load(file, { mode: 'skip', format: 'ndjson', dry_run })
      assert.deepEqual([report.created, report.skipped, report.updated], [1, 3, 0])
      assert.deepEqual(
        report.refused_rows.map(({ line }) => line),
        [1, 6, 7],
      )
    }
    assert.deepEqual(
      (await contacts()).map(({ name, extra_attributes }) => [name, Object.keys(extra_attributes).length]),
      [
        ['', 100],
        ['New', 60],
      ],
    )
  })

  test('replace_tags: the row’s tags replace the contact’s, and an empty cell removes all', async (t) => {
    const { counts, shown, load, contacts } = await loaded(t, { mode: 'replace_tags' })
    assert.deepEqual(counts, { total: 3, created: 1, updated: 2, refused: 0 })
    assert.deepEqual(shown, [
      ['Countess', ['both', 'new'], { city: 'Rome' }],
      ['Again', ['y'], {}],
    ])
    await load('email,name\nada@example.org,Ada\n', { mode: 'replace_tags' })
    await load('email,tags\nnew@example.org,\n', { mode: 'replace_tags' })
    assert.deepEqual(
      (await contacts()).map(({ tags }) => namesOf(tags)),
      [['both', 'new'], []],
    )
  })

  test('replace_tags: the tags before do not count', async (t) => {
    const { acme, load, one } = await openWithList(open, t)
    const tags = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name} ${at}`)
    await acme.contacts.upsert({ email: 'ada@example.org', tags: tags('old', 400) })
    const rows = [tags('first', 300), tags('last', 300)].map((names) => `ada@example.org,${names.join(';')}\n`)
    for (const dry_run of [true, false]) {
      const { updated, refused } = await load(`email,tags\n${rows.join('')}`, { mode: 'replace_tags', dry_run })
      assert.deepEqual([updated, refused], [2, 0])
    }
    assert.deepEqual(namesOf((await one('ada@example.org')).tags), tags('last', 300).sort())
  })

  test('dry_run: counts and refuses like an import, and stores nothing', async (t) => {
    const rows = `${file}bad,,,\nADA@example.org,,,\nnew@example.org,,,\n`
    for (const mode of ['merge', 'skip'] as const) {
      const mk = await openWithList(open, t)
      await mk.load(before)
      const state = JSON.stringify(await mk.contacts())
      const dry = await mk.load(rows, { dry_run: true, mode })
      assert.equal(JSON.stringify(await mk.contacts()), state)
      assert.deepEqual(namesOf((await mk.acme.tags.list()).data), ['both', 'old'])
      const { dry_run, ...counts } = dry
      assert.equal(dry_run, true)
      assert.deepEqual(counts, await mk.load(rows, { mode }))
    }
  })

  test('dry_run: distant rows of an address count against its limits together', async (t) => {
    const { load } = await openWithList(open, t)
    const tags = (name: string) => Array.from({ length: 300 }, (_, at) => `${name} ${at}`).join(';')
    const others = Array.from({ length: 700 }, (_, at) => `user${at}@example.org,x\n`).join('')
    const rows = `email,tags\nada@example.org,${tags('a')}\n${others}ada@example.org,${tags('b')}\n`
    for (const dry_run of [true, false]) {
      const { created, refused_rows } = await load(rows, { dry_run })
      assert.deepEqual([created, refused_rows.map(({ line }) => line)], [701, [703]])
    }
  })

  test('unknown ones, and unknown options, are refused before the file is read', async (t) => {
    const { acme, list } = await openWithList(open, t)
    const source = { [Symbol.asyncIterator]: () => assert.fail('the source was read') }
    const wrong = [{ mode: 'replace' }, { status: 'gone' }, { dry_run: 'yes' }, { map: 'email' }, { mod: 'skip' }]
    for (const options of wrong) {
      const loading = acme.contacts.import(list.id, source, { format: 'csv', ...options } as never)
      await assert.rejects(loading, { code: 'validation_failed' })
    }
  })
})
