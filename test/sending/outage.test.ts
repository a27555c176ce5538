/** The mail server takes no mail: no connection, or it refuses the session or the login. */
import assert from 'node:assert/strict'
import type { MailTransport } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { keepLog } from '../support/kept-log.ts'
import { addAudience, addNewsletter, emailOf, type OpenedMail, openAnother, openMail } from '../support/mail-harness.ts'
import { hourMs, onEveryDatabase, onSharedDatabases, secondMs } from '../support/webhook-harness.ts'

/** A transport whose server can be down. */
function openServer() {
  const server = {
    isDown: false,
    tries: 0,
    accepted: [] as string[],
    transport: {
      async send({ to }) {
        server.tries += 1
        if (server.isDown) return { kind: 'temporary', error: 'connect ECONNREFUSED 192.0.2.1:587', isServerDown: true }
        server.accepted.push(to.email)
        return { kind: 'sent' }
      },
    } as MailTransport,
  }
  return server
}

const emails = (count: number) => Array.from({ length: count }, (_, at) => emailOf(at + 1))

/** Sends what is due in the next `ms` on the clock, as the loop does. */
async function sendFor({ run, advance, clock }: OpenedMail, ms: number): Promise<void> {
  const endMs = clock.read() + ms
  for (;;) {
    const nextMs = (await run()) ?? endMs
    if (clock.read() >= endMs) return
    advance(Math.max(1, Math.min(nextMs, endMs) - clock.read()))
  }
}

onEveryDatabase('while the mail server takes no mail', (open) => {
  test('a newsletter waits, and then reaches each recipient once and soon', async (t) => {
    const server = openServer()
    const { logger, lines } = keepLog()
    const mail = await openMail(t, { connections: 5, logger, mail: { transport: server.transport } }, open)
    const { list } = await addAudience(mail, 40)
    const { id } = await addNewsletter(mail, { lists: [list.id] })
    server.isDown = true
    await mail.acme.newsletters.send(id)
    await sendFor(mail, hourMs / 4)
    assert.ok(server.tries >= 30 && server.tries < 45, `${server.tries} tries`)
    assert.equal((await mail.mailkeep.stats()).isMailServerDown, true)
    assert.equal(lines.filter(({ message }) => /takes no mail/.test(message)).length, 1)
    for (let hours = 0; hours < 30; hours++) {
      mail.advance(hourMs)
      await mail.run()
    }
    assert.equal((await mail.acme.newsletters.get(id)).counts.pending, 40)
    server.isDown = false
    await sendFor(mail, 62 * secondMs)
    assert.deepEqual(server.accepted.sort(), emails(40))
    const { data } = await mail.acme.newsletters.messages(id, { per_page: 100 })
    assert.ok(data.every(({ status }) => status === 'sent'))
    // The attempts on five connections found the outage. Those of the next 30 hours did not count.
    assert.deepEqual(data.map(({ attempts }) => attempts).sort(), [...Array(35).fill(1), ...Array(5).fill(2)])
    assert.equal((await mail.mailkeep.stats()).isMailServerDown, false)
    assert.equal(lines.filter(({ message }) => /takes mail again/.test(message)).length, 1)
  })

  test('most mails that ask for a confirmation wait too, and are sent soon after', async (t) => {
    const server = openServer()
    const mail = await openMail(t, { connections: 5, mail: { transport: server.transport } }, open)
    await addAudience(mail, 0)
    const list = await mail.acme.lists.create({ name: 'News', double_opt_in: true })
    server.isDown = true
    await mail.acme.contacts.addManyToList(
      list.id,
      emails(60).map((email) => ({ email })),
    )
    await sendFor(mail, hourMs / 6)
    server.isDown = false
    await sendFor(mail, 31 * secondMs)
    assert.ok(server.accepted.length >= 30, `${server.accepted.length} sent`)
  })

  test('one message that always fails so does not stop the others', async (t) => {
    const accepted: string[] = []
    const transport: MailTransport = {
      async send({ to }) {
        if (to.email === emailOf(1)) return { kind: 'temporary', error: 'no connection', isServerDown: true }
        accepted.push(to.email)
        return { kind: 'sent' }
      },
    }
    const mail = await openMail(t, { connections: 1, mail: { transport } }, open)
    const { list } = await addAudience(mail, 0)
    const { id } = await mail.acme.sequences.create({ name: 'Welcome', list_id: list.id })
    const step = { delay_seconds: 0, subject: 'Hi', html: '<p>{{ unsubscribe_url }}</p>' }
    await mail.acme.sequences.setSteps(id, { steps: [step] })
    await mail.acme.contacts.addToList(list.id, { email: emailOf(1) })
    await sendFor(mail, hourMs / 12)
    for (const email of emails(4).slice(1)) await mail.acme.contacts.addToList(list.id, { email })
    await sendFor(mail, hourMs / 12)
    assert.deepEqual(accepted.sort(), emails(4).slice(1))
  })

  test('and the clock is set back, it is tried again at once', async (t) => {
    const server = openServer()
    const mail = await openMail(t, { connections: 5, mail: { transport: server.transport } }, open)
    const { list } = await addAudience(mail, 10)
    const { id } = await addNewsletter(mail, { lists: [list.id] })
    server.isDown = true
    await mail.acme.newsletters.send(id)
    await mail.run()
    server.isDown = false
    mail.advance(-hourMs)
    await sendFor(mail, secondMs)
    assert.deepEqual(server.accepted.sort(), emails(10).slice(5)) // the first five found the outage
  })
})

onSharedDatabases('while one of two processes cannot reach the mail server', (open) => {
  test('the other sends everything at its pace', async (t) => {
    const [broken, working] = [openServer(), openServer()]
    broken.isDown = true
    const first = await openMail(t, { connections: 5, mail: { transport: broken.transport } }, open)
    const { list } = await addAudience(first, 30)
    const { id } = await addNewsletter(first, { lists: [list.id] })
    const second = await openAnother(t, first, first.clock.read, { mail: { transport: working.transport } })
    await first.acme.newsletters.send(id)
    await first.run()
    await second.run()
    assert.ok(working.accepted.length >= 25, `${working.accepted.length} sent`)
    first.advance(2 * 60 * secondMs)
    await second.run()
    assert.deepEqual(working.accepted.sort(), emails(30))
  })
})
