import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { isMailkeepError, type Newsletter } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import type { Place } from '../support/kinds.ts'
import {
  addAudience,
  addNewsletter,
  emailOf,
  type OpenedMail,
  openMail,
  suspendOnceWhileRendering,
} from '../support/mail-harness.ts'
import { isInvalid } from '../support/refusal.ts'
import { dayMs, hourMs, onEveryDatabase } from '../support/webhook-harness.ts'

/** Opens a mailkeep with a newsletter to some contacts. Each run of it sends one message. */
async function openDraft(t: Parameters<typeof openMail>[0], open: Parameters<typeof openMail>[2], recipients: number) {
  const mail = await openMail(t, { connections: 1, rate: 10 }, open)
  const audience = await addAudience(mail, recipients)
  const { id } = await addNewsletter(mail, { lists: [audience.list.id] })
  return { ...mail, ...audience, id }
}

type Scene = OpenedMail & { readonly id: number; readonly list: { readonly id: number } }

const changes = {
  send: ({ acme, id }: Scene) => acme.newsletters.send(id),
  schedule: ({ acme, id, clock }: Scene) =>
    acme.newsletters.send(id, { at: new Date(clock.read() + dayMs).toISOString() }),
  pause: ({ acme, id }: Scene) => acme.newsletters.pause(id),
  resume: ({ acme, id }: Scene) => acme.newsletters.resume(id),
  skip: ({ acme, id }: Scene) => acme.newsletters.resume(id, { uncertain: 'skip' }),
  resend: ({ acme, id }: Scene) => acme.newsletters.resume(id, { uncertain: 'resend' }),
  cancel: ({ acme, id }: Scene) => acme.newsletters.cancel(id),
  update: ({ acme, id }: Scene) => acme.newsletters.update(id, { subject: 'Changed' }),
  delete: ({ acme, id }: Scene) => acme.newsletters.delete(id),
}
type Change = keyof typeof changes

/** How a newsletter gets into each state, and what may be done to it there. Everything else is refused. */
const states: Readonly<Record<Newsletter['status'], { reach(scene: Scene): Promise<unknown>; allowed: Change[] }>> = {
  draft: { reach: async () => {}, allowed: ['send', 'schedule', 'update', 'delete'] },
  scheduled: { reach: changes.schedule, allowed: ['send', 'schedule', 'update', 'cancel', 'delete'] },
  sending: { reach: changes.send, allowed: ['pause', 'cancel', 'skip', 'resend'] },
  paused: {
    reach: async (scene) => {
      await changes.send(scene)
      await changes.pause(scene)
    },
    allowed: ['resume', 'skip', 'resend', 'cancel'],
  },
  sent: {
    reach: async (scene) => {
      await changes.send(scene)
      await finish(scene)
    },
    allowed: ['skip', 'resend', 'delete'],
  },
  cancelled: {
    reach: async (scene) => {
      await changes.send(scene)
      await changes.cancel(scene)
    },
    allowed: ['skip', 'delete'],
  },
  failed: {
    reach: async (scene) => {
      await changes.schedule(scene)
      await scene.acme.lists.delete(scene.list.id)
      scene.advance(dayMs)
      await scene.run()
    },
    allowed: ['delete'],
  },
}

/** Sends what is due on the next days. */
async function finish({ run, advance }: Scene): Promise<void> {
  for (let day = 0; day < 4; day++) {
    await run()
    advance(dayMs)
  }
}

/** Delays the jobs that are stored from now on. On PostgreSQL they could end before the next call of a test. */
async function delayJobs(t: TestContext, { ask, kind }: Place): Promise<() => Promise<unknown>> {
  if (kind !== 'PostgreSQL') return async () => {}
  await ask(`create function later() returns trigger language plpgsql as
    'begin new.run_at = new.run_at + interval ''1 day''; return new; end'`)
  await ask('create trigger later before insert on mailkeep_job for each row execute function later()')
  t.after(() => ask('drop function if exists later() cascade'))
  return async () => {
    await ask('drop function later() cascade')
    await ask('update mailkeep_job set run_at = created_at')
  }
}

/** The state in which a newsletter is some days after a change. */
function endAfter(status: string, change: Change): Newsletter['status'] {
  if (change === 'cancel') return 'cancelled'
  if (change === 'pause') return 'paused'
  if (status === 'cancelled') return status
  return status === 'draft' && change === 'update' ? 'draft' : 'sent'
}

onEveryDatabase('a newsletter that is', (open) => {
  for (const [status, { reach, allowed }] of Object.entries(states)) {
    test(`${status} can be changed by ${allowed.join(', ')} only, and ends`, async (t) => {
      const first = await openMail(t, {}, open)
      await first.acme.identities.add({ email: 'news@acme.example', status: 'verified' })
      for (const [name, change] of Object.entries(changes)) {
        const list = await first.acme.lists.create({ name })
        await first.acme.contacts.addManyToList(list.id, [{ email: emailOf(1) }, { email: emailOf(2) }])
        const scene = { ...first, list, id: (await addNewsletter(first, { lists: [list.id] })).id }
        await reach(scene)
        assert.equal((await scene.acme.newsletters.get(scene.id)).status, status)
        if (!allowed.includes(name as Change)) {
          await assert.rejects(change(scene), isInvalid('status'), name)
          continue
        }
        await change(scene)
        if (name === 'delete') continue
        await finish(scene)
        const { status: last, counts } = await scene.acme.newsletters.get(scene.id)
        assert.equal(last, endAfter(status, name as Change), name)
        assert.equal(counts.pending, last === 'paused' ? 2 : 0, name)
        const mails = scene.transport.captured.filter(({ headers }) =>
          headers['Feedback-ID']!.startsWith(`newsletter-${scene.id}:`),
        )
        assert.deepEqual(mails.map(({ to }) => to.email).sort(), last === 'sent' ? [1, 2].map(emailOf) : [], name)
      }
    })
  }
})

onEveryDatabase('a scheduled newsletter that is sent now', (open) => {
  test('has no scheduled time any more, unlike one that starts at its time', async (t) => {
    const scene = await openDraft(t, open, 1)
    const { acme, id } = scene
    const { scheduled_at: at } = await changes.schedule(scene)
    assert.ok(at)
    assert.equal((await acme.newsletters.send(id)).scheduled_at, null)
    const later = await addNewsletter(scene, { lists: [scene.list.id] })
    await acme.newsletters.send(later.id, { at })
    scene.advance(dayMs)
    await finish(scene)
    for (const [one, expected] of [
      [id, null],
      [later.id, at],
    ] as const) {
      const { status, scheduled_at, counts } = await acme.newsletters.get(one)
      assert.deepEqual([status, scheduled_at, counts.sent], ['sent', expected, 1])
    }
  })
})

onEveryDatabase('the uncertain messages of a cancelled newsletter', (open) => {
  test('can be skipped, but not sent again, and it stays as it is', async (t) => {
    const scene = await openDraft(t, open, 3)
    const { acme, id, transport } = scene
    transport.reply = 'uncertain'
    await acme.newsletters.send(id)
    await scene.run()
    const { finished_at } = await acme.newsletters.cancel(id)
    const before = await acme.newsletters.get(id)
    assert.deepEqual([before.counts.uncertain, before.counts.skipped], [1, 2])
    await assert.rejects(changes.resend(scene), isInvalid('status'))
    await assert.rejects(changes.resume(scene), isInvalid('status'))
    assert.deepEqual(await acme.newsletters.get(id), before)
    scene.advance(hourMs)
    const { status, counts } = await changes.skip(scene)
    assert.deepEqual([status, counts.uncertain, counts.skipped], ['cancelled', 0, 3])
    assert.equal((await acme.newsletters.get(id)).finished_at, finished_at)
    const reasons = (await acme.newsletters.messages(id)).data.map(({ reason }) => reason)
    assert.deepEqual(reasons.sort(), ['cancelled', 'cancelled', 'uncertain'])
    await finish(scene)
    assert.equal(scene.mailed().length, 1)
  })
})

onEveryDatabase('an address that does not exist', (open) => {
  test('keeps nothing about a person who was merged into another recipient', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme, mailkeep } = mail
    const { list, ids } = await addAudience(mail, 3)
    const { id } = await addNewsletter(mail, { lists: [list.id] })
    mail.transport.reply = ({ to }) => (to.email === emailOf(1) ? 'unknown mailbox' : 'sent')
    await acme.newsletters.send(id)
    await mail.run()
    for (const from of [ids[0]!, ids[1]!]) await acme.contacts.merge(from, { into: ids[2]! })
    await mailkeep.deliverDue()
    const messages = (await acme.newsletters.messages(id)).data
    const others = messages.filter(({ contact_id }) => contact_id === null)
    assert.equal(messages.length, 3)
    assert.deepEqual(
      others.map(({ error, provider_message_id }) => [error, provider_message_id]),
      [
        [null, null],
        [null, null],
      ],
    )
  })

  for (const change of ['changed', 'merged'] as const) {
    test(`suppresses no other address when its contact was ${change} while the mail was handed over`, async (t) => {
      const mail = await openMail(t, {}, open)
      const { list, ids } = await addAudience(mail, 1)
      const { id } = await addNewsletter(mail, { lists: [list.id] })
      const { contacts } = mail.acme
      const { contact: other } = await contacts.upsert({ email: 'other@example.org' })
      mail.transport.reply = async () => {
        if (change === 'changed') await contacts.changeEmail(ids[0]!, { email: 'right@example.org' })
        else await contacts.merge(ids[0]!, { into: other.id })
        return 'unknown mailbox' as const
      }
      await mail.acme.newsletters.send(id)
      await mail.run()
      assert.equal((await mail.acme.newsletters.get(id)).counts.failed, 1)
      const suppressed = (await mail.acme.suppressions.list()).data.map(({ email, reason }) => [email, reason])
      assert.deepEqual(suppressed, change === 'changed' ? [[emailOf(1), 'hard_bounce']] : [])
    })
  }
})

onEveryDatabase('a newsletter that two contacts of one person get', (open) => {
  test('is sent once if they are merged between the two messages', async (t) => {
    const mail = await openDraft(t, open, 2)
    const { acme, id, ids, transport } = mail
    transport.reply = ({ to }) => (to.email === emailOf(2) ? 'temporary' : 'sent')
    await acme.newsletters.send(id)
    await mail.run()
    transport.reply = 'sent'
    await acme.contacts.merge(ids[0]!, { into: ids[1]! })
    mail.advance(hourMs)
    await finish(mail)
    const { counts } = await acme.newsletters.get(id)
    assert.deepEqual([counts.sent, counts.skipped], [1, 1])
    assert.deepEqual(
      (await acme.contacts.messages(ids[1]!)).data.map(({ status }) => status),
      ['sent'],
    )
  })
})

onEveryDatabase('a newsletter whose recipients are merged while it is handed over', (open) => {
  test('is sent once if the first mail was sent, and the second must be tried again', async (t) => {
    const mail = await openMail(t, { connections: 1 }, open)
    const { acme } = mail
    const { list, ids } = await addAudience(mail, 2)
    const { id } = await addNewsletter(mail, { lists: [list.id] })
    mail.transport.reply = async ({ to }) => {
      if (to.email === emailOf(1)) return 'sent'
      await acme.contacts.merge(ids[0]!, { into: ids[1]! })
      mail.transport.reply = 'sent'
      return 'temporary'
    }
    await acme.newsletters.send(id)
    await finish({ ...mail, id, list })
    assert.deepEqual(mail.mailed(), [emailOf(1), emailOf(2)])
    const { status, counts } = await acme.newsletters.get(id)
    assert.deepEqual([status, counts.sent, counts.skipped], ['sent', 1, 1])
  })

  test('is tried again once if both mails must be', async (t) => {
    const mail = await openMail(t, { connections: 2 }, open)
    const { acme } = mail
    const { list, ids } = await addAudience(mail, 2)
    const { id } = await addNewsletter(mail, { lists: [list.id] })
    let release = () => {}
    const both = new Promise<void>((resolve) => {
      release = resolve
    })
    let merged: Promise<unknown> | undefined
    let handed = 0
    mail.transport.reply = async () => {
      handed += 1
      if (handed === 2) release()
      await both
      merged ??= acme.contacts.merge(ids[0]!, { into: ids[1]! })
      await merged
      mail.transport.reply = 'sent'
      return 'temporary' as const
    }
    await acme.newsletters.send(id)
    await finish({ ...mail, id, list })
    assert.deepEqual(mail.mailed(), [emailOf(1), emailOf(2), emailOf(2)])
    const { status, counts } = await acme.newsletters.get(id)
    assert.deepEqual([status, counts.sent, counts.skipped], ['sent', 1, 1])
  })
})

onEveryDatabase('a newsletter whose two mails to a person are handed over while the contacts are merged', (open) => {
  for (const [first, second, statuses] of [
    ['unknown mailbox', 'temporary', ['failed', 'sent']],
    ['temporary', 'sent', ['sent', 'skipped']],
  ] as const) {
    test(`reaches the person, and once: ${first}, then ${second}`, async (t) => {
      const mail = await openMail(t, { connections: 2 }, open)
      const { acme } = mail
      const { list, ids } = await addAudience(mail, 2)
      const { id } = await addNewsletter(mail, { lists: [list.id] })
      let begin = () => {}
      const bothBegun = new Promise<void>((resolve) => (begin = resolve))
      let begun = 0
      let merged: Promise<unknown> | undefined
      mail.transport.reply = async ({ to }) => {
        begun += 1
        if (begun > 2) return 'sent'
        if (begun === 2) begin()
        await bothBegun
        merged ??= acme.contacts.merge(ids[0]!, { into: ids[1]! })
        await merged
        return to.email === emailOf(1) ? first : second
      }
      await acme.newsletters.send(id)
      await finish({ ...mail, id, list })
      const messages = (await acme.newsletters.messages(id)).data
      assert.deepEqual(messages.map(({ status }) => status).sort(), statuses)
    })
  }
})

onEveryDatabase('a newsletter that was sent', (open) => {
  test('is not finished while its uncertain messages are sent again', async (t) => {
    const scene = await openDraft(t, open, 1)
    const { acme, id, transport } = scene
    transport.reply = 'uncertain'
    await acme.newsletters.send(id)
    await finish(scene)
    const before = await acme.newsletters.get(id)
    transport.reply = 'sent'
    const resent = await changes.resend(scene)
    assert.deepEqual([before.status, resent.status, resent.finished_at], ['sent', 'sending', null])
    await finish(scene)
    const after = await acme.newsletters.get(id)
    assert.ok(after.finished_at! > before.finished_at!)
  })

  test('stays as it is when its uncertain messages are sent again and it has none', async (t) => {
    const scene = await openDraft(t, open, 3)
    const { acme, id } = scene
    await acme.newsletters.send(id)
    await finish(scene)
    const before = await acme.newsletters.get(id)
    scene.advance(hourMs)
    for (const change of [changes.resend, changes.skip]) {
      const { status, finished_at } = await change(scene)
      assert.deepEqual([status, finished_at], ['sent', before.finished_at])
    }
    await finish(scene)
    const after = await acme.newsletters.get(id)
    assert.deepEqual({ ...after, updated_at: before.updated_at }, before)
    assert.equal(scene.mailed().length, 3)
  })
})

onEveryDatabase('a newsletter with more uncertain messages than one batch changes', (open) => {
  /** Sends one of three messages again, as the first batch. The job that changes the others waits for half an hour. */
  async function openResent(t: Parameters<typeof openMail>[0]) {
    const events: string[] = []
    const mail = await openMail(t, { onEvent: ({ type }) => events.push(type) }, open)
    const { acme, transport, ask, clock } = mail
    const { list } = await addAudience(mail, 3)
    const { id } = await addNewsletter(mail, { lists: [list.id] })
    transport.reply = 'uncertain'
    await acme.newsletters.send(id)
    await mail.run()
    transport.reply = 'sent'
    const [first, ...others] = (await acme.newsletters.messages(id)).data
    const setStatus = async (status: string) => {
      for (const other of others) await ask('update mailkeep_message set status = ? where id = ?', status, other.id)
    }
    await setStatus('skipped')
    await acme.newsletters.resume(id, { uncertain: 'resend' })
    await setStatus('uncertain')
    const [nowIso, laterIso] = [0, hourMs / 2].map((ms) => new Date(clock.read() + ms).toISOString())
    await ask(
      `insert into mailkeep_job (client_id, kind, target_id, state, created_at, run_at)
        values (1, 'settle uncertain', ?, ?, ?, ?)`,
      ...[id, JSON.stringify({ after: first!.id, uncertain: 'resend' }), nowIso, laterIso],
    )
    await mail.run()
    const partsOf = async () => {
      const { status, counts } = await acme.newsletters.get(id)
      return [status, counts.sent, counts.pending, counts.uncertain]
    }
    return { ...mail, id, events, partsOf }
  }

  test('is not finished before all of them are sent again, and stays paused', async (t) => {
    const { acme, id, run, advance, partsOf, events } = await openResent(t)
    assert.deepEqual(await partsOf(), ['sending', 1, 0, 2])
    await acme.newsletters.pause(id)
    advance(hourMs)
    await run()
    assert.deepEqual(await partsOf(), ['paused', 1, 2, 0])
    await acme.newsletters.resume(id)
    await run()
    assert.deepEqual(await partsOf(), ['sent', 3, 0, 0])
    assert.equal(events.filter((type) => type === 'newsletter.sent').length, 1)
  })

  test('is sent again to all of them when it was finished before the last batch', async (t) => {
    const { id, ask, run, advance, partsOf } = await openResent(t)
    await ask(`update mailkeep_newsletter set status = 'sent' where id = ?`, id)
    advance(hourMs)
    await run()
    assert.deepEqual(await partsOf(), ['sent', 3, 0, 0])
  })

  test('ends when their job finds no more of them', async (t) => {
    const { acme, id, run, advance, partsOf } = await openResent(t)
    await acme.newsletters.resume(id, { uncertain: 'skip' })
    advance(hourMs)
    await run()
    assert.deepEqual(await partsOf(), ['sent', 1, 0, 0])
  })

  test('is cancelled: the rest stays uncertain', async (t) => {
    const { acme, id, run, advance, partsOf } = await openResent(t)
    await acme.newsletters.cancel(id)
    advance(hourMs)
    await run()
    assert.deepEqual(await partsOf(), ['cancelled', 1, 0, 2])
  })
})

onEveryDatabase('a newsletter that an earlier version finished although messages were pending', (open) => {
  test('sends them when it is resumed', async (t) => {
    const scene = await openDraft(t, open, 2)
    const { acme, id, ask, run } = scene
    await acme.newsletters.send(id)
    await run()
    await ask(`update mailkeep_newsletter set status = 'sent' where id = ?`, id)
    const { status, counts } = await changes.resume(scene)
    assert.deepEqual([status, counts.pending], ['sending', 1])
    await finish(scene)
    const after = await acme.newsletters.get(id)
    assert.deepEqual([after.status, after.counts.sent], ['sent', 2])
  })
})

onEveryDatabase('while a newsletter is sent', (open) => {
  test('its client is deleted: nothing more is sent, and other clients are not held up', async (t) => {
    const mail = await openMail(t, { connections: 1, rate: 10 }, open)
    const { acme, mailkeep } = mail
    const { list } = await addAudience(mail, 3)
    const { id } = await addNewsletter(mail, { lists: [list.id] })
    await acme.newsletters.send(id)
    await mail.run()
    const other = mailkeep.forClient((await mailkeep.clients.create({ name: 'Other' })).id)
    await other.identities.add({ email: 'news@other.example', status: 'verified' })
    await other.contacts.upsert({ email: 'bob@example.org' })
    await other.newsletters.send((await addNewsletter({ acme: other }, {})).id)
    await mailkeep.clients.delete(mail.acmeId)
    mail.advance(hourMs)
    await mail.run()
    assert.deepEqual(mail.mailed(), ['bob@example.org', emailOf(1)])
  })

  test('its list is deleted: the contacts who are not on it any more get nothing', async (t) => {
    const scene = await openDraft(t, open, 3)
    await changes.send(scene)
    await scene.run()
    await scene.acme.lists.delete(scene.list.id)
    await finish(scene)
    const { counts, status } = await scene.acme.newsletters.get(scene.id)
    assert.deepEqual(counts, { recipients: 3, pending: 0, sent: 1, failed: 0, skipped: 2, uncertain: 0 })
    assert.equal(status, 'sent')
  })

  test('contacts join its audience: they get nothing, and those who rejoin get it', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { list } = await addAudience(mail, 510)
    const other = await acme.lists.create({ name: 'Other' })
    const member = await acme.contacts.addToList(other.id, { email: 'member@example.org' })
    const topic = await acme.topics.create(list.id, { name: 'Sport' })
    await acme.contacts.addToList(list.id, { email: 'gone@example.org' })
    await acme.contacts.unsubscribe({ email: 'gone@example.org' })
    await acme.contacts.upsert({ email: 'outside@example.org' })
    const { id } = await addNewsletter(mail, { lists: [list.id, other.id] })
    const ofTopic = await addNewsletter(mail, { topics: [topic.id] })
    await acme.newsletters.send(id) // writes the first 500 messages
    await acme.contacts.addToList(list.id, { email: 'outside@example.org' })
    await acme.contacts.addToList(list.id, { email: 'member@example.org' })
    await acme.contacts.addToList(list.id, { email: 'new@example.org' })
    await acme.contacts.resubscribe({ email: 'gone@example.org' })
    await acme.contacts.removeFromList(list.id, { email: emailOf(510) })
    await acme.contacts.addToList(list.id, { email: emailOf(510) })
    await acme.newsletters.send(ofTopic.id)
    await acme.contacts.subscribeToTopic({ email: emailOf(1) }, topic.id)
    await mail.run()
    assert.equal((await acme.newsletters.get(id)).counts.sent, 511)
    assert.ok(mail.mailed().includes(member.contact.email))
    for (const name of ['outside', 'new', 'gone']) assert.ok(!mail.mailed().includes(`${name}@example.org`), name)
    assert.equal((await acme.newsletters.get(ofTopic.id)).counts.recipients, 0)
  })

  test('contacts of one person are merged: the person gets it once, whichever contact stays', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const early = await acme.contacts.upsert({ email: 'early@example.org' })
    const { list, ids } = await addAudience(mail, 1200)
    const late = await acme.contacts.upsert({ email: 'late@example.org' })
    const { id } = await addNewsletter(mail, { lists: [list.id] })
    await acme.newsletters.send(id) // writes the first 500 messages
    const newcomer = await acme.contacts.addToList(list.id, { email: 'new@example.org' })
    await acme.contacts.merge(ids[1100]!, { into: early.contact.id })
    await acme.contacts.merge(ids[1101]!, { into: late.contact.id })
    await acme.contacts.merge(ids[1102]!, { into: ids[1103]! })
    await acme.contacts.merge(ids[0]!, { into: ids[1104]! })
    await acme.contacts.merge(newcomer.contact.id, {
      into: (await acme.contacts.upsert({ email: 'no@x.org' })).contact.id,
    })
    await mail.run()
    const { status, counts } = await acme.newsletters.get(id)
    assert.deepEqual([status, counts.sent], ['sent', 1198])
    const mailed = mail.mailed()
    assert.deepEqual(
      ['early@example.org', 'late@example.org', emailOf(1104), emailOf(1105), 'no@x.org', 'new@example.org'].map(
        (email) => mailed.filter((to) => to === email).length,
      ),
      [1, 1, 1, 1, 0, 0],
    )
  })

  test('contacts leave a list that it excludes: they get nothing', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { list } = await addAudience(mail, 1500)
    const excluded = await acme.lists.create({ name: 'Excluded' })
    const hidden = await acme.lists.create({ name: 'Excluded by the segment' })
    const leaver = { email: 'leaver@example.org' }
    const guest = { email: 'guest@example.org' }
    for (const contact of [leaver, guest]) await acme.contacts.addToList(list.id, contact)
    await acme.contacts.addToList(excluded.id, leaver)
    await acme.contacts.addToList(hidden.id, guest)
    const segment = await acme.segments.create({ name: 'Others', filters: { exclude_lists: [hidden.id] } })
    const audience = { lists: [list.id], exclude_lists: [excluded.id], segment: segment.id }
    const { id } = await addNewsletter(mail, audience)
    await acme.newsletters.send(id) // writes the first 500 messages
    const leaves = [acme.contacts.removeFromList(excluded.id, leaver), acme.contacts.removeFromList(hidden.id, guest)]
    await Promise.all(leaves)
    await mail.run()
    assert.equal((await acme.newsletters.get(id)).counts.recipients, 1500)
  })

  for (const change of ['changed', 'deleted'] as const) {
    test(`its segment is ${change}: its recipients stay, and who leaves a list of the segment gets nothing`, async (t) => {
      const mail = await openMail(t, {}, open)
      const { acme } = mail
      const { list } = await addAudience(mail, 1200)
      const other = await acme.lists.create({ name: 'Other' })
      const segment = await acme.segments.create({ name: 'Readers', filters: { lists: [list.id] } })
      const { id } = await addNewsletter(mail, { segment: segment.id })
      await acme.newsletters.send(id) // writes the first 500 messages
      if (change === 'changed') await acme.segments.update(segment.id, { filters: { lists: [other.id] } })
      else await acme.segments.delete(segment.id)
      await acme.contacts.removeFromList(list.id, { email: emailOf(1) })
      await mail.run()
      const { status, counts, audience } = await acme.newsletters.get(id)
      assert.deepEqual([status, counts.sent, counts.skipped, audience], ['sent', 1199, 1, { segment: segment.id }])
      assert.ok(!mail.mailed().includes(emailOf(1)))
    })
  }

  test('a list that it excludes cannot be deleted until all recipients are known', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { list } = await addAudience(mail, 2000)
    const [excluded, hidden] = [await acme.lists.create({ name: 'A' }), await acme.lists.create({ name: 'B' })]
    for (const { id } of [excluded, hidden]) await acme.contacts.addToList(id, { email: emailOf(1900 + id) })
    const segment = await acme.segments.create({ name: 'Others', filters: { exclude_lists: [hidden.id] } })
    const audience = { lists: [list.id], exclude_lists: [excluded.id], segment: segment.id }
    const { id } = await addNewsletter(mail, audience)
    const runJobs = await delayJobs(t, mail.place)
    await acme.newsletters.send(id) // writes the first 500 messages
    const isConflict = (error: unknown) => isMailkeepError(error, 'conflict')
    await Promise.all([excluded, hidden].map((each) => assert.rejects(acme.lists.delete(each.id), isConflict)))
    await runJobs()
    await mail.run()
    assert.equal((await acme.newsletters.get(id)).counts.sent, 1998)
    for (const each of [excluded, hidden]) await acme.lists.delete(each.id)
  })

  test('a tag that it selects by cannot be deleted until all recipients are known', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const people = Array.from({ length: 1200 }, (_, at) => ({ email: emailOf(at), tags: ['A', 'B'] }))
    await acme.identities.add({ email: 'news@acme.example', status: 'verified' })
    await acme.contacts.addManyToList((await acme.lists.create({ name: 'Readers' })).id, people)
    const [first, second] = (await acme.tags.list()).data
    const segment = await acme.segments.create({ name: 'Some', filters: { tags: [second!.id] } })
    const { id } = await addNewsletter(mail, { tags: [first!.id], segment: segment.id })
    const runJobs = await delayJobs(t, mail.place)
    await acme.newsletters.send(id) // writes the first 500 messages
    const isConflict = (error: unknown) => isMailkeepError(error, 'conflict')
    await Promise.all([first, second].map((tag) => assert.rejects(acme.tags.delete(tag!.id), isConflict)))
    await runJobs()
    await mail.run()
    assert.equal((await acme.newsletters.get(id)).counts.sent, 1200)
    for (const tag of [first, second]) await acme.tags.delete(tag!.id)
  })

  test('a tag that it excludes cannot be deleted until all recipients are known', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    const { list } = await addAudience(mail, 2000)
    const [excluded, hidden] = [await acme.tags.create({ name: 'A' }), await acme.tags.create({ name: 'B' })]
    for (const { id, name } of [excluded, hidden])
      await acme.contacts.addToList(list.id, { email: emailOf(1900 + id), tags: [name] })
    const segment = await acme.segments.create({ name: 'Others', filters: { exclude_tags: [hidden.id] } })
    const audience = { lists: [list.id], exclude_tags: [excluded.id], segment: segment.id }
    const { id } = await addNewsletter(mail, audience)
    const runJobs = await delayJobs(t, mail.place)
    await acme.newsletters.send(id) // writes the first 500 messages
    const isConflict = (error: unknown) => isMailkeepError(error, 'conflict')
    await Promise.all([excluded, hidden].map((each) => assert.rejects(acme.tags.delete(each.id), isConflict)))
    await runJobs()
    await mail.run()
    assert.equal((await acme.newsletters.get(id)).counts.sent, 1998)
    for (const each of [excluded, hidden]) await acme.tags.delete(each.id)
  })

  test('an attribute that its segment filters by stays declared until all recipients are known', async (t) => {
    const mail = await openMail(t, {}, open)
    const { acme } = mail
    await acme.settings.attributes.update({ indexed: ['plan', 'city'] })
    const people = Array.from({ length: 1200 }, (_, at) => ({ email: emailOf(at), plan: 'pro' }))
    await acme.identities.add({ email: 'news@acme.example', status: 'verified' })
    await acme.contacts.addManyToList((await acme.lists.create({ name: 'Readers' })).id, people.slice(0, 600))
    await acme.contacts.addManyToList(1, people.slice(600))
    const segment = await acme.segments.create({ name: 'Some', filters: { attributes: { plan: 'pro' } } })
    const { id } = await addNewsletter(mail, { segment: segment.id })
    const runJobs = await delayJobs(t, mail.place)
    await acme.newsletters.send(id) // writes the first 500 messages
    const isConflict = (error: unknown) => isMailkeepError(error, 'conflict')
    await assert.rejects(acme.settings.attributes.update({ indexed: ['city'] }), isConflict)
    assert.deepEqual((await acme.settings.attributes.get()).indexed, ['plan', 'city'])
    await acme.settings.attributes.update({ indexed: ['plan'] })
    await runJobs()
    await mail.run()
    assert.equal((await acme.newsletters.get(id)).counts.sent, 1200)
    await acme.settings.attributes.update({ indexed: [] })
  })

  test('its sender is deleted: it waits for another one', async (t) => {
    const scene = await openDraft(t, open, 3)
    await changes.send(scene)
    await scene.run()
    await scene.acme.identities.remove(scene.identity.id)
    await finish(scene)
    const waiting = await scene.acme.newsletters.get(scene.id)
    assert.deepEqual([waiting.status, waiting.counts.sent], ['sending', 1])
    assert.ok((await scene.mailkeep.stats()).oldestDueMessageSeconds > 86_400, 'the figure for alerts grows')
    const [message] = (await scene.acme.newsletters.messages(scene.id, { status: 'pending' })).data
    assert.equal(message!.attempts, 0)
    const other = await scene.acme.identities.add({ email: 'other@acme.example', status: 'verified' })
    await scene.acme.newsletters.update(scene.id, { from_identity_id: other.id, name: 'Again' })
    await finish(scene)
    assert.equal((await scene.acme.newsletters.get(scene.id)).status, 'sent')
    assert.deepEqual(
      scene.transport.captured.map(({ from }) => from.email),
      ['news@acme.example', 'other@acme.example', 'other@acme.example'],
    )
  })

  test('the clock is set back: the rest is still sent', async (t) => {
    const scene = await openDraft(t, open, 3)
    await changes.send(scene)
    await scene.run()
    scene.advance(-2 * dayMs)
    await finish(scene)
    assert.deepEqual(scene.mailed(), [1, 2, 3].map(emailOf))
  })
})

onEveryDatabase('a newsletter to lists and topics, and to a segment of others', (open) => {
  for (const kind of ['list', 'topic'] as const) {
    for (const at of [0, 1]) {
      test(`skips who leaves the ${kind} of the ${at === 0 ? 'audience' : 'segment'} while it is paused`, async (t) => {
        const mail = await openMail(t, { connections: 1, rate: 10 }, open)
        const { acme } = mail
        const { list, ids } = await addAudience(mail, 2)
        const other = await acme.lists.create({ name: 'Other' })
        for (const id of ids) await acme.contacts.addToList(other.id, { email: emailOf(ids.indexOf(id) + 1) })
        const targets = kind === 'list' ? [list, other] : await Promise.all([1, 2].map(addTopic))
        async function addTopic(number: number) {
          const topic = await acme.topics.create(list.id, { name: `Topic ${number}` })
          for (const id of ids) await acme.contacts.subscribeToTopic(id, topic.id)
          return topic
        }
        const own = targets.map((target) => ({ [`${kind}s`]: [target.id] }))
        const segment = await acme.segments.create({ name: 'Some', filters: own[1]! })
        const { id } = await addNewsletter(mail, { ...own[0], segment: segment.id })
        await acme.newsletters.send(id)
        await acme.newsletters.pause(id)
        const target = targets[at]!
        if (kind === 'list') await acme.contacts.removeFromList(target.id, ids[1]!)
        else await acme.contacts.unsubscribeFromTopic(ids[1]!, target.id)
        await acme.newsletters.resume(id)
        await finish({ ...mail, id, list })
        const reasons = (await acme.newsletters.messages(id)).data.map(({ reason }) => reason)
        assert.deepEqual([mail.mailed(), reasons], [[emailOf(1)], [null, `left_${kind}`]])
      })
    }
  }
})

onEveryDatabase('a scheduled newsletter', (open) => {
  test('starts at a time that has fractions of a millisecond', async (t) => {
    const scene = await openDraft(t, open, 1)
    const second = Math.ceil(scene.clock.read() / 1000) * 1000 + hourMs
    scene.advance(second - hourMs - scene.clock.read())
    const at = new Date(second).toISOString().replace('.000Z', '.000700Z')
    await scene.acme.newsletters.send(scene.id, { at })
    scene.advance(hourMs)
    await scene.run()
    scene.advance(1)
    await scene.run()
    assert.equal((await scene.acme.newsletters.get(scene.id)).status, 'sent')
  })

  test('waits for the index of an attribute of its segment, which is filled by a job behind it', async (t) => {
    const errors: string[] = []
    const ignore = () => {}
    const error = (_: object, message: string) => errors.push(message)
    const logger = { debug: ignore, info: ignore, warn: ignore, error }
    const mail = await openMail(t, { logger }, open)
    const { acme, ask, clock } = mail
    const { list } = await addAudience(mail, 0)
    await acme.settings.attributes.update({ indexed: ['plan'] })
    await acme.contacts.addToList(list.id, { email: emailOf(1), plan: 'pro' })
    const segment = await acme.segments.create({ name: 'Pro', filters: { attributes: { plan: 'pro' } } })
    const { id } = await addNewsletter(mail, { segment: segment.id })
    await acme.newsletters.send(id, { at: new Date(clock.read() + hourMs).toISOString() })
    mail.advance(2 * hourMs)
    // Another process has just declared the attribute again, and there are more contacts than its transaction indexes.
    const at = new Date(clock.read()).toISOString().replace('Z', '000Z')
    await ask('update mailkeep_indexed_attribute set ready = false')
    await ask(`insert into mailkeep_job (client_id, kind, target_id, state, created_at, run_at)
      values (${mail.acmeId}, 'fill attribute', 1, '{}', '${at}', '${at}')`)
    await mail.run()
    mail.advance(1000)
    await mail.run()
    assert.equal((await acme.newsletters.get(id)).status, 'sent')
    assert.deepEqual(mail.mailed(), [emailOf(1)])
    assert.deepEqual(errors, [], 'waiting is no failure')
  })

  test('starts also if the process was suspended while it checked the templates', async (t) => {
    const mail = await openDraft(t, open, 1)
    await mail.acme.newsletters.send(mail.id, { at: new Date(mail.clock.read() + hourMs).toISOString() })
    mail.advance(2 * hourMs)
    const suspendedMs = suspendOnceWhileRendering(t)
    await mail.run()
    assert.equal(suspendedMs(), hourMs)
    const { status, error } = await mail.acme.newsletters.get(mail.id)
    assert.deepEqual([status, error], ['sent', null])
  })

  test('is refused at a day that does not exist', async (t) => {
    const mail = await openDraft(t, open, 1)
    for (const at of ['2027-02-29T00:00:00Z', '2027-04-31T00:00:00+02:00', '2027-13-01T00:00:00Z'])
      await assert.rejects(mail.acme.newsletters.send(mail.id, { at }), isInvalid('at'), at)
    assert.equal((await mail.acme.newsletters.send(mail.id, { at: '2028-02-29T23:59:59Z' })).status, 'scheduled')
  })

  test('starts at the last time that was set', async (t) => {
    const scene = await openDraft(t, open, 1)
    const at = (hours: number) => new Date(scene.clock.read() + hours * hourMs).toISOString()
    for (const hours of [2, 5, 3]) await scene.acme.newsletters.send(scene.id, { at: at(hours) })
    scene.advance(2 * hourMs)
    await scene.run()
    assert.deepEqual(scene.mailed(), [])
    scene.advance(hourMs)
    await scene.run()
    assert.deepEqual(scene.mailed(), [emailOf(1)])
  })

  test('is sent to no contact once it is deleted', async (t) => {
    const scene = await openDraft(t, open, 1)
    await changes.schedule(scene)
    await scene.acme.newsletters.delete(scene.id)
    await finish(scene)
    assert.deepEqual(scene.mailed(), [])
    const jobs = await scene.ask(`select status from mailkeep_job where kind = 'start newsletter'`)
    assert.deepEqual(jobs, [{ status: 'done' }], 'its job has ended without an error')
  })
})
