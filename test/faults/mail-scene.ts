/** A newsletter that is sent to an SMTP server by processes that a test kills. */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { type ClientMailkeep, createMailkeep } from '../../lib/index.ts'
import { type Kind, openPlace, type Place } from '../support/kinds.ts'
import { Keeper } from './keeper.ts'
import type { MailServerOrder, MailServerReport } from './mail-server.ts'
import { webhooks } from './scene.ts'

const hourMs = 3_600_000
const pollIntervalMs = 10
/** Without a change during so many polls, only time is missing. */
const quietPolls = 30
/** Shorter than a lease. */
const patienceMs = 60_000
const connections = 10

interface MessageRow {
  readonly email: string
  readonly status: string
}

export interface MailCounts {
  readonly sent: number
  readonly failed: number
  readonly uncertain: number
  /** Uncertain messages that the server accepted. */
  readonly acceptedUncertain: number
}

export async function setMailScene(t: TestContext, kind: Kind, recipients: number): Promise<MailScene> {
  const scene = new MailScene(await openPlace(kind), recipients)
  t.after(() => scene.clear())
  await scene.prepare()
  return scene
}

export class MailScene {
  readonly #place: Place
  readonly #recipients: number
  readonly #key = randomBytes(32).toString('base64')
  readonly #keepers: Keeper[] = []
  #server!: ChildProcess
  #port = 0
  #clientId = 0
  #newsletterId = 0
  #aheadMs = 0
  /** How long the transport waits for an answer. */
  timeoutMs = 60_000

  constructor(place: Place, recipients: number) {
    this.#place = place
    this.#recipients = recipients
  }

  /** Starts the server, and creates the contacts and a draft. */
  async prepare(): Promise<void> {
    this.#server = fork(new URL('mail-server.ts', import.meta.url), { execArgv: ['--import', 'tsx'] })
    const [{ port }] = await once(this.#server, 'message')
    this.#port = port
    await using mailkeep = await createMailkeep({ database: this.#place.source, encryptionKey: this.#key, webhooks })
    this.#clientId = (await mailkeep.clients.bootstrap())!.client.id
    const acme = mailkeep.forClient(this.#clientId)
    await acme.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: ['newsletter.sent'] })
    await acme.identities.add({ email: 'news@acme.example', name: 'Acme', status: 'verified' })
    await this.#addNewsletter(acme)
  }

  async #addNewsletter(acme: ClientMailkeep): Promise<void> {
    const list = await acme.lists.create({ name: 'Readers' })
    for (let from = 0; from < this.#recipients; from += 1000) {
      const count = Math.min(1000, this.#recipients - from)
      const people = Array.from({ length: count }, (_, at) => ({ email: `c${from + at + 1}@example.org` }))
      await acme.contacts.addManyToList(list.id, people)
    }
    const html = '<a href="{{ unsubscribe_url }}">Unsubscribe</a>'
    const newsletter = { name: 'News', subject: 'News', html, audience: { lists: [list.id] } }
    this.#newsletterId = (await acme.newsletters.create(newsletter)).id
  }

  /** Starts a process that sends. */
  async spawn(): Promise<Keeper> {
    const keeper = await Keeper.begin()
    this.#keepers.push(keeper)
    const { FILE: file, URL: url, SCHEMA: schema } = this.#place.env
    await keeper.control.open({
      ...(file === undefined ? { postgres: { url: url!, schema: schema! } } : { file }),
      ...{ key: this.#key, clientId: this.#clientId, aheadMs: this.#aheadMs, webhooks },
      mail: { port: this.#port, connections, timeoutMs: this.timeoutMs },
    })
    return keeper
  }

  /** Starts the newsletter. The process may be killed before it answers. */
  async send(keeper: Keeper): Promise<void> {
    await keeper.client.newsletters.send(this.#newsletterId).catch((error: Error) => {
      if (!/the process is gone/.test(error.message)) throw error
    })
  }

  async pause({ client }: Keeper): Promise<void> {
    await client.newsletters.pause(this.#newsletterId)
  }

  async resume({ client }: Keeper): Promise<void> {
    await client.newsletters.resume(this.#newsletterId)
  }

  /** Returns whether a message was handed over more than once. */
  async hasRetried(): Promise<boolean> {
    const [row] = await this.#place.ask('select max(attempts) as attempts from mailkeep_message')
    return Number(row!.attempts) > 1
  }

  order(next: MailServerOrder): void {
    this.#server.send(next)
  }

  /** Resolves when the server has accepted the message that it does not answer. */
  async held(): Promise<void> {
    await once(this.#server, 'message')
  }

  /** Waits until every message is final. Moves the clocks when only time is missing. */
  async finish(...running: Keeper[]): Promise<void> {
    let before = ''
    let quiet = 0
    let changedMs = performance.now()
    for (;;) {
      const [row] = await this.#place.ask(
        `select n.status, n.finished_at, n.recipients, n.sent, n.failed, n.skipped, n.uncertain,
          (select sum(attempts) from mailkeep_message) as attempts,
          (select count(*) from mailkeep_message where lease_until is not null) as leases from mailkeep_newsletter as n`,
      )
      if (row!.status === 'sent') return
      const now = JSON.stringify(row)
      quiet = now === before ? quiet + 1 : 0
      if (quiet === 0) changedMs = performance.now()
      before = now
      if (performance.now() - changedMs > patienceMs) assert.fail(`no progress: ${now}`)
      if (quiet >= quietPolls && Number(row!.leases) === 0) {
        this.#aheadMs += hourMs
        await Promise.all(running.map(({ control }) => control.advance(hourMs)))
        quiet = 0
      }
      await new Promise((resolve) => setTimeout(resolve, pollIntervalMs))
    }
  }

  /** Checks that each recipient has one message, and that the counts of the newsletter are those of the messages. */
  async auditRows(): Promise<readonly MessageRow[]> {
    // One statement, because other processes go on sending.
    const rows = await this.#place.ask(
      `select c.email, m.status, n.recipients, n.sent, n.failed, n.skipped, n.uncertain from mailkeep_message as m
        join mailkeep_contact as c on c.id = m.contact_id join mailkeep_newsletter as n on n.id = m.newsletter_id`,
    )
    const messages = rows as unknown as MessageRow[]
    for (const name of ['recipients', 'sent', 'failed', 'skipped', 'uncertain']) {
      const stored = name === 'recipients' ? messages : messages.filter(({ status }) => status === name)
      assert.equal(Number(rows[0]?.[name] ?? 0), stored.length, name)
    }
    assert.equal(new Set(messages.map(({ email }) => email)).size, messages.length, 'a recipient has two messages')
    return messages
  }

  /** Checks the final state: no recipient is missing or got it twice, and what is not known is uncertain. */
  async audit(t: TestContext): Promise<MailCounts> {
    const messages = await this.auditRows()
    assert.equal(messages.length, this.#recipients)
    const of = (wanted: string) => messages.filter(({ status }) => status === wanted)
    const [sent, failed, uncertain] = [of('sent'), of('failed'), of('uncertain')]
    assert.equal(sent.length + failed.length + uncertain.length + of('skipped').length, this.#recipients)
    this.order({ report: true })
    const [{ accepted }] = (await once(this.#server, 'message')) as [MailServerReport]
    assert.deepEqual(
      accepted.filter(([, count]) => count > 1),
      [],
      'received twice',
    )
    const received = new Set(accepted.map(([email]) => email))
    const lost = sent.filter(({ email }) => !received.has(email))
    assert.deepEqual(lost, [], 'recorded as sent, and never received')
    const acceptedUncertain = uncertain.filter(({ email }) => received.has(email)).length
    assert.equal(received.size, sent.length + acceptedUncertain, 'received, and neither sent nor uncertain')
    const [events] = await this.#place.ask("select count(*) as n from mailkeep_event where type = 'newsletter.sent'")
    assert.equal(Number(events!.n), 1, 'newsletter.sent is raised once')
    const counts = { sent: sent.length, failed: failed.length, uncertain: uncertain.length, acceptedUncertain }
    t.diagnostic(JSON.stringify(counts))
    return counts
  }

  async clear(): Promise<void> {
    await Promise.all(this.#keepers.map((keeper) => keeper.kill()))
    this.#server.kill('SIGKILL')
    await this.#place.close()
  }
}
