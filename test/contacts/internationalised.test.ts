/** Addresses with an internationalised domain: both spellings of the domain are one address. */
import assert from 'node:assert/strict'
import type { RaisedEvent } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { addNewsletter, openMail } from '../support/mail-harness.ts'
import { onEveryDatabase } from '../support/webhook-harness.ts'

const unicode = 'ada@bücher.example'
const ascii = 'ada@xn--bcher-kva.example'
const isRefused = (error: unknown) => Object.keys((error as { errors?: object }).errors ?? {}).join() === 'email'

for (const [stored, given, form] of [
  [unicode, 'ADA@XN--Bcher-kva.Example', 'Unicode'],
  [ascii, 'Ada@BÜCHER.example', 'Punycode'],
] as const) {
  onEveryDatabase(`an address whose domain is stored in ${form}`, (open) => {
    test('is found, saved and shown as the one contact', async (t) => {
      const { acme } = await open(t, { start: false })
      const { contacts } = acme
      const { contact } = await contacts.upsert({ email: stored })
      const { id } = contact
      assert.equal((await contacts.get({ email: given })).id, id)
      assert.deepEqual(
        (await contacts.list({ email: given })).data.map((one) => one.email),
        [stored],
      )
      assert.equal((await contacts.upsert({ email: given, name: 'Ada' })).created, false)
      const list = await acme.lists.create({ name: 'News' })
      assert.equal((await contacts.addToList(list.id, { email: given })).created, false)
      const [saved, again] = await contacts.addManyToList(list.id, [{ email: given }, { email: stored }])
      assert.deepEqual(
        [saved, again].map((one) => 'id' in one! && one.id),
        [id, id],
      )
      const results = await contacts.batch([
        { op: 'upsert', email: given, tags: ['vip'] },
        { op: 'tag', email: stored, tags: ['new'] },
      ])
      assert.deepEqual(
        results.map((one) => one.id),
        [id, id],
      )
      const { data } = await contacts.list()
      assert.deepEqual(
        data.map(({ email, name, tags }) => [email, name, tags?.length]),
        [[stored, 'Ada', 2]],
      )
      const { contact: bob } = await contacts.upsert({ email: 'bob@example.org' })
      await assert.rejects(contacts.changeEmail(bob.id, { email: given }), isRefused)
      assert.equal((await contacts.changeEmail(id, { email: given })).email, given)
    })

    test('is one contact in a batch, an import and its dry run, and in a test mail', async (t) => {
      const mail = await openMail(t, {}, open)
      const { contacts } = mail.acme
      const file = () => [Buffer.from(`email\n${stored}\n${given}\n`)]
      const dry = await contacts.import(null, file(), { format: 'csv', dry_run: true })
      assert.deepEqual([dry.created, dry.updated], [1, 1])
      const run = await contacts.import(null, file(), { format: 'csv' })
      assert.deepEqual([run.created, run.updated], [1, 1])
      const other = (email: string) => email.replace(/^ada/i, 'bob')
      const upserts = [stored, given].map((email) => ({ op: 'upsert' as const, email: other(email) }))
      const [first, second] = await contacts.batch(upserts)
      assert.equal(first!.id, second!.id)
      assert.deepEqual(
        (await contacts.list()).data.map(({ email }) => email),
        [stored, other(stored)],
      )
      await mail.acme.identities.add({ email: 'news@acme.example', status: 'verified' })
      const { id } = await addNewsletter(mail, {})
      assert.equal((await mail.acme.newsletters.test(id, { emails: [stored, given] })).length, 1)
    })

    test('stays suppressed', async (t) => {
      const mail = await openMail(t, {}, open)
      const { contacts, suppressions, newsletters } = mail.acme
      const { suppression, created } = await suppressions.create({ email: stored })
      assert.ok(created)
      assert.deepEqual(await suppressions.create({ email: given }), { suppression, created: false })
      await contacts.upsert({ email: given })
      await mail.acme.identities.add({ email: 'news@acme.example', status: 'verified' })
      const { id } = await addNewsletter(mail, {})
      await newsletters.send(id)
      await mail.run()
      const { counts } = await newsletters.get(id)
      assert.deepEqual([counts.sent, counts.skipped], [0, 1])
    })

    test('stays unsubscribed after an import', async (t) => {
      const { acme } = await open(t, { start: false })
      await acme.contacts.upsert({ email: stored })
      await acme.contacts.unsubscribe({ email: given })
      const list = await acme.lists.create({ name: 'News' })
      await acme.contacts.import(list.id, [Buffer.from(`email\n${given}\n`)], { format: 'csv' })
      const { data } = await acme.contacts.list({ include_unsubscribed: true })
      assert.deepEqual(
        data.map(({ email, unsubscribed_at }) => [email, unsubscribed_at !== null]),
        [[stored, true]],
      )
    })

    test('stays erased', async (t) => {
      const { acme } = await open(t, { start: false })
      const { contacts, suppressions } = acme
      await contacts.upsert({ email: stored })
      await suppressions.create({ email: given })
      await contacts.delete({ email: given }, { suppress: true })
      await assert.rejects(contacts.upsert({ email: given }), isRefused)
      const [result] = await contacts.batch([{ op: 'upsert', email: given }])
      assert.ok(result!.errors, JSON.stringify(result))
      const { contact } = await contacts.upsert({ email: 'bob@example.org' })
      await assert.rejects(contacts.changeEmail(contact.id, { email: given }), isRefused)
      const dry = await contacts.import(null, [Buffer.from(`email\n${given}\n`)], { format: 'csv', dry_run: true })
      assert.deepEqual([dry.created, dry.refused], [0, 1])
      const left = (await suppressions.list()).data
      assert.deepEqual(
        left.map(({ email, reason }) => [email, reason]),
        [[null, 'erased']],
      )
    })

    test('takes its suppression with it when it is erased', async (t) => {
      const { acme } = await open(t, { start: false })
      await acme.contacts.upsert({ email: stored })
      await acme.suppressions.create({ email: given })
      await acme.contacts.delete({ email: stored })
      assert.deepEqual((await acme.suppressions.list()).data, [])
    })

    test('keeps a link of double opt-in when it is spelled differently, and a new sign-up sends no second contact', async (t) => {
      const events: RaisedEvent[] = []
      const { acme, mailkeep } = await open(t, {
        start: false,
        publicUrl: 'https://mail.example.org',
        onEvent: (event) => void events.push(event),
      })
      const list = await acme.lists.create({ name: 'News', double_opt_in: true })
      const { contact } = await acme.contacts.addToList(list.id, { email: stored })
      const { confirm_url } = events.at(-1)!.data as { confirm_url: string }
      assert.equal((await acme.contacts.addToList(list.id, { email: given })).created, false)
      await acme.contacts.changeEmail(contact.id, { email: given })
      const opened = await mailkeep.links.open(confirm_url.split('/').at(-2)!, 'confirm')
      assert.deepEqual([opened.listId, opened.contact.id], [list.id, contact.id])
    })

    test('is one sender identity', async (t) => {
      const { acme } = await open(t, { start: false })
      await acme.identities.add({ email: stored })
      await assert.rejects(acme.identities.add({ email: given }), isRefused)
    })
  })
}

onEveryDatabase('addresses that are different mailboxes', (open) => {
  test('are different contacts', async (t) => {
    const { acme } = await open(t, { start: false })
    const emails = [
      ...['ada@straße.example', 'ada@strasse.example', 'ada@βόλος.example', 'ada@βόλοσ.example'],
      ...['ada@ısparta.example', 'ada@isparta.example', 'ada@İsparta.example', 'ä@example.org', 'a\u0308@example.org'],
      // Encoded as a URL these would be IPv4 addresses, too long, or invalid.
      ...[
        'ada@１.0x10',
        'ada@１.0x0.0x10',
        `ada@${'ü'.repeat(60)}.example`,
        'ada@1א.example',
        'ada@xn--a.bücher.example',
      ],
    ]
    const ids = new Set<number>()
    for (const email of emails) ids.add((await acme.contacts.upsert({ email })).contact.id)
    assert.equal(ids.size, emails.length - 1, 'only the two forms of ä in a local part are one')
    for (const email of emails) assert.ok(ids.has((await acme.contacts.get({ email })).id), email)
  })

  test('are one contact where domain names make no difference', async (t) => {
    const { acme } = await open(t, { start: false })
    for (const [one, other] of [
      ['ada@STRAẞE.example', 'ada@xn--strae-oqa.example'],
      ['ada@ＢÜＣＨＥＲ.example', ascii],
      ['ada@日本.xn--wgv71a', 'ada@xn--wgv71a.日本'],
    ] as const) {
      const { contact } = await acme.contacts.upsert({ email: one })
      assert.equal((await acme.contacts.get({ email: other })).id, contact.id, one)
    }
  })
})
