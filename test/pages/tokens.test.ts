/** The tokens of links: only an unaltered token of a living contact opens its page. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { contactPages } from '../../daemon/pages/index.ts'
import { createMailkeep, type Mailkeep, type MailkeepOptions } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { test } from '../support/databases.ts'
import { type Open, overHttp } from '../support/harness.ts'
import { visit } from './visit.ts'

const purposes = ['unsubscribe', 'preferences'] as const
type Purpose = (typeof purposes)[number]

/** Splits a link into its token and purpose. */
function partsOf(url: string): { base: string; token: string; purpose: string } {
  const [, base, token, purpose] = /^(.*\/c\/)([\w-]+)\/(\w+)$/.exec(url)!
  return { base: base!, token: token!, purpose: purpose! }
}

async function linksOf({ client }: Awaited<ReturnType<Open>>, email: string) {
  const { contact } = await client.contacts.upsert({ email })
  const { unsubscribe_url, preferences_url } = await client.contacts.links(contact.id)
  return { id: contact.id, unsubscribe: unsubscribe_url, preferences: preferences_url }
}

overHttp('the page of a link that does not work', (open) => {
  test('is the same for every reason', async (t) => {
    const service = await open(t)
    const { client, url } = service
    const ada = await linksOf(service, 'ada@example.org')
    const bob = await linksOf(service, 'bob@example.org')
    const tenant = await service.addTenant()
    const cy = await linksOf({ ...service, ...tenant }, 'cy@example.org')
    const { base, token } = partsOf(ada.unsubscribe)
    const erased = await linksOf(service, 'erased@example.org')
    await client.contacts.delete(erased.id)
    const gone = await service.addTenant('gone')
    const ofGone = await linksOf({ ...service, ...gone }, 'dee@example.org')
    await service.mailkeep.clients.delete(gone.id)
    const swap = (at: number, other: string) => {
      const bytes = Buffer.from(token, 'base64url')
      Buffer.from(partsOf(other).token, 'base64url').copy(bytes, at, at, at + 6)
      return `${base}${bytes.toString('base64url')}/unsubscribe`
    }
    const broken = [
      `${base}${token}/preferences`, // another purpose
      `${partsOf(ada.preferences).base}${partsOf(ada.preferences).token}/unsubscribe`,
      `${base}${token}/confirm`,
      swap(1, cy.unsubscribe), // another client
      swap(7, bob.unsubscribe), // another contact
      erased.unsubscribe,
      erased.preferences,
      ofGone.unsubscribe,
      `${base}${token.slice(0, -1)}/unsubscribe`,
      `${base}${token}A/unsubscribe`,
      `${base}${token}=/unsubscribe`,
      `${base}${token}%00/unsubscribe`,
      `${base}x/unsubscribe`,
      `${base}${token}/other`,
      `${base}${token}/unsubscribe/`,
      `${base}${token}`,
      `${url}/c/`,
      `${url}/c/${'a'.repeat(5000)}/unsubscribe`,
      `${url}/c/..%2f..%2fapi/unsubscribe`,
      `${url}/c/constructor/constructor`,
      `${url}/c/${token}/__proto__`,
    ]
    const comparable = async (at: string, method: string) => {
      const { status, headers, html } = await visit(at, { method })
      const {
        date: _,
        'x-request-id': __,
        'keep-alive': ___,
        'content-length': ____,
        ...others
      } = Object.fromEntries(headers)
      // The way to the style sheet depends on the depth of the link.
      const withStyle = html.replace(/href="([^"]*)"/, (_, href: string) => `href="${new URL(href, at).pathname}"`)
      return { status, html: withStyle, headers: others }
    }
    for (const method of ['GET', 'POST', 'HEAD']) {
      const expected = await comparable(broken[0]!, method)
      assert.equal(expected.status, 404)
      if (method !== 'HEAD') assert.match(expected.html, /href="\/c\/style\.css"[\s\S]*This link does not work/)
      for (const at of broken) assert.deepEqual(await comparable(at, method), expected, at)
    }
    for (const { unsubscribe, preferences } of [ada, bob, cy]) {
      for (const at of [unsubscribe, preferences]) assert.equal((await visit(at)).status, 200)
    }
    const { data } = await client.contacts.list({ unsubscribed: 'only' })
    assert.deepEqual(data, [])
  })

  test('is shown after the id of an erased contact was given again, for example by a restored backup', async (t) => {
    const service = await open(t)
    const { id, unsubscribe } = await linksOf(service, 'ada@example.org')
    assert.equal((await visit(unsubscribe)).status, 200)
    await service.client.contacts.delete(id)
    const next = await linksOf(service, 'ada@example.org')
    assert.notEqual(next.id, id)
    assert.equal((await visit(unsubscribe)).status, 404)
    assert.equal((await visit(next.unsubscribe)).status, 200)
  })
})

overHttp('the link of a merged contact', (open) => {
  test('opens the page of the contact that stays, until that is erased', async (t) => {
    const service = await open(t)
    const { client } = service
    const first = await linksOf(service, 'first@example.org')
    const second = await linksOf(service, 'second@example.org')
    const last = await linksOf(service, 'last@example.org')
    await client.contacts.merge(first.id, { into: second.id })
    await client.contacts.merge(second.id, { into: last.id })
    for (const { preferences } of [first, second, last]) {
      assert.match((await visit(preferences)).html, /last@example\.org/)
    }
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })
    assert.equal((await visit(first.unsubscribe, { method: 'POST', body })).status, 200)
    const { unsubscribed_by_contact } = await client.contacts.get(last.id)
    assert.equal(unsubscribed_by_contact, true)
    const { clientId, contact } = await service.mailkeep.links.open(partsOf(second.unsubscribe).token, 'unsubscribe')
    assert.deepEqual([clientId, contact.id], [service.id, last.id])
    await client.contacts.delete(last.id)
    for (const { unsubscribe } of [first, second, last]) assert.equal((await visit(unsubscribe)).status, 404)
  })
})

const newKey = () => randomBytes(32)

async function openOn(t: { after(close: () => unknown): void }, options: Partial<MailkeepOptions> = {}) {
  const mailkeep = await createMailkeep({
    ...{ database: sqlite(':memory:'), encryptionKey: newKey(), publicUrl: 'https://mail.example.com' },
    ...options,
  })
  t.after(() => mailkeep.close())
  return mailkeep
}

/** Returns a new contact's links by purpose. */
async function newContact(mailkeep: Mailkeep, clientId: number, email: string) {
  const { contacts } = mailkeep.forClient(clientId)
  const { contact } = await contacts.upsert({ email })
  const { unsubscribe_url, preferences_url } = await contacts.links(contact.id)
  return { id: contact.id, unsubscribe: partsOf(unsubscribe_url).token, preferences: partsOf(preferences_url).token }
}

const isNotFound = { code: 'not_found', message: 'No such link.' }

test('a token opens its own contact only, whatever is changed', async (t) => {
  const mailkeep = await openOn(t)
  const { id: clientId } = await mailkeep.clients.create({ name: 'Acme' })
  const contact = await newContact(mailkeep, clientId, 'ada@example.org')
  await newContact(mailkeep, clientId, 'bob@example.org')
  for (const purpose of purposes) {
    const opened = await mailkeep.links.open(contact[purpose], purpose)
    assert.deepEqual([opened.clientId, opened.contact.id, opened.listId], [clientId, contact.id, undefined])
    assert.ok(contact[purpose].length < 100)
  }
  const bytes = (purpose: Purpose) => Buffer.from(contact[purpose], 'base64url')
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...purposes),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      async (purpose, at, mask) => {
        const forged = bytes(purpose)
        forged[at % forged.length]! ^= mask
        await assert.rejects(mailkeep.links.open(forged.toString('base64url'), purpose), isNotFound)
      },
    ),
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...purposes), fc.nat(), fc.base64String(), async (purpose, at, more) => {
      const token = contact[purpose]
      const cut = token.slice(0, at % token.length)
      for (const forged of [cut, cut + more, `${token}${more}x`]) {
        await assert.rejects(mailkeep.links.open(forged, purpose), isNotFound)
      }
    }),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 80 }),
      fc.constantFrom(...purposes, 'confirm'),
      async (random, purpose) => {
        await assert.rejects(
          mailkeep.links.open(Buffer.from(random).toString('base64url'), purpose as Purpose),
          isNotFound,
        )
      },
    ),
  )
  for (const wrong of [undefined, null, 1, {}, '']) {
    await assert.rejects(mailkeep.links.open(wrong as never, 'unsubscribe'), isNotFound)
    await assert.rejects(mailkeep.links.open(contact.unsubscribe, wrong as never), isNotFound)
  }
})

test('no contact opens with the token of another', async (t) => {
  const mailkeep = await openOn(t)
  const clients = [await mailkeep.clients.create({ name: 'A' }), await mailkeep.clients.create({ name: 'B' })]
  const contacts = []
  for (const { id } of clients) {
    for (const name of ['ada', 'bob']) contacts.push(await newContact(mailkeep, id, `${name}@example.org`))
  }
  const tokens = contacts.flatMap((contact) => purposes.map((purpose) => contact[purpose]))
  assert.equal(new Set(tokens).size, tokens.length)
  const opened = await Promise.all(contacts.map((contact) => mailkeep.links.open(contact.unsubscribe, 'unsubscribe')))
  assert.deepEqual(
    opened.map(({ contact }) => contact.id),
    contacts.map(({ id }) => id),
  )
})

test('links survive the rotation of the encryption key, and no other key opens them', async (t) => {
  const handle = new Database(':memory:')
  t.after(() => handle.close())
  const [first, second] = [newKey(), newKey()]
  const open = (encryptionKey: Buffer, ...previousEncryptionKeys: Buffer[]) =>
    createMailkeep({
      database: sqlite(handle),
      encryptionKey,
      previousEncryptionKeys,
      publicUrl: 'https://example.com',
    })
  const before = await open(first)
  const { id: clientId } = await before.clients.create({ name: 'Acme' })
  const old = await newContact(before, clientId, 'ada@example.org')
  await before.close()

  const rotated = await open(second, first)
  assert.equal((await rotated.links.open(old.unsubscribe, 'unsubscribe')).contact.id, old.id)
  const renewed = await newContact(rotated, clientId, 'ada@example.org')
  await rotated.resealSecrets()
  await rotated.close()

  const after = await open(second)
  for (const { unsubscribe } of [old, renewed]) {
    assert.equal((await after.links.open(unsubscribe, 'unsubscribe')).contact.id, old.id)
  }
  await after.close()

  const other = await openOn(t)
  await other.clients.create({ name: 'Acme' })
  await newContact(other, 1, 'ada@example.org')
  await assert.rejects(other.links.open(old.unsubscribe, 'unsubscribe'), isNotFound)
})

test('contact pages need a Mailkeep, and refuse unknown options', async (t) => {
  assert.throws(() => contactPages({} as never), { code: 'validation_failed' })
  const mailkeep = await openOn(t)
  assert.throws(() => contactPages({ mailkeep, trustproxy: true } as never), /trustproxy/)
})
