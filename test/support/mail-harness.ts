/** Opens mailkeeps that send mail to a transport in memory, with a clock that only the test moves. */
import type { TestContext } from 'node:test'
import type { AudienceInput, ContentInput, Newsletter } from '../../lib/index.ts'
import { CapturingTransport } from '../../lib/testing/mail.ts'
import { hourMs, type Open, type Opened, type OpenOptions, open as openMailkeep, TestClock } from './webhook-harness.ts'

export const publicUrl = 'https://mail.example.com'

export const content: ContentInput = {
  subject: 'News for {{ contact.name }}',
  html: '<p>Hello {{ contact.name }}</p><a href="{{ unsubscribe_url }}">Unsubscribe</a>',
}

type MailOptions = OpenOptions & { readonly rate?: number; readonly connections?: number }

/** @param openOn Opens the database; default: in memory. */
export async function openMail(t: TestContext, options: MailOptions = {}, openOn: Open = openMailkeep) {
  const { rate = 100_000, connections = 50, mail, ...rest } = options
  const testClock = new TestClock()
  const clock = rest.clock ?? testClock.read
  const transport = new CapturingTransport(clock)
  const settings = { transport, rate, connections, allowUnverified: true, ...mail }
  const opened = await openOn(t, { start: false, publicUrl, mail: settings, ...rest, clock })
  return {
    ...opened,
    clock: { read: clock },
    transport,
    /** Moves the clock. */
    advance: (ms: number) => testClock.advance(ms),
    /** Addresses of the mails handed over, sorted. */
    mailed: () => transport.captured.map(({ to }) => to.email).sort(),
    run: () => opened.mailkeep.deliverDue(),
  }
}
export type OpenedMail = Awaited<ReturnType<typeof openMail>>

/** Opens another process on the same database, with its own transport and the first one's clock. */
export function openAnother(
  t: TestContext,
  { place, encryptionKey }: OpenedMail,
  clock: () => number,
  options: MailOptions = {},
) {
  return openMail(t, { place, encryptionKey, clock, ...options })
}

export const emailOf = (number: number) => `c${String(number).padStart(5, '0')}@example.org`

/** Adds a sender identity and a list with contacts. */
export async function addAudience({ acme }: Pick<Opened, 'acme'>, count: number) {
  const identity = await acme.identities.add({ email: 'news@acme.example', name: 'Acme', status: 'verified' })
  const list = await acme.lists.create({ name: 'Readers' })
  const people = Array.from({ length: count }, (_, at) => ({ email: emailOf(at + 1), name: `Contact ${at + 1}` }))
  const results = await acme.contacts.addManyToList(list.id, people)
  return { identity, list, ids: results.map((result) => (result as { id: number }).id) }
}

export async function addNewsletter({ acme }: Pick<Opened, 'acme'>, audience: AudienceInput): Promise<Newsletter> {
  return await acme.newsletters.create({ name: 'News', audience, ...content })
}

/**
 * Suspends the process for an hour the first time that it renders a template.
 *
 * @returns A function that returns the length of the suspension in milliseconds; 0 before it.
 */
export function suspendOnceWhileRendering(t: TestContext): () => number {
  const now = performance.now.bind(performance)
  let suspendedMs = 0
  t.mock.method(performance, 'now', () => {
    if (suspendedMs === 0 && new Error().stack!.includes('renderTemplates')) suspendedMs = hourMs
    return now() + suspendedMs
  })
  return () => suspendedMs
}
