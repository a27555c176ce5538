/** The statements of sending on SQLite read indexes, and never scan a table. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onSqlite } from '../support/kinds.ts'
import { addAudience, addNewsletter, content, openMail } from '../support/mail-harness.ts'
import { recordStatements } from '../support/recorded-statements.ts'
import { dayMs, share } from '../support/webhook-harness.ts'

test('every statement of sending uses an index', async (t) => {
  const place = onSqlite('SQLite in memory')
  const { texts, prepare } = recordStatements(place.handle)
  const mail = await openMail(t, { place: share(place) })
  const { acme } = mail
  const { list, ids } = await addAudience(mail, 30)
  texts.clear()
  const newsletter = await addNewsletter(mail, { lists: [list.id] })
  mail.transport.reply = ({ to }) =>
    to.email.includes('1') ? 'temporary' : to.email.includes('2') ? 'uncertain' : 'sent'
  await acme.newsletters.send(newsletter.id)
  await mail.run()
  await acme.newsletters.pause(newsletter.id)
  await acme.newsletters.resume(newsletter.id, { uncertain: 'resend' })
  await acme.newsletters.messages(newsletter.id)
  await acme.newsletters.messages(newsletter.id, { status: 'sent' })
  await acme.contacts.messages(ids[0]!)
  await acme.newsletters.cancel(newsletter.id)
  const { id } = await acme.sequences.create({ name: 'Welcome', list_id: list.id })
  const steps = [
    { ...content, delay_seconds: 0 },
    { ...content, delay_seconds: 86_400 },
  ]
  await acme.sequences.setSteps(id, { steps })
  await acme.contacts.addToList(list.id, { email: 'new@example.org' })
  for (const contact_id of ids.slice(0, 5)) await acme.sequences.enrol(id, { contact_id })
  mail.advance(dayMs)
  await mail.run()
  await acme.sequences.enrolments(id)
  await acme.contacts.unsubscribe(ids[1]!)
  await acme.contacts.removeFromList(list.id, ids[2]!)
  await acme.contacts.merge(ids[3]!, { into: ids[4]! })
  await acme.contacts.delete(ids[5]!)
  await acme.sequences.delete(id)
  await acme.newsletters.delete(newsletter.id)
  const own = [...texts].filter((sql) => /mailkeep_(message|newsletter|sequence|step|enrolment)\b/.test(sql))
  assert.ok(own.length > 30, `${own.length}`)
  for (const sql of own) {
    if (/^\s*insert/i.test(sql) && !/select/i.test(sql)) continue
    const parameters = Array.from({ length: sql.split('?').length - 1 }, () => 1n)
    const plan = prepare(`explain query plan ${sql}`).all(...parameters) as { detail: string }[]
    for (const { detail } of plan) {
      // Small sets: rows of a parameter, results of a subquery, and the newsletters and sequences that are being sent.
      const isSmall =
        /json_each|SUBQUERY|CONSTANT ROW|source|merged|ranged|item|last|USING (COVERING )?INDEX mailkeep_\w+_(sending|active|lease)/
      assert.ok(!/^SCAN/.test(detail) || isSmall.test(detail), `${detail}: ${sql}`)
    }
  }
})
