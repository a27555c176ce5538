/** Writes one message for each recipient of a newsletter that starts, and notices when all of them are final. */
import { randomUUID } from 'node:crypto'
import { findLastChange } from '../consent/history.ts'
import { selectContacts } from '../contacts/listing.ts'
import { now, type Tx } from '../context.ts'
import { ifFound, isMailkeepError } from '../errors.ts'
import {
  continueJob,
  done,
  findPendingJob,
  type Job,
  type JobResult,
  maxRowsPerBatch,
  runOrEnqueue,
} from '../jobs/operations.ts'
import { getSegment } from '../segments/operations.ts'
import { msOf } from '../time.ts'
import { raise } from '../webhooks/outbox.ts'
import { type StartedAudience, startedAudience, waitsForIndex } from './audience.ts'
import { findLatecomers } from './latecomers.ts'
import { insertRecipients } from './message-queries.ts'
import * as queries from './newsletter-queries.ts'
import { getNewsletter } from './newsletters.ts'
import { type MessageCounts, type Newsletter, newsletterFrom, summaryFrom } from './schema.ts'
import { renderInTime, requireReady } from './sendable.ts'

const { prepareNewsletter } = queries

/** The columns of a change of state that changes nothing else. */
export function unchangedState(tx: Tx, id: number) {
  const none = { error: null, from_identity_id: null, scheduled_at: null, started_at: null, finished_at: null }
  return { client_id: tx.clientId, id, now: now(tx), ...none }
}

/**
 * Makes a newsletter that starts wait for merges under way, and a merge for starts. If neither transaction saw the other,
 * the newsletter would write to a contact that is gone. A start takes the lock before it locks rows, because a merge holds
 * it until the end of its transaction, which may lock the same rows later.
 *
 * @param options.shared True for a merge: merges do not wait for each other.
 */
export async function lockRecipients(tx: Tx, { shared }: { readonly shared: boolean }): Promise<void> {
  if (tx.storage.dialect.lock) await queries.lockRecipients(tx, { name: `recipients ${tx.clientId}` }, { shared })
}

/** Starts a newsletter. The first batch of messages is written in this transaction, which has locked the recipients. */
export async function startNow(tx: Tx, id: number, identityId: number | null): Promise<Newsletter> {
  const started_at = now(tx)
  const change = { ...unchangedState(tx, id), status: 'sending' as const, from_identity_id: identityId, started_at }
  const { audience } = newsletterFrom((await queries.updateState(tx, change))!)
  if (audience.segment !== undefined) {
    const { filters } = await getSegment(tx, audience.segment)
    await queries.setSegmentFilters(tx, { client_id: tx.clientId, id, segment_filters: JSON.stringify(filters) })
  }
  const last = await queries.findLastContact(tx, { client_id: tx.clientId })
  const state: Progress = { after: 0, until: last?.id ?? 0, since: await findLastChange(tx) }
  await runOrEnqueue(tx, prepareNewsletter, { targetId: id, state })
  return await getNewsletter(tx, id)
}

/** Time until a newsletter that waits for the index of an attribute looks at it again. */
const indexPollMs = 1000

/** Starts a scheduled newsletter. If it cannot be sent any more, it fails with the reason. */
export async function startScheduled(tx: Tx, { targetId: id }: Job): Promise<JobResult> {
  await lockRecipients(tx, { shared: false })
  const newsletter = await queries.newsletters.lock(tx, { client_id: tx.clientId, id })
  if (newsletter?.status !== 'scheduled') return done()
  // It was scheduled for a later time since, or the clock was set back.
  if (newsletter.scheduled_at! > now(tx)) return continueJob(undefined, msOf(newsletter.scheduled_at!) + 1)
  try {
    const audience = JSON.parse(newsletter.audience)
    const sender = await renderInTime(() => requireReady(tx, { ...newsletter, audience }))
    if (await waitsForIndex(tx, audience)) return continueJob(undefined, tx.clock() + indexPollMs)
    await startNow(tx, id, sender.id)
  } catch (error) {
    if (!isMailkeepError(error) || error.code === 'unavailable') throw error
    await queries.updateState(tx, { ...unchangedState(tx, id), status: 'failed', error: error.message })
    const fields = { client_id: tx.clientId, newsletter: id, reason: error.message }
    tx.transaction.afterCommit(() => tx.logger.warn(fields, 'a scheduled newsletter could not start'))
  }
  return done()
}

interface Progress {
  /** The last contact that has been selected. */
  readonly after: number
  /** The last contact that may be selected: contacts that are created later are not added. */
  readonly until: number
  /** The last change of memberships before it started: contacts who join later are not added. */
  readonly since: number
}

/** Writes the messages of one batch of recipients. */
export async function prepareBatch(tx: Tx, { targetId: newsletter_id, state }: Job): Promise<JobResult> {
  const newsletter = await queries.newsletters.lock(tx, { client_id: tx.clientId, id: newsletter_id })
  if (newsletter?.status !== 'sending' && newsletter?.status !== 'paused') return done()
  const { after, until, since } = state as Progress
  const audience = startedAudience(newsletter)
  const selected = await selectRecipients(tx, audience, after)
  const ids = selected.filter((id) => id <= until)
  const isLast = ids.length < maxRowsPerBatch
  if (isLast) await queries.setPrepared(tx, { id: newsletter_id })
  await addRecipients(tx, newsletter, ids, since)
  tx.transaction.afterCommit(tx.local.mail.wake)
  return isLast ? done() : continueJob({ after: ids.at(-1)!, until, since })
}

/**
 * Writes the messages that a contact gets from newsletters whose recipients are being chosen, because it is about to be
 * merged. The merge moves them to the contact that stays, whose own turn may be over.
 */
export async function prepareMerged(tx: Tx, contactId: number): Promise<void> {
  await lockRecipients(tx, { shared: true })
  for (const { id } of await queries.listPreparing(tx, { client_id: tx.clientId })) {
    const newsletter = (await queries.newsletters.lock(tx, { client_id: tx.clientId, id }))!
    const job = await findPendingJob(tx, prepareNewsletter, id)
    if (!job) continue // the last batch has just ended
    const { until, since } = job.state as Progress
    if (contactId > until) continue
    const ids = await selectRecipients(tx, startedAudience(newsletter), 0, [contactId])
    await addRecipients(tx, newsletter, ids, since)
  }
}

/** Writes the messages to these contacts, as far as they were in the audience when the newsletter started. */
async function addRecipients(
  tx: Tx,
  newsletter: StartedNewsletter,
  contactIds: readonly number[],
  since: number,
): Promise<void> {
  const late = await findLatecomers(tx, startedAudience(newsletter), contactIds, since)
  const recipients = contactIds.filter((id) => !late.has(id)).map((contact_id) => ({ uuid: randomUUID(), contact_id }))
  const at = { client_id: tx.clientId, newsletter_id: newsletter.id, now: now(tx) }
  const added = recipients.length > 0 ? await insertRecipients(tx, { ...at, recipients }) : 0
  await addCounts(tx, newsletter.id, { recipients: added })
}

type StartedNewsletter = Parameters<typeof startedAudience>[0] & { readonly id: number }

/**
 * If a newsletter has no copy of the filters of its segment, and the segment was deleted, it selects no contact.
 *
 * @param among Selects among these contacts only.
 */
async function selectRecipients(
  tx: Tx,
  { audience, segmentFilters }: StartedAudience,
  after: number,
  among?: readonly number[],
): Promise<number[]> {
  const selected = await ifFound(async () => {
    const select = await selectContacts(tx, { ...audience, ids: among }, segmentFilters)
    return await select(after, maxRowsPerBatch)
  })
  return selected ?? []
}

const noCounts = { recipients: 0, sent: 0, failed: 0, skipped: 0, uncertain: 0 }

/**
 * Adds to the counts of a newsletter. When every message is final, the newsletter is finished, and `newsletter.sent` is
 * raised once. It is not finished while a job changes its uncertain messages.
 *
 * @param known Whether such a job has more to do. Default: it is looked up.
 * @returns The newsletter's status; undefined if it was deleted.
 */
export async function addCounts(
  tx: Tx,
  id: number,
  change: Partial<Omit<MessageCounts, 'pending'>>,
  known?: { readonly isChanging: boolean },
) {
  const row = await queries.addCounts(tx, { id, ...noCounts, ...change })
  if (!row) return undefined
  const { counts, status } = summaryFrom(row)
  const isActive = status === 'sending' || status === 'paused'
  if (!isActive || !row.is_prepared || counts.pending > 0) return status
  const ofClient = { ...tx, clientId: row.client_id }
  if (counts.uncertain > 0) {
    const { isChanging } = known ?? { isChanging: await findPendingJob(ofClient, queries.skipOrResend, id) }
    if (isChanging) return status
  }
  const finished = await queries.finish(tx, { id, now: now(tx) })
  if (row.is_announced) return 'sent'
  await raise(ofClient, 'newsletter.sent', { newsletter: summaryFrom(finished!), counts }, null)
  return 'sent'
}
