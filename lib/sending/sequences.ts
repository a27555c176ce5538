import { randomUUID } from 'node:crypto'
import { audit, auditUpdate } from '../audit/operations.ts'
import { defined } from '../collections.ts'
import { type Context, now, type Tx } from '../context.ts'
import { invalid, notFound } from '../errors.ts'
import { runInTwoPasses, runOrEnqueue } from '../jobs/operations.ts'
import { lockList } from '../lists/operations.ts'
import { listPage, mapPage, type Page, type PageInput } from '../page.ts'
import { parse, requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { requireExists } from './audience.ts'
import { clearSequence } from './deletion.ts'
import { rescheduleSequence } from './enrolments.ts'
import { ranksBeforeMove, removedPlaces } from './places.ts'
import { type ResumeInput, ResumeOptions } from './schema.ts'
import { requireContent, requireSender } from './sendable.ts'
import * as queries from './sequence-queries.ts'
import {
  NewSequence,
  type NewStep,
  NewSteps,
  type Sequence,
  SequenceChange,
  type SequenceChangeInput,
  type SequenceInput,
  type SequenceSummary,
  type StepsInput,
  sequenceSummaryFrom,
  stepFrom,
} from './sequence-schema.ts'
import * as stepQueries from './step-queries.ts'
import { skipOrResendSteps } from './uncertain.ts'

/**
 * Returns one page of the client's sequences without their steps, by ascending id.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listSequences(ctx: Context, query?: PageInput): Promise<Page<SequenceSummary>> {
  const page = await listPage(query, (range) =>
    queries.sequences.list(ctx, { client_id: ctx.clientId, ...range }, range),
  )
  return mapPage(page, sequenceSummaryFrom)
}

/** Returns a sequence with its steps. @throws MailkeepError `not_found` */
export async function getSequence(ctx: Context, id: number): Promise<Sequence> {
  const summary = await getSequenceSummary(ctx, id)
  const steps = await stepQueries.listSteps(ctx, { sequence_id: id })
  return { ...summary, steps: steps.map(stepFrom) }
}

/** @throws MailkeepError `not_found` */
export async function getSequenceSummary(ctx: Context, id: number): Promise<SequenceSummary> {
  requireId('sequenceId', id)
  const row = await queries.sequences.find(ctx, { client_id: ctx.clientId, id })
  if (!row) throw notFound('sequence')
  return sequenceSummaryFrom(row)
}

/**
 * Creates a sequence. Contacts who are added to its list from now on are enrolled.
 *
 * @throws MailkeepError `validation_failed`: also when the list does not exist, the sender identity is not verified, or a
 *   template is wrong.
 */
export async function createSequence(ctx: Context, input: SequenceInput): Promise<Sequence> {
  const {
    name,
    list_id = null,
    from_identity_id = null,
    reply_to = null,
    status = 'active',
    steps = [],
  } = parse(NewSequence, input)
  await requireTemplates(ctx, steps)
  return transact(ctx, async (tx) => {
    await requireReferences(tx, list_id, from_identity_id)
    const at = now(tx)
    const settings = { name, list_id, from_identity_id, reply_to, status, updated_at: at }
    const fixed = { client_id: tx.clientId, uuid: randomUUID(), created_at: at }
    const row = await queries.insertSequence(tx, { ...fixed, ...settings })
    audit(tx, 'sequence.created', row!.id)
    await writeSteps(tx, row!.id, steps)
    return await getSequence(tx, row!.id)
  })
}

/**
 * Changes a sequence. While it is paused, nothing is sent and no contact is enrolled by the list. What became due is sent
 * when it is active again. With another `list_id`, or none, contacts under way continue, and no longer depend on the list.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: also when the list does not exist, or the sender identity is
 *   not verified.
 */
export async function updateSequence(ctx: Context, id: number, input: SequenceChangeInput): Promise<Sequence> {
  const change = parse(SequenceChange, input)
  return transact(ctx, async (tx) => {
    const stored = await lockSequence(tx, id)
    await requireReferences(tx, change.list_id ?? null, change.from_identity_id ?? null)
    const changed = { ...stored, ...defined(change) } // null removes a value
    await saveSettings(tx, changed)
    auditUpdate(tx, 'sequence.updated', id, change)
    if (changed.list_id !== stored.list_id) await queries.releaseEnrolments(tx, { client_id: tx.clientId, id })
    tx.transaction.afterCommit(tx.local.mail.wake)
    return await getSequence(tx, id)
  })
}

/**
 * Continues a sequence that is paused.
 *
 * @param input `uncertain` also sends again, or skips, the messages whose outcome is not known. With it, a sequence that is
 *   active can be resumed too. Who got such a message may get it twice.
 * @throws MailkeepError `not_found`; `validation_failed` on `status`: there is nothing to resume.
 */
export async function resumeSequence(ctx: Context, id: number, input: ResumeInput = {}): Promise<Sequence> {
  const { uncertain } = parse(ResumeOptions, input)
  return transact(ctx, async (tx) => {
    const stored = await lockSequence(tx, id)
    if (!uncertain && stored.status !== 'paused') {
      throw invalid('status', `The sequence is ${stored.status}: it cannot be resumed.`)
    }
    await saveSettings(tx, { ...stored, status: 'active' })
    audit(tx, 'sequence.resumed', id)
    tx.transaction.afterCommit(tx.local.mail.wake)
    if (uncertain) await runOrEnqueue(tx, skipOrResendSteps, { targetId: id, state: { after: 0, uncertain } })
    return await getSequence(tx, id)
  })
}

/**
 * Deletes a sequence with its steps, enrolments and messages.
 *
 * @throws MailkeepError `not_found`
 */
export async function deleteSequence(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    await lockSequence(tx, id)
    await queries.sequences.delete(tx, { client_id: tx.clientId, id })
    audit(tx, 'sequence.deleted', id)
    await runInTwoPasses(tx, clearSequence, { targetId: id })
  })
}

/**
 * Replaces the steps. Steps with an `id` stay, and contacts who are past them stay past them. A new step is sent to the
 * contacts who are not past its place. A removed step is left out. If no step has an `id`, the steps match the stored
 * ones by their positions. A stored job moves the due times of those under way.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: also on the template that is wrong, as in `steps.0.html`.
 */
export async function setSteps(ctx: Context, id: number, input: StepsInput): Promise<Sequence> {
  const { steps } = parse(NewSteps, input)
  await requireTemplates(ctx, steps)
  return transact(ctx, async (tx) => {
    await saveSettings(tx, await lockSequence(tx, id))
    await writeSteps(tx, id, steps)
    audit(tx, 'sequence.updated', id)
    await runInTwoPasses(tx, rescheduleSequence, { targetId: id, state: { after: 0 } })
    return await getSequence(tx, id)
  })
}

/** Saves the settings, and that the sequence was changed now. */
async function saveSettings(tx: Tx, sequence: SequenceSummary): Promise<void> {
  await queries.updateSequence(tx, { ...sequence, client_id: tx.clientId, updated_at: now(tx) })
}

async function requireTemplates(ctx: Context, steps: readonly NewStep[]): Promise<void> {
  for (const [at, step] of steps.entries()) await requireContent(ctx, contentOf(step), `steps.${at}.`)
}

async function writeSteps(tx: Tx, id: number, steps: readonly NewStep[]): Promise<void> {
  const places = await stepQueries.listPlaces(tx, { sequence_id: id })
  const stored = places.filter((place) => !place.is_removed)
  const byPosition = steps.every((step) => step.id === undefined)
  const positions = new Map<number, number>()
  for (const [index, [at, step]] of inOrder(steps).entries()) {
    const row = { sequence_id: id, position: index + 1, delay_seconds: step.delay_seconds, ...contentOf(step) }
    const stepId = byPosition ? stored[index]?.id : step.id
    if (stepId === undefined) {
      await stepQueries.insertStep(tx, row)
      continue
    }
    if (positions.has(stepId)) throw invalid(`steps.${at}.id`, 'This is in the list already.')
    if (!(await stepQueries.updateStep(tx, { ...row, id: stepId }))) throw invalid(`steps.${at}.id`, 'No such step.')
    positions.set(stepId, index + 1)
  }
  const moved = ranksBeforeMove(places, positions.keys())
  if (moved.length > 0) await stepQueries.setMovedRanks(tx, moved)
  for (const [stepId, position] of removedPlaces(places, positions)) {
    await stepQueries.removeStep(tx, { id: stepId, position })
  }
}

/** Returns the steps in the order of their positions, if all have one, each with its place in the input. */
function inOrder(steps: readonly NewStep[]): [number, NewStep][] {
  const entries = [...steps.entries()]
  if (steps.some(({ position }) => position === undefined)) return entries
  return entries.sort(([, a], [, b]) => a.position! - b.position!)
}

function contentOf({ subject, preheader = null, html, text = null }: NewStep) {
  return { subject, preheader, html, text }
}

/** Locks the sequence. While it is locked, no process claims its steps. */
export async function lockSequence(tx: Tx, id: number): Promise<SequenceSummary> {
  requireId('sequenceId', id)
  const row = await queries.sequences.lock(tx, { client_id: tx.clientId, id })
  if (!row) throw notFound('sequence')
  return sequenceSummaryFrom(row)
}

async function requireReferences(tx: Tx, listId: number | null, identityId: number | null): Promise<void> {
  if (listId !== null) await requireExists('list_id', () => lockList(tx, listId))
  if (identityId !== null) await requireSender(tx, identityId)
}
