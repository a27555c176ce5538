/** The mail that asks a contact to confirm: double opt-in where sending is set up. */
import assert from 'node:assert/strict'
import type { CapturedMail } from '../../lib/testing.ts'
import { test } from '../support/databases.ts'
import { addAudience, addNewsletter, type OpenedMail, openAnother, openMail } from '../support/mail-harness.ts'
import { hourMs, type Open, onEveryDatabase, onSharedDatabases } from '../support/webhook-harness.ts'

const email = 'ada@example.org'

async function openNews(t: Parameters<Open>[0], open: Open) {
  const mail = await openMail(t, {}, open)
  await mail.acme.identities.add({ email: 'news@acme.example', name: 'Acme', status: 'verified' })
  const list = await mail.acme.lists.create({ name: 'News', double_opt_in: true })
  return { ...mail, list }
}

async function confirm({ mailkeep }: Pick<OpenedMail, 'mailkeep'>, { text }: CapturedMail): Promise<void> {
  const [, token] = /\/c\/([^/]+)\/confirm/.exec(text)!
  const { clientId, contact, listId } = await mailkeep.links.open(token!, 'confirm')
  await mailkeep.forClient(clientId).contacts.confirm(listId!, contact.id)
}

onEveryDatabase('the confirmation mail', (open) => {
  test('is sent once for a request, and its link confirms', async (t) => {
    const mail = await openNews(t, open)
    await mail.acme.contacts.addToList(mail.list.id, { email, name: 'Ada' })
    await mail.acme.contacts.addToList(mail.list.id, { email })
    await mail.run()
    const [sent, ...more] = mail.transport.captured
    assert.deepEqual(more, [])
    assert.deepEqual([sent!.to, sent!.from.email], [{ name: 'Ada', email }, 'news@acme.example'])
    assert.equal(sent!.subject, 'Please confirm your subscription to News')
    assert.match(sent!.headers['Feedback-ID']!, /^confirmation:client-\d+:confirmation:mailkeep$/)
    await confirm(mail, sent!)
    assert.equal((await mail.acme.contacts.get({ email })).lists[0]!.id, mail.list.id)
  })

  test('is also sent to the contacts of the first import and of a batch', async (t) => {
    const mail = await openNews(t, open)
    const { list, acme } = mail
    await acme.contacts.import(list.id, ['email\na@example.org\nb@example.org\n'], { format: 'csv' })
    await acme.contacts.batch({ operations: [{ op: 'upsert', email: 'c@example.org', lists: [list.id] }] })
    await mail.run()
    assert.deepEqual(mail.mailed(), ['a@example.org', 'b@example.org', 'c@example.org'])
  })

  test('keeps to the rate of mail, and shares it with a newsletter that is being sent', async (t) => {
    const mail = await openMail(t, { rate: 10 }, open)
    const { acme } = mail
    const { list: readers } = await addAudience(mail, 20)
    const list = await acme.lists.create({ name: 'News', double_opt_in: true })
    const people = Array.from({ length: 20 }, (_, at) => ({ email: `new${at}@example.org` }))
    await acme.contacts.addManyToList(list.id, people)
    const { id } = await addNewsletter(mail, { lists: [readers.id] })
    await acme.newsletters.send(id)
    const startedMs = mail.clock.read()
    for (let nextMs = await mail.run(); mail.mailed().length < 40; nextMs = await mail.run()) {
      mail.advance(Math.max(1, nextMs! - mail.clock.read()))
    }
    const tookMs = mail.clock.read() - startedMs
    assert.ok(tookMs >= 3800 && tookMs < 5500, `${tookMs} ms`)
    const early = mail.transport.captured.slice(0, 20).filter(({ to }) => to.email.startsWith('new'))
    assert.ok(early.length >= 8 && early.length <= 12, `${early.length} of the first 20 mails are confirmations`)
  })

  test('is in the language of the pages, and not sent to suppressed addresses', async (t) => {
    const mail = await openNews(t, open)
    await mail.acme.settings.pages.update({ name: 'Gärtnerei', language: 'de' })
    await mail.acme.suppressions.create({ email: 'bad@example.org' })
    for (const one of [email, 'bad@example.org']) await mail.acme.contacts.addToList(mail.list.id, { email: one })
    await mail.run()
    assert.deepEqual(mail.mailed(), [email])
    const { subject, text } = mail.transport.captured[0]!
    assert.match(subject + text, /Bitte bestätigen.*News von Gärtnerei/s)
  })

  test('is not sent after its address was changed, its list was deleted, or the contact has joined', async (t) => {
    const mail = await openNews(t, open)
    const { acme, list } = mail
    const other = await acme.lists.create({ name: 'Other', double_opt_in: true })
    const { contact } = await acme.contacts.addToList(list.id, { email: 'typo@example.org' })
    await acme.contacts.addToList(other.id, { email })
    await acme.contacts.changeEmail(contact.id, { email: 'right@example.org' })
    await acme.lists.delete(other.id)
    await acme.contacts.addToList(list.id, { email: 'c@example.org' })
    await acme.contacts.addToList(list.id, { email: 'c@example.org', confirmed: true })
    await mail.run()
    assert.deepEqual(mail.mailed(), [])
    await acme.contacts.addToList(list.id, { email: 'right@example.org' })
    await mail.run()
    assert.deepEqual(mail.mailed(), ['right@example.org'])
  })

  test('is also sent to a contact that was merged into another one since', async (t) => {
    const mail = await openNews(t, open)
    const { acme, list } = mail
    const { contact } = await acme.contacts.addToList(list.id, { email })
    const { contact: target } = await acme.contacts.upsert({ email: 'countess@example.org' })
    await acme.contacts.merge(contact.id, { into: target.id })
    await mail.run()
    await confirm(mail, mail.transport.captured[0]!)
    assert.equal((await acme.contacts.get(target.id)).lists[0]!.id, list.id)
  })

  test('is tried again after a temporary error, and suppresses an address that does not exist', async (t) => {
    const mail = await openNews(t, open)
    mail.transport.reply = 'temporary'
    await mail.acme.contacts.addToList(mail.list.id, { email })
    await mail.run()
    mail.transport.reply = 'unknown mailbox'
    mail.advance(hourMs)
    await mail.run()
    assert.deepEqual(mail.mailed(), [email, email])
    assert.deepEqual(
      (await mail.acme.suppressions.list()).data.map((row) => [row.email, row.reason]),
      [[email, 'hard_bounce']],
    )
  })
})

onSharedDatabases('the confirmation mail', (open) => {
  test('is sent by another process that was open before the first request', async (t) => {
    const mail = await openNews(t, open)
    const other = await openAnother(t, mail, mail.clock.read)
    await mail.acme.contacts.addToList(mail.list.id, { email })
    await other.run()
    assert.deepEqual(other.mailed(), [email])
  })
})
