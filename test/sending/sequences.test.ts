import assert from 'node:assert/strict'
import { isMailkeepError } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { addAudience, content, emailOf, type OpenedMail, openAnother, openMail } from '../support/mail-harness.ts'
import { dayMs, hourMs, onEveryDatabase, until } from '../support/webhook-harness.ts'

const daySeconds = 86_400

const step = (subject: string, days: number, id?: number) => ({
  ...content,
  subject,
  delay_seconds: days * daySeconds,
  ...(id === undefined ? {} : { id }),
})

/** Subjects of the mails to an address, in their order. */
const subjectsTo = (mail: OpenedMail, email: string) =>
  mail.transport.captured.filter(({ to }) => to.email === email).map(({ subject }) => subject)

/** Moves the clock day by day, and sends what is due. */
async function passDays(mail: OpenedMail, days: number): Promise<void> {
  for (let day = 0; day < days; day++) {
    mail.advance(dayMs)
    await mail.run()
  }
}

onEveryDatabase('a sequence', (open) => {
  test('sends its steps to contacts who join its list, each after its delay', async (t) => {
    const events: { type: string; data: object }[] = []
    const mail = await openMail(t, { onEvent: ({ type, data }) => events.push({ type, data }) }, open)
    const { acme } = mail
    const { list } = await addAudience(mail, 1)
    const created = { name: 'Welcome', list_id: list.id, steps: [step('One', 0), step('Two', 2)] }
    const { id, steps } = await acme.sequences.create(created)
    assert.deepEqual(
      steps.map(({ position, subject }) => [position, subject]),
      [
        [1, 'One'],
        [2, 'Two'],
      ],
    )
    const { contact } = await acme.contacts.addToList(list.id, { email: 'ada@example.org' })
    await mail.run()
    assert.deepEqual(subjectsTo(mail, 'ada@example.org'), ['One'])
    const [enrolment] = (await acme.sequences.enrolments(id)).data
    assert.equal(enrolment!.contact_id, contact.id)
    assert.equal(enrolment!.next_step_id, steps[1]!.id)
    await passDays(mail, 1)
    assert.deepEqual(subjectsTo(mail, 'ada@example.org'), ['One'])
    await passDays(mail, 1)
    assert.deepEqual(subjectsTo(mail, 'ada@example.org'), ['One', 'Two'])
    assert.equal((await acme.sequences.enrolments(id)).data[0]!.status, 'completed')
    assert.deepEqual(subjectsTo(mail, emailOf(1)), [], 'who joined before the sequence is not enrolled')
    const own = events.filter(({ type }) => type.startsWith('sequence'))
    assert.deepEqual(
      own.map(({ type }) => type),
      ['sequence_step.sent', 'sequence_step.sent', 'sequence.completed'],
    )
    assert.deepEqual(
      own.map(({ data }) => Object.keys(data)),
      [
        ['contact', 'sequence', 'step', 'message_id'],
        ['contact', 'sequence', 'step', 'message_id'],
        ['contact', 'sequence'],
      ],
    )
    const [newest] = (await acme.contacts.messages(contact.id)).data
    assert.equal(newest!.step_id, steps[1]!.id)
  })

  test('continues after the clock was set back: the delays begin again', async (t) => {
    const mail = await openMail(t, {}, open)
    const { list } = await addAudience(mail, 1)
    const { id } = await mail.acme.sequences.create({
      name: 'Welcome',
      list_id: list.id,
      steps: [step('One', 0), step('Two', 2)],
    })
    mail.advance(40 * dayMs)
    await mail.acme.contacts.addToList(list.id, { email: 'ada@example.org' })
    await mail.run()
    await mail.acme.contacts.addToList(list.id, { email: 'bob@example.org' })
    mail.advance(-40 * dayMs)
    await mail.run()
    mail.advance(1000) // the pace begins again
    await mail.run()
    assert.deepEqual(subjectsTo(mail, 'bob@example.org'), ['One'], 'it was due at once')
    await passDays(mail, 1)
    assert.deepEqual(subjectsTo(mail, 'ada@example.org'), ['One'])
    await passDays(mail, 1)
    for (const email of ['ada@example.org', 'bob@example.org'])
      assert.deepEqual(subjectsTo(mail, email), ['One', 'Two'])
    const { data } = await mail.acme.sequences.enrolments(id)
    assert.deepEqual(
      data.map(({ status }) => status),
      ['completed', 'completed'],
    )
  })

  test('enrols contacts of bulk saves and batches, but none who has unsubscribed', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { list } = await addAudience(mail, 1)
    const gone = await acme.contacts.upsert({ email: 'gone@example.org' })
    await acme.contacts.unsubscribe(gone.contact.id)
    const { id } = await acme.sequences.create({ name: 'Welcome', list_id: list.id })
    await acme.sequences.setSteps(id, { steps: [step('One', 0)] })
    await acme.contacts.addManyToList(list.id, [{ email: 'a@example.org' }, { email: 'gone@example.org' }])
    await acme.contacts.batch([{ op: 'upsert', email: 'b@example.org', lists: [list.id] }])
    await mail.run()
    assert.deepEqual(mail.mailed(), ['a@example.org', 'b@example.org'])
    assert.equal((await acme.sequences.enrolments(id)).data.length, 2)
  })

  for (const tried of [false, true]) {
    const when = tried ? ', also a step that is tried again' : ''
    test(`skips its steps while the address of a contact is suppressed${when}`, async (t) => {
      const events: string[] = []
      const mail = await openMail(t, { onEvent: ({ type }) => events.push(type) }, open)
      const { acme } = mail
      const { list } = await addAudience(mail, 0)
      await acme.sequences.create({ name: 'Welcome', list_id: list.id, steps: [step('One', 0), step('Two', 2)] })
      await acme.contacts.addToList(list.id, { email: emailOf(1) })
      if (tried) {
        mail.transport.reply = 'temporary'
        await mail.run()
        mail.transport.reply = 'sent'
      }
      const { suppression } = await acme.suppressions.create({ email: emailOf(1) })
      mail.advance(hourMs)
      await mail.run()
      await acme.suppressions.delete(suppression.id)
      await passDays(mail, 3)
      assert.deepEqual(subjectsTo(mail, emailOf(1)).slice(tried ? 1 : 0), ['Two'])
      assert.deepEqual(
        events.filter((type) => type.startsWith('sequence')),
        ['sequence_step.sent', 'sequence.completed'],
      )
    })
  }

  test('stops for contacts who unsubscribe, leave its list, are erased or are stopped by hand', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const list = await acme.lists.create({ name: 'Readers' })
    await acme.identities.add({ email: 'news@acme.example', status: 'verified' })
    const { id } = await acme.sequences.create({ name: 'Welcome', list_id: list.id })
    await acme.sequences.setSteps(id, { steps: [step('One', 1)] })
    const people = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ email: `${name}@example.org` }))
    const ids = (await acme.contacts.addManyToList(list.id, people)).map((result) => (result as { id: number }).id)
    await acme.contacts.unsubscribe(ids[0]!)
    await acme.contacts.resubscribe(ids[0]!)
    await acme.contacts.removeFromList(list.id, ids[1]!)
    await acme.contacts.delete(ids[2]!)
    await acme.sequences.stop(id, ids[3]!)
    const { data } = await acme.sequences.enrolments(id)
    assert.deepEqual(
      data.map(({ reason }) => reason),
      ['unsubscribed', 'left_list', 'erased', 'manual', null],
    )
    await passDays(mail, 2)
    assert.deepEqual(mail.mailed(), ['e@example.org'])
    const again = await acme.sequences.enrol(id, { contact_id: ids[1]! })
    assert.equal(again.status, 'active')
    await passDays(mail, 2)
    assert.deepEqual(mail.mailed(), ['b@example.org', 'e@example.org'], 'by hand, without the list')
  })

  test('leaves a contact at its step who is enrolled again while it is on its way', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { ids } = await addAudience(mail, 1)
    const { id } = await acme.sequences.create({ name: 'Course', steps: [step('One', 0), step('Two', 1)] })
    const enrol = () => acme.sequences.enrol(id, { contact_id: ids[0]! })
    await enrol()
    await mail.run()
    const [before] = (await acme.sequences.enrolments(id)).data
    assert.deepEqual(await enrol(), before)
    await passDays(mail, 2)
    assert.deepEqual(subjectsTo(mail, emailOf(1)), ['One', 'Two'])
  })

  test('takes a step that is added later, and leaves out one that is removed', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { ids } = await addAudience(mail, 2)
    const { id } = await acme.sequences.create({ name: 'Course' })
    const { steps } = await acme.sequences.setSteps(id, { steps: [step('One', 0), step('Two', 2), step('Three', 2)] })
    const [one, , three] = steps.map((each) => each.id)
    await acme.sequences.enrol(id, { contact_id: ids[0]! })
    await mail.run()
    await acme.sequences.setSteps(id, {
      steps: [step('Zero', 0), step('One', 0, one), step('New', 1), step('Three', 2, three)],
    })
    await acme.sequences.enrol(id, { contact_id: ids[1]! })
    await passDays(mail, 5)
    assert.deepEqual(subjectsTo(mail, emailOf(1)), ['One', 'New', 'Three'])
    assert.deepEqual(subjectsTo(mail, emailOf(2)), ['Zero', 'One', 'New', 'Three'])
  })

  test('takes its steps back as it returned them, in the order of their positions', async (t) => {
    const { acme, advance } = await openMail(t, {}, open)
    const created = await acme.sequences.create({ name: 'Course', steps: [step('One', 0), step('Two', 2)] })
    const { id, steps } = created
    advance(hourMs)
    const same = await acme.sequences.setSteps(id, { steps })
    assert.deepEqual(same.steps, steps)
    assert.equal(Date.parse(same.updated_at) - Date.parse(created.updated_at), hourMs)
    const [one, two] = steps.map((each) => ({ ...each, position: 30 - 10 * each.position }))
    const turned = await acme.sequences.setSteps(id, { steps: [one!, two!] })
    assert.deepEqual(
      turned.steps.map(({ position, subject }) => [position, subject]),
      [
        [1, 'Two'],
        [2, 'One'],
      ],
    )
    const mixed = await acme.sequences.setSteps(id, { steps: [one!, step('Three', 1), two!] })
    assert.deepEqual(
      mixed.steps.map(({ subject }) => subject),
      ['One', 'Three', 'Two'],
    )
  })

  test('continues at once when a step is removed whose mail waits for its next attempt', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { ids } = await addAudience(mail, 1)
    const { id } = await acme.sequences.create({ name: 'Course', steps: [step('One', 0), step('Two', 0)] })
    mail.transport.reply = 'temporary'
    await acme.sequences.enrol(id, { contact_id: ids[0]! })
    await mail.run()
    mail.transport.reply = 'sent'
    const { steps } = await acme.sequences.get(id)
    await acme.sequences.setSteps(id, { steps: [step('Two', 0, steps[1]!.id)] })
    mail.advance(hourMs)
    await mail.run()
    assert.deepEqual(subjectsTo(mail, emailOf(1)), ['One', 'Two'])
    const { data } = await acme.contacts.messages(ids[0]!)
    assert.deepEqual(
      data.map(({ status, reason }) => [status, reason]),
      [
        ['sent', null],
        ['skipped', 'stopped'],
      ],
    )
    assert.equal((await acme.sequences.enrolments(id)).data[0]!.status, 'completed')
  })

  test('completes contacts whose last steps were removed', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { ids } = await addAudience(mail, 1)
    const { id } = await acme.sequences.create({ name: 'Course' })
    const { steps } = await acme.sequences.setSteps(id, { steps: [step('One', 0), step('Two', 30)] })
    await acme.sequences.enrol(id, { contact_id: ids[0]! })
    await mail.run()
    await acme.sequences.setSteps(id, { steps: [step('One', 0, steps[0]!.id)] })
    assert.equal((await acme.sequences.enrolments(id)).data[0]!.status, 'completed')
  })

  test('sends nothing while it is paused, and what became due afterwards', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { list } = await addAudience(mail, 0)
    const { id } = await acme.sequences.create({ name: 'Welcome', list_id: list.id })
    await acme.sequences.setSteps(id, { steps: [step('One', 1)] })
    await acme.contacts.addToList(list.id, { email: 'ada@example.org' })
    await acme.sequences.update(id, { status: 'paused' })
    await acme.contacts.addToList(list.id, { email: 'bob@example.org' })
    await passDays(mail, 3)
    assert.deepEqual(mail.mailed(), [])
    await acme.sequences.update(id, { status: 'active' })
    await mail.run()
    assert.deepEqual(mail.mailed(), ['ada@example.org'])
  })

  test('waits without work while its client has no sender', async (t) => {
    const mail = await openMail(t, {}, open)
    const { id } = await mail.acme.sequences.create({ name: 'Welcome', steps: [step('One', 0)] })
    const { contact } = await mail.acme.contacts.upsert({ email: 'ada@example.org' })
    await mail.acme.sequences.enrol(id, { contact_id: contact.id })
    assert.equal(await mail.run(), undefined)
    await mail.acme.identities.add({ email: 'news@acme.example' })
    await mail.run()
    assert.deepEqual(subjectsTo(mail, 'ada@example.org'), ['One'])
  })

  test('continues with the next step when a process died while it handed over a mail, and does not repeat that mail', async (t) => {
    const first = await openMail(t, {}, open)
    const { acme } = first
    const { list } = await addAudience(first, 0)
    const { id, steps } = await acme.sequences.create({
      ...{ name: 'Welcome', list_id: list.id },
      steps: [step('One', 0), step('Two', 2)],
    })
    const handedOver = new Promise<void>((resolve) => {
      first.transport.reply = () => {
        resolve()
        return new Promise(() => {}) // the process dies before the answer
      }
    })
    await acme.contacts.addToList(list.id, { email: 'ada@example.org' })
    void first.run().catch(() => {})
    await handedOver
    first.advance(hourMs)
    const events: string[] = []
    const second = await openAnother(t, first, first.clock.read, { onEvent: ({ type }) => events.push(type) })
    // The first process is not really dead: while it looks at its own leases, it locks them for a moment.
    await until('the step is past', async () => {
      await second.run()
      return (await acme.sequences.enrolments(id)).data[0]!.next_step_id === steps[1]!.id
    })
    first.advance(2 * dayMs)
    await second.run()
    assert.deepEqual(subjectsTo(second, 'ada@example.org'), ['Two'])
    assert.equal((await acme.sequences.enrolments(id)).data[0]!.status, 'completed')
    assert.deepEqual(
      events,
      ['sequence_step.sent', 'sequence.completed'],
      'none for the mail that may not have been sent',
    )
  })

  test('refuses steps whose templates are wrong', async (t) => {
    const { acme } = await openMail(t, {}, open)
    const { id } = await acme.sequences.create({ name: 'Course' })
    const wrong = [step('One', 0), { subject: 'Two', html: '<p>no link</p>', delay_seconds: 0 }]
    await assert.rejects(acme.sequences.setSteps(id, { steps: wrong }), (error) => {
      return isMailkeepError(error, 'validation_failed') && error.issues.some(({ path }) => path === 'steps.1.html')
    })
    assert.deepEqual((await acme.sequences.get(id)).steps, [])
  })

  test('enrols a contact by its address, and stops it by its address', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { contact } = await acme.contacts.upsert({ email: 'ada@example.org' })
    const { id } = await acme.sequences.create({ name: 'Course' })
    await acme.sequences.setSteps(id, { steps: [step('One', 1)] })
    const enrolment = await acme.sequences.enrol(id, { contact_id: { email: 'ADA@example.org' } })
    assert.deepEqual([enrolment.contact_id, enrolment.status], [contact.id, 'active'])
    await acme.sequences.stop(id, { email: 'ada@example.org' })
    assert.equal((await acme.sequences.enrolments(id)).data[0]!.status, 'stopped')
    for (const contact_id of [{ email: 'no@example.org' }, { email: 'no address' }, {}, '1', 0]) {
      await assert.rejects(acme.sequences.enrol(id, { contact_id: contact_id as never }), (error) => {
        return isMailkeepError(error, 'validation_failed') && /^contact_id/.test(error.issues[0]!.path)
      })
    }
  })

  test('is deleted with its enrolments and messages', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { ids } = await addAudience(mail, 1)
    const { id } = await acme.sequences.create({ name: 'Course' })
    await acme.sequences.setSteps(id, { steps: [step('One', 0), step('Two', 1)] })
    await acme.sequences.enrol(id, { contact_id: ids[0]! })
    await mail.run()
    await acme.sequences.delete(id)
    await passDays(mail, 2)
    assert.equal(mail.mailed().length, 1)
    assert.deepEqual((await acme.contacts.messages(ids[0]!)).data, [])
    await assert.rejects(acme.sequences.get(id), (error) => isMailkeepError(error, 'not_found'))
  })
})
