/** Starting, pausing, resuming and cancelling newsletters. */
import { audit } from '../audit/operations.ts'
import type { ChangeType } from '../audit/schema.ts'
import { type Context, now, type Tx } from '../context.ts'
import { invalid } from '../errors.ts'
import { enqueue, runOrEnqueue } from '../jobs/operations.ts'
import { parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { msOf } from '../time.ts'
import { skipMessages, startNewsletter } from './jobs.ts'
import * as queries from './newsletter-queries.ts'
import { getNewsletter, lockNewsletter } from './newsletters.ts'
import { lockRecipients, startNow, unchangedState } from './preparing.ts'
import {
  type Newsletter,
  newsletterFrom,
  type ResumeInput,
  ResumeOptions,
  type SendInput,
  SendOptions,
} from './schema.ts'
import { requireReady } from './sendable.ts'
import type { NewsletterStatus } from './statuses.ts'

/**
 * Sends a newsletter now, or schedules it. The recipients are the contacts who match its audience when it starts. A
 * stored job writes a message for each of them, and the mailers of all processes send the messages.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: on `status` when it has started, on the template that is wrong,
 *   on the id of the audience that does not exist, on its empty filter, on `audience.segment` if it filters by an attribute
 *   that is not declared, on `from_identity_id`, `at`, `mail` or `public_url`; `unavailable`: it starts now, and the index of
 *   an attribute is being filled.
 */
export async function sendNewsletter(ctx: Context, id: number, input: SendInput = {}): Promise<Newsletter> {
  const { at } = parse(SendOptions, input)
  return transact(ctx, async (tx) => {
    const startsNow = at === undefined || msOf(at) <= tx.clock()
    if (startsNow) await lockRecipients(tx, { shared: false })
    const newsletter = await lockNewsletter(tx, id)
    requireStatus(newsletter.status, ['draft', 'scheduled'], 'sent')
    const sender = await requireReady(tx, newsletter)
    audit(tx, 'newsletter.started', id)
    if (startsNow) {
      await queries.clearSchedule(tx, { client_id: tx.clientId, id })
      return await startNow(tx, id, sender.id)
    }
    const row = await queries.updateState(tx, {
      ...unchangedState(tx, id),
      status: 'scheduled',
      from_identity_id: sender.id,
      scheduled_at: at,
    })
    await enqueue(tx, startNewsletter, { targetId: id }, msOf(at))
    return newsletterFrom(row!)
  })
}

/**
 * Stops sending a newsletter until it is resumed. Messages that are being handed over are finished.
 *
 * @throws MailkeepError `not_found`; `validation_failed` on `status`: it is not being sent.
 */
export async function pauseNewsletter(ctx: Context, id: number): Promise<Newsletter> {
  return transact(ctx, async (tx) => {
    requireStatus((await lockNewsletter(tx, id)).status, ['sending'], 'paused')
    return await changeStatus(tx, id, 'paused', 'newsletter.paused')
  })
}

const resendCancelled = 'The newsletter is cancelled: its uncertain messages can be skipped, but not sent again.'

/**
 * Continues a newsletter that is paused.
 *
 * @param input `uncertain` also sends again, or skips, the messages whose outcome is not known. With it, a newsletter that
 *   is being sent or was sent can be resumed too. Who got such a message may get it twice. A cancelled newsletter stays
 *   cancelled, so its messages can only be skipped.
 * @throws MailkeepError `not_found`; `validation_failed` on `status`: there is nothing to resume.
 */
export async function resumeNewsletter(ctx: Context, id: number, input: ResumeInput = {}): Promise<Newsletter> {
  const { uncertain } = parse(ResumeOptions, input)
  return transact(ctx, async (tx) => {
    const { status, counts } = await lockNewsletter(tx, id)
    if (status === 'cancelled' && uncertain === 'resend') throw invalid('status', resendCancelled)
    const isStranded = status === 'sent' && counts.pending > 0 // by an earlier version
    if (!isStranded)
      requireStatus(status, uncertain ? ['paused', 'sending', 'sent', 'cancelled'] : ['paused'], 'resumed')
    const isActive = status === 'paused' || isStranded || (uncertain === 'resend' && counts.uncertain > 0)
    const resumed = await changeStatus(tx, id, isActive ? 'sending' : status, 'newsletter.resumed')
    tx.transaction.afterCommit(tx.local.mail.wake)
    if (!uncertain) return resumed
    await runOrEnqueue(tx, queries.skipOrResend, { targetId: id, state: { after: 0, uncertain } })
    return await getNewsletter(tx, id)
  })
}

/**
 * Ends a newsletter. Its pending messages are skipped. Messages that are being handed over are finished.
 *
 * @throws MailkeepError `not_found`; `validation_failed` on `status`: it is neither scheduled, being sent nor paused.
 */
export async function cancelNewsletter(ctx: Context, id: number): Promise<Newsletter> {
  return transact(ctx, async (tx) => {
    requireStatus((await lockNewsletter(tx, id)).status, ['scheduled', 'sending', 'paused'], 'cancelled')
    await changeStatus(tx, id, 'cancelled', 'newsletter.cancelled')
    await runOrEnqueue(tx, skipMessages, { targetId: id })
    return await getNewsletter(tx, id)
  })
}

function requireStatus(status: NewsletterStatus, allowed: readonly NewsletterStatus[], what: string): void {
  if (!allowed.includes(status)) throw invalid('status', `The newsletter is ${status}: it cannot be ${what}.`)
}

async function changeStatus(tx: Tx, id: number, status: NewsletterStatus, type: ChangeType): Promise<Newsletter> {
  audit(tx, type, id)
  const finished_at = type === 'newsletter.cancelled' ? now(tx) : null
  return newsletterFrom((await queries.updateState(tx, { ...unchangedState(tx, id), status, finished_at }))!)
}
