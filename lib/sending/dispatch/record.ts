import { recordBounce, suppressFormerAddress } from '../../contacts/bounces.ts'
import { type Context, now, type Tx } from '../../context.ts'
import { isMailkeepError } from '../../errors.ts'
import { maxRowsPerBatch, runOrEnqueue } from '../../jobs/operations.ts'
import { timestamp } from '../../time.ts'
import { advance } from '../enrolments.ts'
import { skipMessages } from '../jobs.ts'
import { addCounts } from '../preparing.ts'
import { restartStaleDelays } from '../stale-delays.ts'
import type { MailOutcome } from '../transport.ts'
import type { ClaimedMessage, Recipient } from './claim.ts'
import * as queries from './claim-queries.ts'
import { maxPauseMs } from './outage.ts'
import type { Campaign } from './pace.ts'

/** Outcome of an attempt. `interrupted`: this process stopped before the message was handed over. */
export type Outcome =
  | MailOutcome
  | { readonly kind: 'uncertain'; readonly error: string }
  | { readonly kind: 'interrupted' }

/** An attempt that has ended and is not recorded yet. */
export interface FinishedAttempt {
  readonly task: ClaimedMessage
  readonly outcome: Outcome
  /** The name of an error of this process: the message could not be rendered, or its transport threw. */
  readonly fault?: string | undefined
  /** Milliseconds since 1970. */
  readonly endedMs: number
}

/** The recorded outcome of an attempt. `retried`: the message stays pending. */
export type MessageOutcome = 'sent' | 'failed' | 'uncertain' | 'retried'

interface RecordedAttempt {
  readonly outcome: MessageOutcome
  /** When a retried message is due, in milliseconds since 1970. */
  readonly dueMs: number | undefined
}

/** Delays after temporary errors. With the longest jitter they are less than a day in all. Then the message fails. */
const retrySeconds = [60, 300, 900, 1800, 3600, 7200, 14_400, 14_400, 14_400, 14_400]
const maxRetryDelayMs = 1000 * Math.max(...retrySeconds) * 1.2

/** Maximum characters that are stored of an error, or of a server's id. */
const maxTextCharacters = 1000

const lostProcess = 'The process was lost while the message was handed over: its outcome is not known.'

/** Counts of the messages of a newsletter or sequence that one transaction recorded. */
interface Tally {
  readonly campaign: CampaignKey
  sent: number
  failed: number
  uncertain: number
  retried: number
  readonly faults: Set<string>
}

type CampaignKey = Pick<Campaign, 'kind' | 'id' | 'clientId'>
type Tallies = Map<string, Tally>

/** Records attempts whose claim is current, and counts them with their newsletters. */
export async function recordAttempts(tx: Tx, finished: readonly FinishedAttempt[]): Promise<RecordedAttempt[]> {
  const recorded: RecordedAttempt[] = []
  const tallies: Tallies = new Map()
  const ends = await Promise.all(
    finished.map(async (attempt) => {
      const disposition = dispositionOf(attempt)
      return { attempt, ...disposition, row: await recordOutcome(tx, attempt, disposition) }
    }),
  )
  for (const { attempt, status, dueMs, row } of ends) {
    const { task } = attempt
    const { clientId } = task.campaign
    if (!row) continue // the message was deleted, or its lease had ended
    const outcome = status === 'pending' ? 'retried' : status
    recorded.push({ outcome, dueMs })
    const tally = tallyOf(tallies, task.campaign)
    tally[outcome] += 1
    if (attempt.fault !== undefined) tally.faults.add(attempt.fault)
    const ofClient = { ...tx, clientId }
    if (row.sequence_id !== null && row.contact_id !== null && status !== 'pending') {
      const done = { sequenceId: row.sequence_id, contactId: row.contact_id, stepId: task.stepId!, messageId: task.id }
      await advance(ofClient, { ...done, isSent: status === 'sent' })
    }
    if (attempt.outcome.kind === 'permanent' && attempt.outcome.unknownMailbox) {
      await suppressMailbox(ofClient, task.contact)
    }
  }
  await countAll(tx, tallies)
  return recorded
}

/**
 * Suppresses an address whose mailbox does not exist, without an entry in the history if its contact has another address
 * since. Does nothing if the contact was merged or erased: nothing about it may be stored.
 */
export async function suppressMailbox(ctx: Context, { id, email }: Pick<Recipient, 'id' | 'email'>): Promise<void> {
  try {
    await recordBounce(ctx, { email })
  } catch (error) {
    if (!isMailkeepError(error, 'not_found')) throw error
    await suppressFormerAddress(ctx, id, email)
  }
}

function tallyOf(tallies: Tallies, campaign: CampaignKey): Tally {
  const key = `${campaign.kind} ${campaign.id}`
  const tally = tallies.get(key) ?? {
    campaign,
    sent: 0,
    failed: 0,
    uncertain: 0,
    retried: 0,
    faults: new Set<string>(),
  }
  tallies.set(key, tally)
  return tally
}

/** Sorted by id, so that two processes lock newsletters in the same order and cannot deadlock. */
async function countAll(tx: Tx, tallies: Tallies): Promise<void> {
  for (const tally of [...tallies.values()].sort((a, b) => a.campaign.id - b.campaign.id)) {
    const { campaign, sent, failed, uncertain, retried } = tally
    const { kind, id, clientId } = campaign
    logUnsent(tx, tally)
    if (kind !== 'newsletter') continue
    const ofClient = { ...tx, clientId }
    const status = await addCounts(ofClient, id, { sent, failed, uncertain })
    if (status === 'cancelled' && retried > 0) await runOrEnqueue(ofClient, skipMessages, { targetId: id })
  }
}

/**
 * Logs one entry, however many messages are lost or retried. Their errors are left out, because they may quote an address.
 * Only the names of this process's own errors are logged.
 */
function logUnsent(tx: Tx, { campaign, failed, uncertain, retried, faults }: Tally): void {
  const { kind, id, clientId } = campaign
  const fields = { client_id: clientId, [kind]: id, ...(faults.size > 0 ? { errors: [...faults] } : {}) }
  if (retried > 0) {
    const message = 'messages could not be handed over, and are retried'
    const level = faults.size > 0 ? 'warn' : 'info'
    tx.transaction.afterCommit(() => tx.logger[level]({ ...fields, retried }, message))
  }
  if (failed + uncertain === 0) return
  const lost = { ...fields, failed, uncertain }
  tx.transaction.afterCommit(() => tx.logger.warn(lost, 'messages were not sent, or may not have been'))
}

/** Whether the attempt says nothing about its message. It is not counted. */
function isUncounted(outcome: Outcome): boolean {
  return outcome.kind === 'interrupted' || (outcome.kind === 'temporary' && outcome.isServerDown === true)
}

interface Disposition {
  readonly status: 'sent' | 'failed' | 'uncertain' | 'pending'
  readonly dueMs: number | undefined
}

function dispositionOf({ task, outcome, endedMs }: FinishedAttempt): Disposition {
  if (outcome.kind === 'sent' || outcome.kind === 'uncertain') return { status: outcome.kind, dueMs: undefined }
  if (outcome.kind === 'permanent') return { status: 'failed', dueMs: undefined }
  if (outcome.kind === 'interrupted') return { status: 'pending', dueMs: endedMs }
  // The next attempt of the outage is that of another message: this one could be the only one that has the error.
  if (isUncounted(outcome)) return { status: 'pending', dueMs: endedMs + maxPauseMs + 1000 }
  const delaySeconds = retrySeconds[task.attempt - 1]
  if (delaySeconds === undefined) return { status: 'failed', dueMs: undefined }
  return { status: 'pending', dueMs: Math.ceil(endedMs + delaySeconds * 1000 * (1 + Math.random() / 5)) }
}

function recordOutcome(tx: Tx, { task, outcome, endedMs }: FinishedAttempt, { status, dueMs }: Disposition) {
  return queries.recordOutcome(tx, {
    id: task.id,
    claim: task.claim,
    status,
    due_at: timestamp(dueMs ?? endedMs),
    uncounted: isUncounted(outcome) ? 1 : 0,
    error: 'error' in outcome ? outcome.error.slice(0, maxTextCharacters) : null,
    provider_message_id: outcome.kind === 'sent' ? idOf(outcome.providerMessageId) : null,
    sent_at: status === 'sent' ? timestamp(endedMs) : null,
  })
}

/** A host's transport in JavaScript may return anything. Stores a number as text, and leaves out other types. */
function idOf(id: unknown): string | null {
  return ['string', 'number', 'bigint'].includes(typeof id) ? String(id).slice(0, maxTextCharacters) : null
}

/** Marks the messages whose lease has expired as uncertain: their process died while it handed them over. */
export async function releaseExpiredLeases(tx: Tx, expired: readonly queries.ExpiredMessage[]): Promise<void> {
  await queries.markUncertain(tx, { ids: expired.map(({ id }) => id), error: lostProcess })
  const tallies: Tallies = new Map()
  for (const { id: messageId, client_id: clientId, newsletter_id, sequence_id, contact_id, step_id } of expired) {
    const kind = newsletter_id === null ? 'sequence' : 'newsletter'
    tallyOf(tallies, { kind, id: (newsletter_id ?? sequence_id)!, clientId }).uncertain += 1
    if (sequence_id === null || contact_id === null) continue
    const done = { sequenceId: sequence_id, contactId: contact_id, stepId: step_id!, messageId, isSent: false }
    await advance({ ...tx, clientId }, done)
  }
  await countAll(tx, tallies)
}

/**
 * Makes messages due that were scheduled before the clock was set back, and begins the delays of steps again.
 *
 * @returns Their number, up to a limit.
 */
export async function releaseStaleSchedules(tx: Tx): Promise<number> {
  const latest = timestamp(tx.clock() + maxRetryDelayMs)
  const released = await queries.releaseStale(tx, { now: now(tx), latest, limit: maxRowsPerBatch })
  const untried = await queries.releaseUntried(tx, { now: now(tx), limit: maxRowsPerBatch })
  return released + untried + (await restartStaleDelays(tx))
}
