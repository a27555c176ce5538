/** The pages on which contacts unsubscribe, and choose lists and topics. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { type Open, overHttp, type ServiceOptions } from '../support/harness.ts'
import { fieldsOf, submit, type Visited, visit } from './visit.ts'

const email = 'ada@example.org'

/** Opens a service with a contact on a list with two topics, subscribed to the first. */
async function populate(t: Parameters<Open>[0], open: Open, options?: ServiceOptions) {
  const service = await open(t, options)
  const { client } = service
  const list = await client.lists.create({ name: 'News & <b>views</b>' })
  const weekly = await client.topics.create(list.id, { name: 'Weekly', description: 'Every "Monday"' })
  const offers = await client.topics.create(list.id, { name: 'Offers' })
  const { contact } = await client.contacts.addToList(list.id, { email })
  await client.contacts.subscribeToTopic(contact.id, weekly.id)
  const links = await client.contacts.links(contact.id)
  const read = () => client.contacts.get(contact.id)
  return { ...service, id: contact.id, list, weekly, offers, ...links, read }
}

function assertSafe({ headers, html }: Visited): void {
  assert.equal(headers.get('content-security-policy'), "default-src 'none'; style-src 'self'; form-action 'self'")
  assert.equal(headers.get('referrer-policy'), 'no-referrer')
  assert.equal(headers.get('x-robots-tag'), 'noindex')
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.equal(headers.get('set-cookie'), null)
  assert.doesNotMatch(html, /<script|<style|style="| on\w+=|https?:/)
}

overHttp('the page to unsubscribe', (open) => {
  test('asks first, unsubscribes, and offers to undo', async (t) => {
    const { client, receiver, unsubscribe_url, read } = await populate(t, open)
    const hook = await receiver()
    const events = ['contact.unsubscribed', 'contact.resubscribed'] as const
    await client.webhooks.createEndpoint({ url: hook.url(), events })

    const asked = await visit(unsubscribe_url)
    assert.equal(asked.status, 200)
    assert.match(asked.headers.get('content-type')!, /^text\/html; charset=utf-8$/)
    assert.match(asked.html, /<h1 dir="auto">Unsubscribe<\/h1>\s.*ada@example\.org/)
    assertSafe(asked)

    const done = await submit(unsubscribe_url, fieldsOf(asked.html, 'unsubscribe'))
    assert.match(done.html, /<h1 dir="auto">You are unsubscribed<\/h1>/)
    assertSafe(done)
    const { unsubscribed_at, unsubscribed_by_contact } = await read()
    assert.ok(unsubscribed_at)
    assert.equal(unsubscribed_by_contact, true)
    assert.equal((await hook.next()).body.type, 'contact.unsubscribed')
    assert.match((await visit(unsubscribe_url)).html, /You are unsubscribed/)
    await submit(unsubscribe_url, fieldsOf(asked.html, 'unsubscribe'))
    assert.equal((await read()).unsubscribed_at, unsubscribed_at, 'the first time stays')

    const undone = await submit(unsubscribe_url, fieldsOf(done.html, 'resubscribe'))
    assert.match(undone.html, /<h1 dir="auto">You are subscribed again<\/h1>/)
    assert.equal((await read()).unsubscribed_at, null)
    assert.equal((await hook.next()).body.type, 'contact.resubscribed')
  })

  test('does not change anything for scanners, which follow links and never press buttons', async (t) => {
    const { unsubscribe_url, preferences_url, read } = await populate(t, open)
    const before = await read()
    for (const url of [unsubscribe_url, preferences_url]) {
      const shown = await visit(url)
      const head = await visit(url, { method: 'HEAD' })
      assert.equal(head.status, 200)
      assert.equal(head.html, '')
      assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(shown.html)))
      assert.equal(
        (await visit(url, { headers: { Purpose: 'prefetch', 'Sec-Purpose': 'prefetch;prerender' } })).status,
        200,
      )
      assert.equal((await visit(`${url}?List-Unsubscribe=One-Click&action=unsubscribe`)).status, 200)
      for (const method of ['OPTIONS', 'PUT', 'DELETE', 'PATCH']) {
        const refused = await visit(url, { method })
        assert.equal(refused.status, 405)
        assert.equal(refused.headers.get('allow'), 'GET, HEAD, POST')
      }
    }
    assert.deepEqual(await read(), before)
  })

  const formType = 'application/x-www-form-urlencoded'
  const multipart = (text: string) =>
    new Blob([text], { type: 'multipart/form-data; boundary=---FormBoundaryjWmhtjORrn' })
  const field = 'Content-Disposition: form-data; name="List-Unsubscribe"'
  const rfcExample = `---FormBoundaryjWmhtjORrn\r\n${field}\r\n\r\nOne-Click\r\n---FormBoundaryjWmhtjORrn--\r\n`
  const oneClick = new FormData()
  oneClick.set('List-Unsubscribe', 'One-Click')
  for (const [kind, body] of [
    ['a form', new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })],
    ['a form that ends with a line break', new Blob(['List-Unsubscribe=One-Click\r\n'], { type: formType })],
    ['a multipart form', oneClick],
    ['a form without a type', new Blob(['List-Unsubscribe=One-Click'])],
    ['the multipart form of RFC 8058, whose delimiters lack two dashes', multipart(rfcExample)],
    ['a multipart form with bare line feeds', multipart(`--${rfcExample}`.replaceAll('\r', ''))],
  ] as const) {
    test(`unsubscribes with one click, by ${kind}, and shows nothing`, async (t) => {
      const { unsubscribe_url, read, call } = await populate(t, open)
      for (const _ of ['once', 'again']) {
        const answer = await visit(unsubscribe_url, { method: 'POST', body })
        assert.equal(answer.status, 200)
        assert.equal(answer.html, '')
        assert.equal(answer.headers.get('set-cookie'), null)
      }
      assert.equal((await read()).unsubscribed_by_contact, true)
      const { body: log } = await call('GET', '/audit-log?type=contact.unsubscribed')
      assert.deepEqual(
        log.data.map(({ source }: { source: string }) => source),
        ['one_click'],
      )
    })
  }

  test('unsubscribes whatever the body is, so that no mail program fails', async (t) => {
    const bodies = [undefined, 'garbage', '{"a":1}', '--x\r\nbroken']
    const types = ['application/json', 'multipart/form-data; boundary=x', 'multipart/form-data', 'text/plain']
    for (const [at, type] of types.entries()) {
      const { unsubscribe_url, read } = await populate(t, open)
      const init = bodies[at] === undefined ? {} : { body: bodies[at], headers: { 'Content-Type': type } }
      assert.equal((await visit(unsubscribe_url, { method: 'POST', ...init })).status, 200)
      assert.ok((await read()).unsubscribed_at)
    }
  })
})

overHttp('contact pages of a suppressed address', (open) => {
  test('subscribe the contact again, but promise no mail', async (t) => {
    const { client, unsubscribe_url, preferences_url, read } = await populate(t, open)
    await client.suppressions.create({ email: email.toUpperCase() })
    for (const [url, shown] of [
      [unsubscribe_url, /You are subscribed again/],
      [preferences_url, /Choose what is sent/],
    ] as const) {
      const done = await submit(url, { action: 'unsubscribe' })
      const { html } = await submit(url, fieldsOf(done.html, 'resubscribe'))
      assert.match(html, shown)
      assert.doesNotMatch(html, /will be sent/)
      assert.equal((await read()).unsubscribed_at, null)
    }
  })
})

overHttp('the page of preferences', (open) => {
  test('shows the lists and topics of the contact, escaped', async (t) => {
    const { client, preferences_url } = await populate(t, open)
    const other = await client.lists.create({ name: 'Secret' })
    await client.topics.create(other.id, { name: 'Hidden' })
    const page = await visit(preferences_url)
    assert.equal(page.status, 200)
    assertSafe(page)
    assert.match(page.html, /checked><span dir="auto">News &amp; &lt;b&gt;views&lt;\/b&gt;<\/span>/)
    assert.match(
      page.html,
      /checked><span dir="auto">Weekly<small dir="auto">Every &quot;Monday&quot;<\/small><\/span>/,
    )
    assert.match(page.html, /value="\d+"><span dir="auto">Offers<\/span>/)
    assert.doesNotMatch(page.html, /Secret|Hidden/)
  })

  test('saves topics in one transaction', async (t) => {
    const { preferences_url, read, offers, client, call } = await populate(t, open)
    const page = await visit(preferences_url)
    const late = await client.lists.create({ name: 'Joined since' })
    await client.contacts.addToList(late.id, { email })
    const fields = fieldsOf(page.html, 'save').filter(([name]) => name !== 'topic')
    const saved = await submit(preferences_url, [...fields, ['topic', String(offers.id)]])
    assert.match(saved.html, /role="status" dir="auto">Your choices are saved\./)
    const { topics, lists } = await read()
    assert.deepEqual(
      topics.map(({ id }) => id),
      [offers.id],
    )
    assert.equal(lists.length, 2, 'a list that the page did not show stays')
    const { body: log } = await call('GET', '/audit-log')
    const own = log.data.filter(({ source }: { source: string }) => source === 'preferences_page')
    assert.deepEqual(own.map(({ type }: { type: string }) => type).sort(), [
      'contact.topic_subscribed',
      'contact.topic_unsubscribed',
    ])
  })

  test('takes the contact off a list, with its topics', async (t) => {
    const { preferences_url, read } = await populate(t, open)
    const page = await visit(preferences_url)
    const fields = fieldsOf(page.html, 'save').filter(([name]) => name !== 'list')
    const saved = await submit(preferences_url, fields)
    assert.match(saved.html, /name="list" value="\d+"><span dir="auto">News/, 'the list is offered, and not checked')
    assert.doesNotMatch(saved.html, /name="topic"/)
    const { lists, topics, unsubscribed_at } = await read()
    assert.deepEqual({ lists, topics, unsubscribed_at }, { lists: [], topics: [], unsubscribed_at: null })
  })

  test('lets the contact join a list again that it left there, until the client takes it off', async (t) => {
    const { preferences_url, read, client, receiver, list, id } = await populate(t, open)
    await client.lists.update(list.id, { double_opt_in: true })
    const hook = await receiver()
    await client.webhooks.createEndpoint({ url: hook.url(), events: ['contact.subscribed'] })
    const leave = async () => {
      const fields = fieldsOf((await visit(preferences_url)).html, 'save')
      return await submit(
        preferences_url,
        fields.filter(([name]) => name !== 'list'),
      )
    }
    const left = await leave()
    const unchanged = await submit(preferences_url, fieldsOf(left.html, 'save'))
    assert.deepEqual((await read()).lists, [])
    const back = await submit(preferences_url, [...fieldsOf(unchanged.html, 'save'), ['list', String(list.id)]])
    assert.match(back.html, /name="list" value="\d+" checked><span dir="auto">News/)
    assert.deepEqual(
      (await read()).lists.map((one) => one.id),
      [list.id],
    )
    const { body } = await hook.next()
    assert.deepEqual([body.type, body.data.list.id], ['contact.subscribed', list.id])
    const [last] = (await client.contacts.history(id)).data
    assert.deepEqual([last!.type, last!.source, last!.list_id], ['list_joined', 'preferences_page', list.id])
    const form = [...fieldsOf((await leave()).html, 'save'), ['list', String(list.id)]] as [string, string][]
    await client.contacts.addToList(list.id, { email, confirmed: true })
    await client.contacts.removeFromList(list.id, id)
    assert.match((await visit(preferences_url)).html, /ada@example\.org<\/bdi> is on no list\./)
    await submit(preferences_url, form)
    assert.deepEqual((await read()).lists, [])
  })

  test('offers a list that the contact left there also while a request to confirm it waits', async (t) => {
    const { preferences_url, read, client, list } = await populate(t, open)
    await client.lists.update(list.id, { double_opt_in: true })
    const { html } = await visit(preferences_url)
    await submit(
      preferences_url,
      fieldsOf(html, 'save').filter(([name]) => name !== 'list'),
    )
    assert.equal((await client.contacts.addToList(list.id, { email })).pending_lists?.length, 1)
    const offered = await visit(preferences_url)
    assert.match(offered.html, /name="list" value="\d+"><span dir="auto">News/)
    await submit(preferences_url, [...fieldsOf(offered.html, 'save'), ['list', String(list.id)]])
    assert.equal((await read()).lists.length, 1)
    await client.contacts.unsubscribe({ email })
    await client.contacts.confirm(list.id, { email })
    assert.notEqual((await read()).unsubscribed_at, null, 'the request ended when the contact joined')
  })

  test('does not let a contact join lists and topics that the page does not offer', async (t) => {
    const { preferences_url, read, client, list, weekly, addTenant } = await populate(t, open)
    const before = await read()
    const other = await client.lists.create({ name: 'Secret' })
    const hidden = await client.topics.create(other.id, { name: 'Hidden' })
    const foreign = await (await addTenant()).client.lists.create({ name: 'Foreign' })
    const forged = {
      action: 'save',
      lists: `${list.id},${other.id},x,-1,1e3,99999999999999999999`,
      topics: `${weekly.id}`,
      list: `${list.id},${other.id},${foreign.id}`,
      topic: `${weekly.id},${hidden.id}`,
    }
    assert.equal((await submit(preferences_url, forged)).status, 200)
    assert.deepEqual(await read(), before)
  })

  test('changes nothing for a form that is incomplete', async (t) => {
    const { preferences_url, read } = await populate(t, open)
    const before = await read()
    for (const fields of [{}, { action: 'save' }, { action: 'other' }]) {
      assert.equal((await submit(preferences_url, fields)).status, 200)
    }
    assert.deepEqual(await read(), before)
  })

  test('unsubscribes from everything, and subscribes again with the same choices', async (t) => {
    const { preferences_url, read } = await populate(t, open)
    const before = await read()
    const done = await submit(preferences_url, fieldsOf((await visit(preferences_url)).html, 'unsubscribe'))
    assert.match(done.html, /You are unsubscribed/)
    assert.equal((await read()).unsubscribed_by_contact, true)
    const page = await visit(preferences_url)
    assert.doesNotMatch(page.html, /checkbox/)
    const again = await submit(preferences_url, fieldsOf(page.html, 'resubscribe'))
    assert.match(
      again.html,
      /role="status" dir="auto">E-mails will be sent to <bdi>ada@example\.org<\/bdi> again\.[\s\S]*checkbox/,
    )
    assert.deepEqual(await read(), before)
  })
})

overHttp('how contact pages look', (open) => {
  test('is in the language of the browser: English, German, French or Spanish', async (t) => {
    const { unsubscribe_url } = await populate(t, open)
    for (const [accepted, language, title] of [
      ['de-AT,en;q=0.8', 'de', 'Abmelden'],
      ['fr;q=0.4, es;q=0.9', 'es', 'Darse de baja'],
      ['pt, fr-CA;q=0.5', 'fr', 'Se désabonner'],
      ['de;q=0, it', 'en', 'Unsubscribe'],
      ['*', 'en', 'Unsubscribe'],
      ['', 'en', 'Unsubscribe'],
      [';;,q=,de-', 'en', 'Unsubscribe'],
    ] as const) {
      const { html, headers } = await visit(unsubscribe_url, { headers: { 'Accept-Language': accepted } })
      assert.match(html, new RegExp(`<html lang="${language}">[\\s\\S]*<h1 dir="auto">${title}</h1>`), accepted)
      assert.equal(headers.get('vary'), 'Accept-Language')
    }
  })

  test('is set by the client', async (t) => {
    const { data, unsubscribe_url, url } = await populate(t, open)
    const nothing = { name: null, colour: null, logo_url: null, language: null, texts: {}, postal_address: null }
    assert.deepEqual(await data(200, 'GET', '/settings/pages'), nothing)
    const settings = {
      name: 'Müller & <Co>',
      colour: '#FFCC00',
      logo_url: 'https://cdn.example.com/logo.png?a="b"',
      language: 'de',
      texts: { unsubscribe_title: 'Tschüss, {email}', unsubscribe_text: 'Schade, {email}! <script>' },
      postal_address: 'Hauptstraße 1\nBerlin',
    }
    const saved = await data(200, 'PUT', '/settings/pages', { body: settings })
    const expected = { ...settings, colour: '#ffcc00', logo_url: 'https://cdn.example.com/logo.png?a=%22b%22' }
    assert.deepEqual(saved, expected)
    assert.deepEqual(await data(200, 'GET', '/settings/pages'), expected)
    const page = await visit(unsubscribe_url, { headers: { 'Accept-Language': 'fr' } })
    assert.match(page.html, /<html lang="de">/)
    assert.match(page.html, /<title>Tschüss, ada@example\.org · Müller &amp; &lt;Co&gt;<\/title>/)
    assert.match(page.html, /Schade, <bdi>ada@example\.org<\/bdi>! &lt;script&gt;/)
    assert.equal(
      page.headers.get('content-security-policy'),
      "default-src 'none'; style-src 'self'; form-action 'self'; img-src https://cdn.example.com",
    )
    const style = /href="\.\.\/(style-ffcc00\.css)"/.exec(page.html)![1]!
    const css = await visit(`${url}/c/${style}`)
    assert.equal(css.headers.get('content-type'), 'text/css; charset=utf-8')
    assert.match(css.html, /--colour: #ffcc00; --on-colour: #000000/)
    assert.deepEqual(await data(200, 'PUT', '/settings/pages', { body: {} }), nothing)
    assert.match((await visit(unsubscribe_url)).html, /href="\.\.\/style\.css"/)
  })

  for (const [field, value] of [
    ['colour', 'red'],
    ['colour', '#fff'],
    ['colour', '#12345;'],
    ['logo_url', 'http://example.com/logo.png'],
    ['logo_url', "https://a;script-src 'self'"],
    ['logo_url', 'https://a;b.example/'],
    ['logo_url', 'https://user@example.com/'],
    ['logo_url', `https://example.com/${'a'.repeat(2048)}`],
    ['language', 'it'],
    ['name', ''],
    ['texts.unsubscribe_button', ' '],
    ['texts.unsubscribe_text', 'x'.repeat(501)],
    ['texts.other', 'x'],
    ['other', 'x'],
  ] as const) {
    test(`cannot be set with ${field} ${value.slice(0, 40)}`, async (t) => {
      const { call } = await open(t)
      const [name, text] = field.split('.') as [string, string?]
      const { status, body } = await call('PUT', '/settings/pages', {
        body: { [name]: text ? { [text]: value } : value },
      })
      assert.equal(status, 422)
      assert.deepEqual(Object.keys(body.errors), [field])
    })
  }
})

overHttp('contact pages', (open) => {
  for (const [what, addressOf, same, others] of [
    ['an address', () => '192.0.2.7', '192.0.2.7:40001', ['192.0.2.8', '[2001:db8::1]:40001']],
    [
      'an IPv6 network',
      (n: number) => `2001:db8::${n.toString(16)}`,
      '[2001:db8::ffff]:40001',
      ['2001:db8:0:1::1', 'fe80::1%eth0.1'],
    ],
  ] as const) {
    test(`refuse ${what} that requests too much, and no other`, async (t) => {
      const { preferences_url } = await populate(t, open, { trustProxy: true })
      const from = (address: string) =>
        visit(preferences_url, { headers: { 'X-Forwarded-For': `10.0.0.1, ${address}` } })
      let refused: Visited | undefined
      for (let i = 0; i < 400 && !refused; i++) {
        const answer = await from(addressOf(i))
        if (answer.status === 429) refused = answer
      }
      assert.ok(refused, 'no request was refused')
      assert.match(refused.html, /Too many requests/)
      assertSafe(refused)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      assert.equal((await from(same)).status, 429)
      for (const other of others) assert.equal((await from(other)).status, 200, other)
    })
  }

  for (const [forwarded, ip] of [
    ['192.0.2.7:443', '192.0.2.7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['[2001:db8::7]:443', '2001:db8::7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
  ] as const) {
    test(`record the address of a proxy's ${forwarded} as ${ip}`, async (t) => {
      const { unsubscribe_url, id, client } = await populate(t, open, { trustProxy: true })
      const body = new URLSearchParams({ action: 'unsubscribe' })
      await visit(unsubscribe_url, { method: 'POST', headers: { 'X-Forwarded-For': forwarded }, body })
      assert.equal((await client.contacts.history(id)).data[0]!.ip, ip)
    })
  }

  test('refuse a body that is larger than any form', async (t) => {
    const { unsubscribe_url, read } = await populate(t, open)
    const post = async (length: number) => {
      const body = new URLSearchParams({ action: 'unsubscribe', more: '' }).toString().padEnd(length, 'x')
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return (await fetch(unsubscribe_url, { method: 'POST', headers, body })).status
    }
    assert.equal(await post(64 * 1024 + 1), 413)
    assert.equal((await read()).unsubscribed_at, null)
    assert.equal(await post(64 * 1024), 200)
    assert.ok((await read()).unsubscribed_at)
  })

  test('do not trust X-Forwarded-For unless a proxy sets it', async (t) => {
    const { preferences_url } = await populate(t, open)
    const statuses = new Set<number>()
    for (let i = 0; i < 400; i++) {
      statuses.add((await visit(preferences_url, { headers: { 'X-Forwarded-For': `192.0.2.${i % 250}` } })).status)
    }
    assert.deepEqual([...statuses], [200, 429])
  })
})
