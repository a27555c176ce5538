import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { ClientMailkeep } from '../../lib/index.ts'
import type { Kind, Place } from '../support/kinds.ts'
import type { Keeper } from './keeper.ts'
import { html, type MailCounts, MailScene, type MessageRow } from './mail-scene.ts'

const subject = 'News'

/** A newsletter to some contacts. */
export class NewsletterScene extends MailScene {
  readonly #recipients: number
  #newsletterId = 0

  private constructor(place: Place, recipients: number) {
    super(place)
    this.#recipients = recipients
  }

  static open(t: TestContext, kind: Kind, recipients: number): Promise<NewsletterScene> {
    return MailScene.set(t, kind, (place) => new NewsletterScene(place, recipients))
  }

  protected async populate(acme: ClientMailkeep): Promise<void> {
    await acme.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: ['newsletter.sent'] })
    const list = await acme.lists.create({ name: 'Readers' })
    for (let from = 0; from < this.#recipients; from += 1000) {
      const count = Math.min(1000, this.#recipients - from)
      const people = Array.from({ length: count }, (_, at) => ({ email: `c${from + at + 1}@${this.domain}` }))
      await acme.contacts.addManyToList(list.id, people)
    }
    this.#newsletterId = (await acme.newsletters.create({ subject, html, audience: { lists: [list.id] } })).id
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

  protected async progress() {
    const [row] = await this.place.ask(
      `select case when n.status = 'sent' then 1 else 0 end as is_done, n.finished_at, n.recipients, n.sent, n.failed,
        n.skipped, n.uncertain, (select sum(attempts) from mailkeep_message) as attempts,
        (select count(*) from mailkeep_message where lease_until is not null) as leases from mailkeep_newsletter as n`,
    )
    return row!
  }

  /** Checks that each recipient has one message, and that the counts of the newsletter are those of the messages. */
  async messages(): Promise<readonly MessageRow[]> {
    // One statement, because other processes continue to send.
    const rows = await this.place.ask(
      `select c.email, n.subject, m.status, n.recipients, n.sent, n.failed, n.skipped, n.uncertain
        from mailkeep_message as m join mailkeep_contact as c on c.id = m.contact_id
        join mailkeep_newsletter as n on n.id = m.newsletter_id`,
    )
    const messages = rows as MessageRow[]
    for (const name of ['recipients', 'sent', 'failed', 'skipped', 'uncertain']) {
      const stored = name === 'recipients' ? messages : messages.filter(({ status }) => status === name)
      assert.equal(Number(rows[0]?.[name] ?? 0), stored.length, name)
    }
    assert.equal(new Set(messages.map(({ email }) => email)).size, messages.length, 'a recipient has two messages')
    return messages
  }

  async audit(t: TestContext): Promise<MailCounts> {
    const counts = await this.auditMessages(t)
    assert.equal((await this.messages()).length, this.#recipients)
    const [events] = await this.place.ask("select count(*) as n from mailkeep_event where type = 'newsletter.sent'")
    assert.equal(Number(events!.n), 1, 'newsletter.sent is raised once')
    return counts
  }
}
