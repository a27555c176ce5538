/** What becomes of a sequence's contacts when a message is uncertain, or the list of the sequence goes. */
import assert from 'node:assert/strict'
import type { Sequence, SequenceStep } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { addAudience, content, emailOf, type OpenedMail, openMail } from '../support/mail-harness.ts'
import { isInvalid } from '../support/refusal.ts'
import { dayMs, hourMs, onEveryDatabase } from '../support/webhook-harness.ts'

const step = (subject: string, days: number) => ({ ...content, subject, delay_seconds: days * 86_400 })

const mailsTo = (mail: OpenedMail, email: string) =>
  mail.transport.captured.filter(({ to }) => to.email === email).map(({ subject }) => subject)

const passDay = async (mail: OpenedMail) => {
  mail.advance(dayMs)
  await mail.run()
}

const messagesOf = async ({ acme }: OpenedMail, { id }: Sequence) =>
  (await acme.sequences.messages(id)).data.map(({ status, reason }) => reason ?? status)

onEveryDatabase('a step that is removed while its mail is handed over', (open) => {
  test('is named by the event', async (t) => {
    const subjects: string[] = []
    const mail = await openMail(t, {}, open)
    const { acme, mailkeep } = mail
    await mailkeep.on('sequence_step.sent', ({ data }) => void subjects.push((data.step as SequenceStep).subject), {
      name: 'reader',
    })
    const { ids } = await addAudience(mail, 1)
    const sequence = await acme.sequences.create({ name: 'Course', steps: [step('One', 0), step('Two', 1)] })
    await acme.sequences.enrol(sequence.id, { contact_id: ids[0]! })
    mail.transport.reply = async () => {
      await acme.sequences.setSteps(sequence.id, { steps: sequence.steps.slice(1) })
      return 'sent' as const
    }
    await mail.run()
    await mailkeep.deliverDue()
    assert.deepEqual(subjects, ['One'])
  })
})

onEveryDatabase('a message of a sequence whose outcome is not known', (open) => {
  test('is sent again by one call, and its contact stays where it is', async (t) => {
    const events: string[] = []
    const mail = await openMail(t, { onEvent: ({ type }) => events.push(type) }, open)
    const { acme } = mail
    const { ids } = await addAudience(mail, 1)
    const sequence = await acme.sequences.create({ name: 'Course', steps: [step('One', 0), step('Two', 1)] })
    await acme.sequences.enrol(sequence.id, { contact_id: ids[0]! })
    mail.transport.reply = 'uncertain'
    await mail.run()
    mail.transport.reply = 'sent'
    const [uncertain] = (await acme.sequences.messages(sequence.id, { status: 'uncertain' })).data
    assert.deepEqual([uncertain!.sequence_id, uncertain!.contact_id], [sequence.id, ids[0]])
    await assert.rejects(acme.sequences.resume(sequence.id), isInvalid('status'))
    await passDay(mail)
    assert.deepEqual(await messagesOf(mail, sequence), ['uncertain', 'sent'])
    const before = mail.transport.captured.length
    const resumed = await acme.sequences.resume(sequence.id, { uncertain: 'resend' })
    assert.equal(resumed.status, 'active')
    await mail.run()
    await passDay(mail)
    assert.deepEqual(await messagesOf(mail, sequence), ['sent', 'sent'])
    assert.deepEqual(
      mail.transport.captured.slice(before).map(({ subject }) => subject),
      ['One'],
    )
    const own = events.filter((type) => type.startsWith('sequence'))
    assert.deepEqual(own.sort(), ['sequence.completed', 'sequence_step.sent', 'sequence_step.sent'])
    assert.equal((await acme.sequences.enrolments(sequence.id)).data[0]!.status, 'completed')
  })

  test('that is sent again while the next step waits does not send that step earlier, or twice', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { ids } = await addAudience(mail, 1)
    const sequence = await acme.sequences.create({ name: 'Course', steps: [step('One', 0), step('Two', 2)] })
    await acme.sequences.enrol(sequence.id, { contact_id: ids[0]! })
    mail.transport.reply = 'uncertain'
    await mail.run()
    mail.transport.reply = 'sent'
    await passDay(mail)
    const [waiting] = (await acme.sequences.enrolments(sequence.id)).data
    await acme.sequences.resume(sequence.id, { uncertain: 'resend' })
    await mail.run()
    assert.deepEqual((await acme.sequences.enrolments(sequence.id)).data, [waiting])
    await passDay(mail)
    await passDay(mail)
    assert.deepEqual(mailsTo(mail, emailOf(1)), ['One', 'One', 'Two'])
  })

  test('is skipped by one call, and not sent to contacts who were stopped or unsubscribed', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { ids } = await addAudience(mail, 3)
    const sequence = await acme.sequences.create({ name: 'Course', status: 'paused', steps: [step('One', 0)] })
    for (const contact_id of ids) await acme.sequences.enrol(sequence.id, { contact_id })
    mail.transport.reply = 'uncertain'
    assert.equal((await acme.sequences.resume(sequence.id)).status, 'active')
    await mail.run()
    const sent = mail.transport.captured.length
    await acme.contacts.unsubscribe(ids[0]!)
    await acme.sequences.enrol(sequence.id, { contact_id: ids[1]! })
    await acme.sequences.stop(sequence.id, ids[1]!)
    await acme.contacts.delete(ids[2]!)
    await acme.sequences.resume(sequence.id, { uncertain: 'resend' })
    await mail.run()
    assert.equal(mail.transport.captured.length, sent)
    assert.deepEqual(await messagesOf(mail, sequence), ['unsubscribed', 'stopped', 'erased'])
    const other = await acme.sequences.create({ name: 'Other', steps: [step('One', 0)] })
    await acme.sequences.enrol(other.id, { contact_id: ids[1]! })
    await mail.run()
    await acme.sequences.update(other.id, { status: 'paused' })
    assert.equal((await acme.sequences.resume(other.id, { uncertain: 'skip' })).status, 'active')
    assert.deepEqual(await messagesOf(mail, other), ['uncertain'])
    assert.deepEqual((await acme.sequences.messages(other.id, { status: 'skipped' })).data.length, 1)
  })
})

onEveryDatabase('a contact who is enrolled again', (open) => {
  async function openCourse(t: Parameters<typeof openMail>[0]) {
    const mail = await openMail(t, {}, open)
    const [contact_id] = (await addAudience(mail, 1)).ids
    const sequence = await mail.acme.sequences.create({ name: 'Course', steps: [step('One', 0), step('Two', 1)] })
    const enrol = () => mail.acme.sequences.enrol(sequence.id, { contact_id: contact_id! })
    await enrol()
    return { ...mail, sequence, enrol, contactId: contact_id! }
  }

  test('gets each step once, also one that was waiting for its next attempt', async (t) => {
    const mail = await openCourse(t)
    mail.transport.reply = 'temporary'
    await mail.run()
    mail.transport.reply = 'sent'
    await mail.acme.sequences.stop(mail.sequence.id, mail.contactId)
    await mail.enrol()
    const before = mail.transport.captured.length
    await mail.run()
    await passDay(mail)
    await passDay(mail)
    assert.deepEqual(
      mail.transport.captured.slice(before).map(({ subject }) => subject),
      ['One', 'Two'],
    )
    assert.deepEqual(await messagesOf(mail, mail.sequence), ['stopped', 'sent', 'sent'])
  })

  test('misses no step when an earlier message is sent again', async (t) => {
    const mail = await openCourse(t)
    await mail.run()
    mail.transport.reply = 'uncertain'
    await passDay(mail)
    mail.transport.reply = 'sent'
    mail.advance(dayMs)
    await mail.enrol()
    const before = mail.transport.captured.length
    await mail.acme.sequences.resume(mail.sequence.id, { uncertain: 'resend' })
    await mail.run()
    await passDay(mail)
    assert.deepEqual(
      mail.transport.captured.slice(before).map(({ subject }) => subject),
      ['Two', 'One', 'Two'],
    )
  })
})

onEveryDatabase('the steps of a sequence that are replaced', (open) => {
  type Steps = Sequence['steps']

  async function openCourse(t: Parameters<typeof openMail>[0], done: number) {
    const mail = await openMail(t, {}, open)
    const [contact_id] = (await addAudience(mail, 1)).ids
    const { id, steps } = await mail.acme.sequences.create({
      name: 'Course',
      steps: [step('One', 0), step('Two', 1), step('Three', 1)],
    })
    await mail.acme.sequences.enrol(id, { contact_id: contact_id! })
    await mail.run()
    for (let day = 1; day < done; day++) await passDay(mail)
    const order = async (...places: (Steps[number] | ReturnType<typeof step>)[]) =>
      (await mail.acme.sequences.setSteps(id, { steps: places.map((place) => ({ ...place, position: undefined })) }))
        .steps
    const rest = async () => {
      for (let day = 0; day < 6; day++) await passDay(mail)
      assert.equal((await mail.acme.sequences.enrolments(id)).data[0]!.status, 'completed')
      return mailsTo(mail, emailOf(1))
    }
    const [one, two, three] = steps as [SequenceStep, SequenceStep, SequenceStep]
    return { ...mail, id, contactId: contact_id!, one, two, three, order, rest }
  }

  for (const done of [1, 2]) {
    test(`are each sent once, when they are moved, to a contact who had ${done} of them`, async (t) => {
      const { acme, id, one, two, three, order, rest } = await openCourse(t, done)
      await order(two, one, three)
      const [{ next_step_id } = {}] = (await acme.sequences.enrolments(id)).data
      assert.equal(next_step_id, done === 1 ? two.id : three.id)
      assert.deepEqual(await rest(), ['One', 'Two', 'Three'])
    })
  }

  test('are each sent once when they are moved several times, with new and removed ones', async (t) => {
    const { acme, id, one, two, three, order, rest } = await openCourse(t, 2)
    const [, , , four] = await order(three, two, one, step('Four', 0))
    await order(four!, one, two, three)
    const [, early] = await order(four!, step('Early', 0), one, three)
    const { data } = await acme.sequences.enrolments(id)
    assert.equal(data[0]!.next_step_id, four!.id)
    await order(three, one, early!, four!, step('Last', 0))
    assert.deepEqual(await rest(), ['One', 'Two', 'Three', 'Four', 'Last'])
  })

  test('are each sent once when they are moved while a mail is handed over', async (t) => {
    const mail = await openCourse(t, 1)
    const { one, two, three, order, rest } = mail
    mail.transport.reply = async () => {
      mail.transport.reply = 'sent'
      await order(step('New', 0), three, two, one)
      return 'sent' as const
    }
    assert.deepEqual(await rest(), ['One', 'Two', 'Three'])
  })

  test('stay by their positions when none is given with an id', async (t) => {
    const { acme, id, one, two, three, order, rest } = await openCourse(t, 1)
    const changed = await order(step('One', 0), step('Second', 1), step('Three', 1), step('Four', 1))
    const ids = changed.map((each) => each.id)
    assert.deepEqual(ids.slice(0, 3), [one.id, two.id, three.id])
    const fewer = await order(step('One', 0), step('Second', 1))
    assert.deepEqual(
      fewer.map((each) => each.id),
      [one.id, two.id],
    )
    const positions = [
      { ...step('Second', 1), position: 20 },
      { ...step('One', 0), position: 10 },
    ]
    assert.deepEqual((await acme.sequences.setSteps(id, { steps: positions })).steps, fewer)
    assert.deepEqual(await rest(), ['One', 'Second'])
  })

  test('are all sent again, after a move, to a contact who is enrolled again', async (t) => {
    const { acme, id, contactId, one, two, three, order, rest } = await openCourse(t, 2)
    await order(two, one, three)
    await acme.sequences.stop(id, contactId)
    await acme.sequences.enrol(id, { contact_id: contactId })
    assert.deepEqual(await rest(), ['One', 'Two', 'Two', 'One', 'Three'])
  })

  test('are not sent again when a mail whose outcome was not known is sent again', async (t) => {
    const mail = await openCourse(t, 1)
    const { acme, id, one, two, three, order, rest } = mail
    mail.transport.reply = 'uncertain'
    await passDay(mail)
    mail.transport.reply = 'sent'
    await order(three, two, one)
    await acme.sequences.resume(id, { uncertain: 'resend' })
    await mail.run()
    assert.deepEqual(await rest(), ['One', 'Two', 'Two', 'Three'])
  })
})

onEveryDatabase('the list of a sequence', (open) => {
  async function openCourse(t: Parameters<typeof openMail>[0]) {
    const mail = await openMail(t, {}, open)
    const { list, ids } = await addAudience(mail, 1)
    const steps = [step('One', 1)]
    const { id } = await mail.acme.sequences.create({ name: 'Course', list_id: list.id, steps })
    await mail.acme.sequences.enrol(id, { contact_id: { email: emailOf(1) } })
    const { contact } = await mail.acme.contacts.addToList(list.id, { email: 'joined@example.org' })
    const other = await mail.acme.contacts.upsert({ email: 'hand@example.org' })
    await mail.acme.sequences.enrol(id, { contact_id: other.contact.id })
    return { ...mail, list, ids, id, contact }
  }
  const statesOf = async ({ acme, id }: { acme: OpenedMail['acme']; id: number }) =>
    (await acme.sequences.enrolments(id)).data.map(({ status, reason }) => reason ?? status)

  test('is deleted: the sequence has none, and its members stop', async (t) => {
    const mail = await openCourse(t)
    const { acme, list, id } = mail
    await acme.lists.delete(list.id)
    const sequence = await acme.sequences.get(id)
    assert.deepEqual([sequence.list_id, sequence.status], [null, 'active'])
    assert.deepEqual(await statesOf(mail), ['left_list', 'left_list', 'active'])
    await passDay(mail)
    assert.deepEqual(mail.mailed(), ['hand@example.org'])
  })

  test('is replaced or removed: contacts under way continue', async (t) => {
    const mail = await openCourse(t)
    const { acme, list, id } = mail
    const next = await acme.lists.create({ name: 'Next' })
    await acme.sequences.update(id, { list_id: next.id })
    await acme.contacts.addToList(list.id, { email: 'late@example.org' })
    await acme.contacts.addToList(next.id, { email: 'next@example.org' })
    await acme.lists.delete(list.id)
    await acme.sequences.update(id, { list_id: null })
    assert.deepEqual(await statesOf(mail), ['active', 'active', 'active', 'active'])
    await passDay(mail)
    assert.deepEqual(mail.mailed(), [emailOf(1), 'hand@example.org', 'joined@example.org', 'next@example.org'])
  })

  test('is replaced, and comes back: only contacts who join from then on stop when they leave it', async (t) => {
    const mail = await openCourse(t)
    const { acme, list, id, contact } = mail
    for (const list_id of [null, list.id]) await acme.sequences.update(id, { list_id })
    const { contact: later } = await acme.contacts.addToList(list.id, { email: 'later@example.org' })
    for (const one of [contact, later]) await acme.contacts.removeFromList(list.id, one.id)
    assert.deepEqual(await statesOf(mail), ['active', 'active', 'active', 'left_list'])
    await passDay(mail)
    assert.deepEqual(mail.mailed(), [emailOf(1), 'hand@example.org', 'joined@example.org'])
  })

  test('is deleted and replaced: the members of the new one continue', async (t) => {
    const mail = await openCourse(t)
    const { acme, list, id } = mail
    await acme.lists.delete(list.id)
    const next = await acme.lists.create({ name: 'Next' })
    await acme.sequences.update(id, { list_id: next.id })
    const { contact } = await acme.contacts.addToList(next.id, { email: 'next@example.org' })
    assert.deepEqual(await statesOf(mail), ['left_list', 'left_list', 'active', 'active'])
    await acme.contacts.removeFromList(next.id, contact.id)
    assert.deepEqual(await statesOf(mail), ['left_list', 'left_list', 'active', 'left_list'])
  })
})

onEveryDatabase('a merge of contacts who are enrolled', (open) => {
  async function openPair(t: Parameters<typeof openMail>[0]) {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    await acme.identities.add({ email: 'news@acme.example', status: 'verified' })
    const create = async (name: string) =>
      (await acme.sequences.create({ name, steps: [step('One', 1)], status: 'active' })).id
    const [both, one] = [await create('Both'), await create('One')]
    const { contact: old } = await acme.contacts.upsert({ email: 'old@example.org' })
    const { contact: kept } = await acme.contacts.upsert({ email: 'kept@example.org' })
    await acme.sequences.enrol(both, { contact_id: old.id })
    await acme.sequences.enrol(both, { contact_id: kept.id })
    await acme.sequences.enrol(one, { contact_id: old.id })
    const statesOf = async (id: number) =>
      (await acme.sequences.enrolments(id)).data.map(({ contact_id, status, reason }) => [
        contact_id === kept.id ? 'kept' : 'old',
        reason ?? status,
      ])
    return { ...mail, both, one, old, kept, statesOf }
  }

  test('moves an enrolment, and ends the second one in the same sequence', async (t) => {
    const { acme, mailkeep, both, one, old, kept, statesOf } = await openPair(t)
    await acme.contacts.merge(old.id, { into: kept.id })
    await mailkeep.deliverDue()
    assert.deepEqual(await statesOf(one), [['kept', 'active']])
    assert.deepEqual(await statesOf(both), [
      ['old', 'erased'],
      ['kept', 'active'],
    ])
  })

  test('sends no second mail of a step that waited for its next attempt, if both contacts get it', async (t) => {
    const mail = await openPair(t)
    const { acme, both, one, old, kept } = mail
    for (const id of [both, one]) await acme.sequences.setSteps(id, { steps: [step(`Of ${id}`, 0)] })
    mail.transport.reply = ({ to }) => (to.email === old.email ? 'temporary' : 'sent')
    await mail.run()
    assert.deepEqual(mail.mailed(), [kept.email, old.email, old.email].sort())
    mail.transport.captured.length = 0
    await acme.contacts.merge(old.id, { into: kept.id })
    mail.advance(hourMs)
    await mail.run()
    const subjects = mail.transport.captured.map(({ to, subject }) => [to.email, subject])
    assert.deepEqual(subjects, [[kept.email, `Of ${one}`]])
  })

  for (const who of ['old', 'kept'] as const) {
    test(`ends all if the ${who} one has unsubscribed`, async (t) => {
      const mail = await openPair(t)
      const { acme, mailkeep, both, one, old, kept, statesOf } = mail
      await acme.contacts.unsubscribe(mail[who].id)
      await acme.contacts.merge(old.id, { into: kept.id })
      await mailkeep.deliverDue()
      const states = [...(await statesOf(one)), ...(await statesOf(both))]
      assert.equal(states.length, 3)
      assert.deepEqual(
        states.filter(([, state]) => state === 'active'),
        [],
      )
    })
  }
})
