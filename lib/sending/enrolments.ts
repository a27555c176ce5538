/** Contacts on their way through a sequence. */
import { audit } from '../audit/operations.ts'
import { groupBy } from '../collections.ts'
import type { Change } from '../consent/history.ts'
import { type ContactKey, contactIdOf, lockContact } from '../contacts/contact-key.ts'
import { getContact } from '../contacts/reading.ts'
import { type Context, now, type Tx } from '../context.ts'
import { ifFound, invalid, notFound } from '../errors.ts'
import { continueJob, done, type Job, type JobHandlers, type JobResult, maxRowsPerBatch } from '../jobs/operations.ts'
import { listPage, mapPage, type Page, type PageInput } from '../page.ts'
import { parse } from '../parse.ts'
import { recordFrom } from '../record.ts'
import { transact } from '../storage/transaction.ts'
import { msOf, timestamp } from '../time.ts'
import { findEventEndpoints, isWanted, raiseTo } from '../webhooks/outbox.ts'
import { requireExists } from './audience.ts'
import { skipPendingSteps } from './message-queries.ts'
import { atStart, nextPlace, type Place, type Progress, passedSteps, progressAfter } from './places.ts'
import * as queries from './sequence-queries.ts'
import {
  type Enrolment,
  type EnrolmentInput,
  enrolmentFields,
  NewEnrolment,
  sequenceSummaryFrom,
} from './sequence-schema.ts'
import { getSequenceSummary, lockSequence } from './sequences.ts'
import * as stepQueries from './step-queries.ts'

export const rescheduleSequence = 'reschedule sequence'

export const sequenceJobs: JobHandlers = { [rescheduleSequence]: rescheduleBatch }

/**
 * Returns one page of a sequence's enrolments, by ascending id.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function listEnrolments(ctx: Context, sequenceId: number, query?: PageInput): Promise<Page<Enrolment>> {
  await getSequenceSummary(ctx, sequenceId)
  const places = await stepQueries.listPlaces(ctx, { sequence_id: sequenceId })
  const page = await listPage(query, (range) =>
    queries.listEnrolments(ctx, { sequence_id: sequenceId, ...range }, range),
  )
  return mapPage(page, (row) => enrolmentFrom(row, places))
}

/** Returns the enrolments of a contact, by ascending id. */
export async function listEnrolmentsOfContact(ctx: Context, contactId: number): Promise<Enrolment[]> {
  const rows = await queries.listEnrolmentsOfContact(ctx, { contact_id: contactId })
  const enrolments: Enrolment[] = []
  for (const row of rows) {
    enrolments.push(enrolmentFrom(row, await stepQueries.listPlaces(ctx, { sequence_id: row.sequence_id })))
  }
  return enrolments
}

/**
 * Enrols a contact. An enrolment that has ended begins again from the first step; one that is active stays as it is.
 *
 * @throws MailkeepError `not_found`: no such sequence; `validation_failed` on `contact_id`: no such contact, or it has
 *   unsubscribed.
 */
export async function enrolContact(ctx: Context, sequenceId: number, input: EnrolmentInput): Promise<Enrolment> {
  const { contact_id } = parse(NewEnrolment, input)
  return transact(ctx, async (tx) => {
    const { list_id } = await lockSequence(tx, sequenceId)
    const contact = await requireExists('contact_id', async () => {
      const { id } = await lockContact(tx, contact_id)
      return await getContact(tx, id)
    })
    if (contact.unsubscribed_at) throw invalid('contact_id', 'The contact has unsubscribed.')
    const places = await stepQueries.listPlaces(tx, { sequence_id: sequenceId })
    const key = { sequence_id: sequenceId, contact_id: contact.id }
    const since = now(tx)
    const due_at = dueAfter(nextPlace(places, atStart), since)
    // A contact who is not on the list cannot leave it.
    const isMember = contact.lists.some(({ id }) => id === list_id)
    const list_version = isMember ? (await queries.findListVersion(tx, { id: sequenceId }))!.list_version : null
    const isNew = await queries.enrol(tx, { client_id: tx.clientId, ...key, list_version, since, due_at })
    if (isNew) {
      await skipPendingSteps(tx, key)
      audit(tx, 'sequence.enrolled', sequenceId)
    }
    tx.transaction.afterCommit(tx.local.mail.wake)
    return enrolmentFrom((await queries.findEnrolment(tx, key))!, places)
  })
}

/**
 * Stops the enrolment of a contact. It is no error if it has ended already.
 *
 * @throws MailkeepError `not_found`: no such sequence, or the contact is not enrolled.
 */
export async function stopEnrolment(ctx: Context, sequenceId: number, contact: ContactKey): Promise<void> {
  return transact(ctx, async (tx) => {
    await lockSequence(tx, sequenceId)
    const key = { sequence_id: sequenceId, contact_id: await contactIdOf(tx, contact) }
    if (!(await queries.findEnrolment(tx, key))) throw notFound('enrolment')
    if ((await queries.stopEnrolment(tx, key)) > 0) audit(tx, 'sequence.stopped', sequenceId)
  })
}

/** Enrols contacts who joined a list, and stops the enrolments of those who left it or unsubscribed. */
export async function followMemberships(tx: Tx, changes: readonly Change[]): Promise<void> {
  const of = (type: Change['type']) => changes.filter((change) => change.type === type)
  const byList = (some: readonly Change[]) => groupBy(some, ({ listId }) => listId!)
  // A contact joins a list with double opt-in when it confirms it.
  for (const [list_id, joined] of byList([...of('list_joined'), ...of('confirmed')])) {
    const contact_ids = joined.map(({ contactId }) => contactId)
    for (const { id, list_version, delay_seconds } of await queries.listTriggered(tx, { list_id })) {
      const since = now(tx)
      const due_at = delay_seconds === null ? null : dueAfter({ delay_seconds }, since)
      const start = { client_id: tx.clientId, sequence_id: id, list_version, since, due_at }
      await queries.enrolAll(tx, { ...start, contact_ids })
      tx.transaction.afterCommit(tx.local.mail.wake)
    }
  }
  const unsubscribed = of('unsubscribed').map(({ contactId }) => contactId)
  if (unsubscribed.length > 0) {
    await queries.stopEnrolmentsOf(
      tx,
      { contact_ids: unsubscribed, reason: 'unsubscribed', list_id: 0 },
      { onList: false },
    )
  }
  for (const [list_id, left] of byList(of('list_left'))) {
    const contact_ids = left.map(({ contactId }) => contactId)
    await queries.stopEnrolmentsOf(tx, { contact_ids, reason: 'left_list', list_id }, { onList: true })
  }
}

/**
 * Moves an enrolment past a step whose message is final. After the last step it is completed, and `sequence.completed` is
 * raised. A contact who is past the step, or was enrolled again since, stays there: the message was sent again.
 *
 * @param isSent Whether to raise `sequence_step.sent`.
 */
export async function advance(tx: Tx, { sequenceId, contactId, stepId, messageId, isSent }: StepDone): Promise<void> {
  const sequence = await queries.sequences.find(tx, { client_id: tx.clientId, id: sequenceId })
  if (!sequence) return
  const ofMessage = { sequence_id: sequenceId, contact_id: contactId, message_id: messageId }
  const enrolment = await queries.lockEnrolmentOfMessage(tx, ofMessage)
  const places = await stepQueries.listPlaces(tx, { sequence_id: sequenceId })
  const summary = sequenceSummaryFrom(sequence)
  if (isSent) {
    const more = async () => ({
      sequence: summary,
      step: await stepQueries.findStep(tx, { id: stepId }),
      message_id: messageId,
    })
    await raiseFor(tx, 'sequence_step.sent', contactId, more)
  }
  if (!enrolment || passedSteps(places, enrolment).has(stepId)) return
  const progress = progressAfter(places, enrolment, stepId)
  await saveProgress(tx, { id: enrolment.id, contactId, summary, places, progress, since: now(tx) })
}

interface StepDone {
  readonly sequenceId: number
  readonly contactId: number
  readonly stepId: number
  readonly messageId: number
  readonly isSent: boolean
}

interface ProgressToSave {
  readonly id: number
  readonly contactId: number
  readonly summary: ReturnType<typeof sequenceSummaryFrom>
  readonly places: readonly Place[]
  readonly progress: Progress
  readonly since: string
}

/** Saves the progress of an enrolment. Completes the enrolment if no step follows and at least one was done. */
export async function saveProgress(tx: Tx, fields: ProgressToSave): Promise<void> {
  const { id, contactId, summary, places, progress, since } = fields
  const { last_step_id, passed_ids } = progress
  const next = nextPlace(places, progress)
  const isDone = !next && last_step_id !== null
  const status = isDone ? 'completed' : 'active'
  const saved = { id, status, last_step_id, passed_ids, since, due_at: dueAfter(next, since) } as const
  const isSaved = (await queries.saveProgress(tx, saved)) > 0
  if (isSaved && isDone) await raiseFor(tx, 'sequence.completed', contactId, async () => ({ sequence: summary }))
}

/** Raises an event with the contact and what `readMore` returns, unless it is erased or the event is not wanted. */
async function raiseFor(
  tx: Tx,
  type: 'sequence_step.sent' | 'sequence.completed',
  contactId: number,
  readMore: () => Promise<object>,
): Promise<void> {
  const endpoints = await findEventEndpoints(tx)
  if (!isWanted(tx, endpoints, type)) return
  await ifFound(async () => {
    const contact = await getContact(tx, contactId)
    await raiseTo(tx, endpoints, type, { data: { contact, ...(await readMore()) }, contactId })
  })
}

/** Moves the due times of contacts under way after the steps were changed. */
async function rescheduleBatch(tx: Tx, { targetId: sequence_id, state }: Job): Promise<JobResult> {
  const { after } = state as { after: number }
  const sequence = await queries.sequences.lock(tx, { client_id: tx.clientId, id: sequence_id })
  if (!sequence) return done()
  const places = await stepQueries.listPlaces(tx, { sequence_id })
  const rows = await queries.listWaiting(tx, { sequence_id, after, limit: maxRowsPerBatch })
  const enrolments: { id: number; due_at: string | null; passed_ids: string | null }[] = []
  for (const { id, contact_id, since, ...stored } of rows) {
    const progress = progressAfter(places, stored, stored.last_step_id)
    const next = nextPlace(places, progress)
    if (next || progress.last_step_id === null) {
      enrolments.push({ id, due_at: dueAfter(next, since), passed_ids: progress.passed_ids })
    } else {
      const summary = sequenceSummaryFrom(sequence)
      await saveProgress(tx, { id, contactId: contact_id, summary, places, progress, since })
    }
  }
  if (enrolments.length > 0) await queries.setDue(tx, enrolments)
  tx.transaction.afterCommit(tx.local.mail.wake)
  return rows.length < maxRowsPerBatch ? done() : continueJob({ after: rows.at(-1)!.id })
}

/** @returns When a step is due after its delay; null without a step. */
export function dueAfter(place: Pick<Place, 'delay_seconds'> | undefined, since: string): string | null {
  return place ? timestamp(msOf(since) + place.delay_seconds * 1000) : null
}

interface EnrolmentRow extends Omit<Enrolment, 'next_step_id'>, Progress {}

const enrolmentRecord = recordFrom(enrolmentFields)

function enrolmentFrom(row: EnrolmentRow, places: readonly Place[]): Enrolment {
  const next_step_id = row.status === 'active' ? (nextPlace(places, row)?.id ?? null) : null
  return enrolmentRecord({ ...row, next_step_id })
}
