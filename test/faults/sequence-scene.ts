import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { ClientMailkeep } from '../../lib/index.ts'
import type { Kind, Place } from '../support/kinds.ts'
import { html, type MailCounts, MailScene, type MessageRow } from './mail-scene.ts'

const subjects = ['One', 'Two']

/** A sequence of two steps, ten minutes apart, with some contacts. */
export class SequenceScene extends MailScene {
  readonly #contacts: number

  private constructor(place: Place, contacts: number) {
    super(place)
    this.#contacts = contacts
  }

  static open(t: TestContext, kind: Kind, contacts: number): Promise<SequenceScene> {
    return MailScene.set(t, kind, (place) => new SequenceScene(place, contacts))
  }

  protected async populate(acme: ClientMailkeep): Promise<void> {
    const events = ['sequence_step.sent', 'sequence.completed'] as const
    await acme.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events })
    const list = await acme.lists.create({ name: 'Readers' })
    const steps = subjects.map((subject, at) => ({ subject, html, delay_seconds: at * 600 }))
    await acme.sequences.create({ name: 'Welcome', list_id: list.id, steps })
    const people = Array.from({ length: this.#contacts }, (_, at) => ({ email: `c${at + 1}@${this.domain}` }))
    await acme.contacts.addManyToList(list.id, people)
  }

  protected async progress() {
    const [row] = await this.place.ask(
      `select case when count(*) = sum(case when status = 'completed' then 1 else 0 end) then 1 else 0 end as is_done,
        sum(last_step_id) as steps, (select sum(attempts) from mailkeep_message) as attempts,
        (select count(*) from mailkeep_message where lease_until is not null) as leases from mailkeep_enrolment`,
    )
    return row!
  }

  /** Checks that no contact has two messages of a step. */
  async messages(): Promise<readonly MessageRow[]> {
    const rows = (await this.place.ask(
      `select c.email, s.subject, m.status from mailkeep_message as m join mailkeep_contact as c on c.id = m.contact_id
        join mailkeep_step as s on s.id = m.step_id`,
    )) as MessageRow[]
    const places = new Set(rows.map(({ email, subject }) => `${email} ${subject}`))
    assert.equal(places.size, rows.length, 'a contact has two messages of a step')
    return rows
  }

  /** Also checks that each step that was sent, and each completion, raised one event. */
  async audit(t: TestContext): Promise<MailCounts> {
    const counts = await this.auditMessages(t)
    assert.equal((await this.messages()).length, this.#contacts * subjects.length)
    const rows = await this.place.ask('select type, count(*) as n from mailkeep_event group by type')
    const raised = Object.fromEntries(rows.map(({ type, n }) => [type, Number(n)]))
    assert.deepEqual(raised, { 'sequence_step.sent': counts.sent, 'sequence.completed': this.#contacts })
    return counts
  }
}
