/** Whatever happens while a newsletter is sent: each recipient has one outcome, and the counts are those of the rows. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import type { MailReplyTo } from '../../lib/testing/mail.ts'
import { test } from '../support/databases.ts'
import { addAudience, addNewsletter, type OpenedMail, openAnother, openMail } from '../support/mail-harness.ts'
import { hourMs, onSharedDatabases } from '../support/webhook-harness.ts'

const recipients = 12

type Step =
  | { readonly kind: 'pause' | 'resume' | 'cancel' | 'skip' | 'resend' | 'run' | 'crash' }
  | { readonly kind: 'unsubscribe' | 'erase'; readonly at: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'run' as const }) },
  fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const, 'crash' as const) }),
  fc.record({ kind: fc.constantFrom('skip' as const, 'resend' as const) }),
  { weight: 1, arbitrary: fc.constantFrom({ kind: 'run' as const }, { kind: 'cancel' as const }) },
  fc.record({ kind: fc.constantFrom('unsubscribe' as const, 'erase' as const), at: fc.nat(recipients - 1) }),
)
const replies = fc.array(
  fc.constantFrom<MailReplyTo>('sent', 'sent', 'sent', 'temporary', 'permanent', 'unknown mailbox', 'uncertain'),
  { minLength: 1, maxLength: 5 },
)

/** Claims messages in another process that dies while it hands them over. Their leases end later. */
async function crash(t: TestContext, mail: OpenedMail): Promise<void> {
  const dying = await openAnother(t, mail, mail.clock.read, { connections: 2 })
  let claimed = () => {}
  const claim = new Promise<void>((resolve) => {
    claimed = resolve
  })
  dying.transport.reply = () => {
    claimed()
    return new Promise(() => {})
  }
  const running = dying.run().catch(() => {})
  await Promise.race([claim, running])
}

async function take(t: TestContext, mail: OpenedMail, id: number, ids: readonly number[], step: Step): Promise<void> {
  const { newsletters, contacts } = mail.acme
  const refused = () => {} // it is not in that state, or the contact is erased already
  if (step.kind === 'pause') await newsletters.pause(id).catch(refused)
  else if (step.kind === 'resume') await newsletters.resume(id).catch(refused)
  else if (step.kind === 'skip' || step.kind === 'resend') {
    await newsletters.resume(id, { uncertain: step.kind }).catch(refused)
  } else if (step.kind === 'cancel') await newsletters.cancel(id).catch(refused)
  else if (step.kind === 'unsubscribe') await contacts.unsubscribe(ids[step.at]!).catch(refused)
  else if (step.kind === 'erase') await contacts.delete(ids[step.at]!).catch(refused)
  else if (step.kind === 'crash') await crash(t, mail)
  else {
    mail.advance(hourMs)
    await mail.run()
  }
}

/** Compares the counts with the rows. */
async function assertAccounted(mail: OpenedMail, id: number): Promise<void> {
  const { counts } = await mail.acme.newsletters.get(id)
  const { recipients: all, ...parts } = counts
  assert.equal(all, recipients)
  assert.equal(
    Object.values(parts).reduce((sum, count) => sum + count, 0),
    all,
  )
  const rows = await mail.ask(
    'select status, cast(count(*) as integer) as n from mailkeep_message where newsletter_id = ? group by status',
    id,
  )
  const stored = Object.fromEntries(rows.map(({ status, n }) => [status, n]))
  for (const [status, count] of Object.entries(parts)) assert.equal(count, stored[status] ?? 0, status)
}

onSharedDatabases('the counts of a newsletter', (open) => {
  test('add up under pauses, crashes, erasures, unsubscribes and errors, and no contact gets it twice unless a person resends it', async (t) => {
    const mail = await openMail(t, { connections: 3 }, open)
    const trial = async (steps: readonly Step[], outcomes: readonly MailReplyTo[]) => {
      mail.transport.captured.length = 0
      let sent = 0
      mail.transport.reply = () => outcomes[sent++ % outcomes.length]!
      const list = await mail.acme.lists.create({ name: 'Trial' })
      const people = Array.from({ length: recipients }, (_, at) => ({ email: `c${list.id}-${at}@example.org` }))
      const saved = await mail.acme.contacts.addManyToList(list.id, people)
      const ids = saved.map((result) => (result as { id: number }).id)
      const { id } = await addNewsletter(mail, { lists: [list.id] })
      await mail.acme.newsletters.send(id)
      for (const step of steps) {
        await take(t, mail, id, ids, step)
        await assertAccounted(mail, id)
      }
      await mail.acme.newsletters.resume(id).catch(() => {})
      const isOver = async () => /^(?:sent|cancelled)$/.test((await mail.acme.newsletters.get(id)).status)
      for (let hour = 0; hour < 40 && !(await isOver()); hour++) {
        mail.advance(hourMs)
        await mail.run()
      }
      await assertAccounted(mail, id)
      const { counts, status } = await mail.acme.newsletters.get(id)
      assert.equal(counts.pending, 0)
      assert.ok(status === 'sent' || status === 'cancelled', status)
      const { data } = await mail.acme.newsletters.messages(id, { status: 'sent' })
      assert.equal(data.length, counts.sent)
      // Who got a mail whose outcome was known got no other one: only temporary errors are repeated.
      const delivered = new Set(data.map(({ uuid }) => uuid))
      const addresses = mail.transport.captured.filter((one) => delivered.has(one.id)).map(({ to }) => to.email)
      assert.ok(new Set(addresses).size === delivered.size)
    }
    await addAudience(mail, 0)
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), replies, trial), {
      numRuns: 5,
      endOnFailure: true,
    })
  })
})
