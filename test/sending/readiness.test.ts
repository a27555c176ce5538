/** What a newsletter must have before it is sent, and what its templates show of the client. */
import assert from 'node:assert/strict'
import { MailkeepError } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { addAudience, addNewsletter, emailOf, openMail } from '../support/mail-harness.ts'
import { isInvalid } from '../support/refusal.ts'
import { hourMs, onEveryDatabase } from '../support/webhook-harness.ts'

onEveryDatabase('an audience', (open) => {
  test('that names a record that does not exist selects no contact, and is refused when it is sent', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme, mailkeep } = mail
    const { list } = await addAudience(mail, 2)
    const other = mailkeep.forClient((await mailkeep.clients.create({ name: 'Other' })).id)
    const foreign = await other.lists.create({ name: 'Theirs' })
    await other.contacts.addToList(foreign.id, { email: 'bob@example.org' })
    for (const [field, ids] of Object.entries({
      lists: [list.id, foreign.id],
      tags: [999],
      topics: [999],
      exclude_lists: [999],
      exclude_tags: [999],
    })) {
      const { id } = await addNewsletter(mail, { lists: [list.id], [field]: ids })
      const path = `audience.${field}.${ids.length - 1}`
      await assert.rejects(acme.newsletters.send(id), isInvalid(path))
      const at = new Date(mail.clock.read() + hourMs).toISOString()
      await assert.rejects(acme.newsletters.send(id, { at }), isInvalid(path))
      assert.equal((await acme.newsletters.get(id)).status, 'draft')
    }
    const { id } = await addNewsletter(mail, { lists: [foreign.id] })
    assert.deepEqual(await acme.newsletters.audience(id), { count: 0 })
    await mail.run()
    assert.deepEqual(mail.mailed(), [])
  })

  test('with a filter without ids selects no contact, and is refused when it is sent', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { list } = await addAudience(mail, 2)
    for (const field of ['lists', 'tags', 'topics']) {
      const { id, audience } = await addNewsletter(mail, { lists: [list.id], [field]: [] })
      assert.deepEqual(audience, { lists: [list.id], [field]: [] })
      assert.deepEqual(await acme.newsletters.audience(id), { count: 0 })
      await assert.rejects(acme.newsletters.send(id), isInvalid(`audience.${field}`))
      assert.equal((await acme.newsletters.get(id)).status, 'draft')
      const segment = await acme.segments.create({ name: field, filters: { [field]: [] } })
      const ofSegment = await addNewsletter(mail, { lists: [list.id], segment: segment.id })
      await assert.rejects(acme.newsletters.send(ofSegment.id), isInvalid('audience.segment'))
    }
    const { id } = await addNewsletter(mail, { lists: [list.id], exclude_lists: [], exclude_tags: [] })
    await acme.newsletters.send(id)
    await mail.run()
    assert.deepEqual(mail.mailed(), [emailOf(1), emailOf(2)])
  })

  test('whose segment or list was deleted is refused', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { list } = await addAudience(mail, 1)
    const segment = await acme.segments.create({ name: 'All', filters: {} })
    const draft = await addNewsletter(mail, { segment: segment.id })
    await acme.segments.delete(segment.id)
    await assert.rejects(acme.newsletters.send(draft.id), isInvalid('audience.segment'))
    assert.equal((await acme.newsletters.get(draft.id, { audience: true })).current_audience, null)
    const excluded = await acme.lists.create({ name: 'Not these' })
    const scheduled = await addNewsletter(mail, { lists: [list.id], exclude_lists: [excluded.id] })
    await acme.newsletters.send(scheduled.id, { at: new Date(mail.clock.read() + hourMs).toISOString() })
    await acme.lists.delete(excluded.id)
    await assert.rejects(
      acme.newsletters.update(scheduled.id, { name: 'January' }),
      isInvalid('audience.exclude_lists.0'),
    )
    mail.advance(hourMs)
    await mail.run()
    const failed = await acme.newsletters.get(scheduled.id)
    assert.equal(failed.status, 'failed')
    assert.match(failed.error!, /There is no list/)
    assert.deepEqual(mail.mailed(), [])
  })

  test('whose segment filters by an attribute that is not declared any more is refused', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    await addAudience(mail, 1)
    await acme.settings.attributes.update({ indexed: ['plan'] })
    const segment = await acme.segments.create({ name: 'Pro', filters: { attributes: { plan: 'pro' } } })
    const [draft, scheduled] = [
      await addNewsletter(mail, { segment: segment.id }),
      await addNewsletter(mail, { segment: segment.id }),
    ]
    const at = new Date(mail.clock.read() + hourMs).toISOString()
    await acme.newsletters.send(scheduled.id, { at })
    await acme.settings.attributes.update({ indexed: [] })
    await assert.rejects(acme.newsletters.send(draft.id), isInvalid('audience.segment'))
    await assert.rejects(acme.newsletters.send(draft.id, { at }), isInvalid('audience.segment'))
    await assert.rejects(acme.newsletters.update(scheduled.id, { name: 'January' }), isInvalid('audience.segment'))
    assert.equal((await acme.newsletters.get(draft.id, { audience: true })).current_audience, null)
    mail.advance(hourMs)
    await mail.run()
    const { status, error, started_at } = await acme.newsletters.get(scheduled.id)
    assert.deepEqual([status, started_at], ['failed', null])
    assert.match(error!, /"plan"/)
  })
})

onEveryDatabase('a message', (open) => {
  test('that a process cannot send because of its settings is tried again', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    await addAudience(mail, 1)
    mail.transport.reply = () => {
      const message = 'Sending mail needs the package nodemailer.'
      throw new MailkeepError('validation_failed', message, { errors: { transport: [message] } })
    }
    const { id } = await addNewsletter(mail, {})
    await acme.newsletters.send(id)
    await mail.run()
    const [waiting] = (await acme.newsletters.messages(id)).data
    assert.deepEqual([waiting!.status, waiting!.error], ['pending', 'Sending mail needs the package nodemailer.'])
    mail.transport.reply = 'sent'
    mail.advance(hourMs)
    await mail.run()
    assert.equal((await acme.newsletters.get(id)).counts.sent, 1)
  })

  test('whose content cannot be rendered for its contact fails', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { list } = await addAudience(mail, 1)
    await acme.contacts.addToList(list.id, { email: 'large@example.org', repeat: '900000000' })
    const html = '{% for i in (1..contact.attributes.repeat) %}x{% endfor %}<a href="{{ unsubscribe_url }}">x</a>'
    const { id } = await acme.newsletters.create({ subject: 'News', html })
    await acme.newsletters.send(id)
    await mail.run()
    const { counts } = await acme.newsletters.get(id)
    assert.deepEqual(counts, { recipients: 2, pending: 0, sent: 1, failed: 1, skipped: 0, uncertain: 0 })
    assert.deepEqual(mail.mailed(), [emailOf(1)])
  })

  test('fails if a condition hides the link to unsubscribe from its contact', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { list } = await addAudience(mail, 1)
    const { contact } = await acme.contacts.addToList(list.id, { email: 'vip@example.org', plan: 'vip' })
    const link = '<a href="{{ unsubscribe_url }}">Unsubscribe</a>'
    const html = `<p>Hello</p>{% unless contact.attributes.plan == "vip" %}${link}{% endunless %}`
    const { id } = await acme.newsletters.create({ subject: 'News', html })
    await assert.rejects(acme.newsletters.preview(id, { contact_id: contact.id }), isInvalid('html'))
    await acme.newsletters.send(id)
    await mail.run()
    assert.deepEqual(mail.mailed(), [emailOf(1)])
    const [failed] = (await acme.newsletters.messages(id, { status: 'failed' })).data
    assert.equal(failed!.contact_id, contact.id)
    assert.match(failed!.error!, /unsubscribe_url/)
  })
})

onEveryDatabase('a test message', (open) => {
  test('is not sent to a suppressed address', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    await addAudience(mail, 0)
    await acme.suppressions.create({ email: 'gone@example.org' })
    const { id } = await addNewsletter(mail, {})
    const results = await acme.newsletters.test(id, { emails: ['me@example.org', 'Gone@example.org'] })
    assert.deepEqual(results, [
      { email: 'me@example.org', status: 'sent', error: null },
      { email: 'Gone@example.org', status: 'failed', error: 'The address is suppressed.' },
    ])
    assert.deepEqual(mail.mailed(), ['me@example.org'])
  })
})

onEveryDatabase('a test message to a repeated address', (open) => {
  test('is sent once, to the first spelling', async (t) => {
    const mail = await openMail(t, {}, open)
    await addAudience(mail, 0)
    const { id } = await addNewsletter(mail, {})
    const emails = ['Me@example.org', 'me@example.org', 'you@example.org', ' ME@EXAMPLE.ORG ']
    assert.deepEqual(await mail.acme.newsletters.test(id, { emails }), [
      { email: 'Me@example.org', status: 'sent', error: null },
      { email: 'you@example.org', status: 'sent', error: null },
    ])
    assert.deepEqual(mail.mailed(), ['Me@example.org', 'you@example.org'])
  })
})

onEveryDatabase('the postal address in mails', (open) => {
  test('is that of the client, else that of the service', async (t) => {
    const mail = await openMail(t, { mail: { postalAddress: 'Service Road 1' } }, open)
    const { acme } = mail
    const { ids } = await addAudience(mail, 1)
    const html = '<p>{{ client.postal_address }}</p><a href="{{ unsubscribe_url }}">Unsubscribe</a>'
    const { id } = await acme.newsletters.create({ subject: 'News from {{ client.name }}', html })
    const shown = async () => (await acme.newsletters.preview(id, { contact_id: ids[0]! })).html
    assert.match(await shown(), /<p>Service Road 1<\/p>/)
    await acme.settings.pages.update({ postal_address: 'Acme Ltd, 1 High Street <London>' })
    assert.match(await shown(), /<p>Acme Ltd, 1 High Street &lt;London&gt;<\/p>/)
    await acme.newsletters.send(id)
    await mail.run()
    assert.deepEqual(mail.mailed(), [emailOf(1)])
    assert.match(mail.transport.captured[0]!.html, /Acme Ltd, 1 High Street/)
    await acme.settings.pages.update({})
    assert.match(await shown(), /Service Road 1/)
  })
})
