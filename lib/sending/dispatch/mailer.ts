import type { Context, Tx } from '../../context.ts'
import { Loop } from '../../dispatch/loop.ts'
import type { DueWork, InFlight, LoopWork, TasksInFlight } from '../../dispatch/work.ts'
import { isMailkeepError, type MailkeepError } from '../../errors.ts'
import { saveSetting } from '../../storage/settings.ts'
import { dueMsOf, earliest, msOf, timestamp } from '../../time.ts'
import { allowsUnverified, type MailPort, type MailSettings } from '../settings.ts'
import { isUncertainError, type MailMessage } from '../transport.ts'
import { type ClaimedMessage, claimMessages } from './claim.ts'
import { claims, type ExpiredMessage, listCampaigns, lockPace, paceSetting } from './claim-queries.ts'
import { Composer } from './compose.ts'
import type { Outage } from './outage.ts'
import { type Campaign, Pace, type Party } from './pace.ts'
import {
  type FinishedAttempt,
  type MessageOutcome,
  type Outcome,
  recordAttempts,
  releaseExpiredLeases,
  releaseStaleSchedules,
} from './record.ts'

/** Counts of this process since it started. */
export interface MailFigures {
  readonly messages: Readonly<Record<MessageOutcome, number>>
  readonly messagesInFlight: number
  /** Whether mail waits because the mail server took none at the last attempt. */
  readonly isMailServerDown: boolean
}

/** The due newsletters and sequences, and how many messages may be claimed at most. */
interface Plan {
  readonly campaigns: readonly Campaign[]
  readonly freeSlots: number
}

/** Pause after a turn that claimed nothing because another process had locked the campaigns, or the pace. */
const lockedPauseMs = 50
/** Time after the abort until the outcome counts as uncertain. */
const abortGraceMs = 5000

const contentFields: readonly string[] = ['subject', 'preheader', 'html', 'text']

const noOutcome = 'The transport returned no outcome: the outcome is not known.'
const noAnswer = 'The transport gave no answer in time: the outcome is not known.'

/** The work of the loop that sends newsletters and sequences. */
export class Mailer implements LoopWork<Plan, ClaimedMessage, FinishedAttempt, ExpiredMessage> {
  readonly what = 'messages'
  readonly claims = claims
  readonly releaseExpiredLeases = releaseExpiredLeases
  readonly releaseStaleSchedules = releaseStaleSchedules
  readonly concurrency: number
  readonly loop: Loop<Plan, ClaimedMessage, FinishedAttempt, ExpiredMessage>
  readonly #ctx: Context
  readonly #settings: MailSettings
  readonly #outage: Outage
  readonly #pace: Pace
  readonly #composer: Composer
  readonly #messages: Record<MessageOutcome, number> = { sent: 0, failed: 0, uncertain: 0, retried: 0 }
  /** Whether the last claims found nothing, because another process had locked it. */
  #wasLocked = false
  /** Whether newsletters, sequences or confirmation mails had something to send when they were last looked for. */
  readonly #hasMail: Record<Party, boolean> = { messages: false, confirmations: false }

  constructor(ctx: Context) {
    const { settings, outage } = ctx.local.mail
    this.#ctx = ctx
    this.#settings = settings
    this.#outage = outage
    this.concurrency = settings.connections
    this.#pace = new Pace(ctx.clock, settings.rate, settings.identityRate ?? settings.rate)
    this.#composer = new Composer(ctx)
    this.loop = new Loop(ctx, this)
  }

  figures(): MailFigures {
    const { messages, confirmations } = this.#hasMail
    return {
      messages: { ...this.#messages },
      messagesInFlight: this.loop.inFlight,
      isMailServerDown: this.#outage.isOn && (messages || confirmations),
    }
  }

  /** How long the oldest due message or step has been due, in seconds; 0 when none is due. */
  async oldestDueSeconds(): Promise<number> {
    const campaigns = await listCampaigns(this.#ctx, {}, { verified: false, local: true, waiting: true })
    const nowMs = this.#ctx.clock()
    return (nowMs - Math.min(nowMs, ...campaigns.map(({ due_at }) => msOf(due_at)))) / 1000
  }

  freeSlots(): number {
    const slots = this.#outage.isOn ? 1 : this.concurrency
    return this.#settings.transport ? slots - this.loop.inFlight : 0
  }

  async poll(freeSlots: number): Promise<DueWork<Plan>> {
    const nowMs = this.#ctx.clock()
    const due = new Map<string, Campaign>()
    const later: number[] = []
    const verified = !allowsUnverified(this.#settings)
    const local = this.#settings.transport?.isLocal === true
    const listed = await listCampaigns(this.#ctx, {}, { verified, local, waiting: false })
    this.#hasMail.messages = listed.length > 0
    for (const { kind, id, client_id: clientId, from_identity_id, due_at } of listed) {
      if (due_at <= timestamp(nowMs))
        due.set(`${kind} ${id}`, { kind, id, clientId, identityId: from_identity_id ?? 0 })
      else later.push(dueMsOf(due_at))
    }
    const campaigns = [...due.values()]
    this.#pace.ask('messages', campaigns.length > 0)
    const paceMs = campaigns.length > 0 ? Math.max(this.#pace.waitMs(campaigns), this.#outage.waitMs()) : 0
    // The next turn finds the messages that this one leaves.
    const waitMs = paceMs === 0 && this.#wasLocked ? lockedPauseMs : paceMs
    if (campaigns.length > 0) later.push(nowMs + waitMs)
    return {
      plan: campaigns.length > 0 && paceMs === 0 ? { campaigns, freeSlots } : undefined,
      nextDueMs: earliest(later),
      backlogs: listed.length,
    }
  }

  async record(tx: Tx, finished: readonly FinishedAttempt[]): Promise<number | undefined> {
    const recorded = await recordAttempts(tx, finished)
    tx.transaction.afterCommit(() => {
      for (const { outcome } of recorded) this.#messages[outcome] += 1
    })
    return earliest(recorded.map(({ dueMs }) => dueMs))
  }

  async claim(tx: Tx, { campaigns, freeSlots }: Plan, inFlight: TasksInFlight): Promise<ClaimedMessage[]> {
    await this.#loadPace(tx)
    const allowances = this.#pace.allow(campaigns, freeSlots)
    tx.transaction.afterCommit(() => this.#pace.passTurns())
    const { claimed, hasChanged } = await claimMessages(tx, allowances, inFlight)
    for (const { campaign } of claimed) this.#pace.take(campaign, 1)
    if (claimed.length > 0) this.#savePace(tx, 'messages')
    this.#wasLocked = claimed.length === 0 && !hasChanged
    return claimed
  }

  /** Returns how many of the confirmation mails that are due may be claimed, and when there may be more. */
  allowConfirmations(due: number): { readonly allowed: number; readonly waitMs: number } {
    this.#pace.ask('confirmations', due > 0)
    this.#hasMail.confirmations = due > 0
    const outageMs = this.#outage.waitMs()
    if (outageMs > 0) return { allowed: 0, waitMs: outageMs }
    const allowed = this.#pace.allowConfirmations(this.#outage.isOn ? Math.min(due, 1) : due)
    return { allowed, waitMs: this.#pace.untilNextMs() || lockedPauseMs }
  }

  /** Counts confirmation mails that a transaction claims. @returns How many it may claim. */
  async claimConfirmations(tx: Tx, limit: number): Promise<number> {
    await this.#loadPace(tx)
    const allowed = this.#pace.allowConfirmations(limit)
    if (allowed === 0) return 0
    this.#pace.takeConfirmations(allowed)
    this.#savePace(tx, 'confirmations')
    return allowed
  }

  async attempt(entry: InFlight<ClaimedMessage>): Promise<FinishedAttempt> {
    const { task } = entry
    let fault: string | undefined
    const outcome = await this.#send(entry, (error) => (fault = nameOf(error)))
    return { task, outcome, fault, endedMs: this.#ctx.clock() }
  }

  async close(): Promise<void> {
    await this.#settings.transport?.close?.()
  }

  /** Locks the pace. Other processes may have sent since the poll. */
  async #loadPace(tx: Tx): Promise<void> {
    const stored = await lockPace(tx, {})
    this.#pace.load(stored && JSON.parse(stored.value))
  }

  #savePace(tx: Tx, party: Party): void {
    tx.transaction.defer(saveSetting(tx, { name: paceSetting, value: JSON.stringify(this.#pace.state()) }))
    tx.transaction.afterCommit(() => this.#pace.sent(party))
  }

  async #send(entry: InFlight<ClaimedMessage>, onFault: (error: unknown) => void): Promise<Outcome> {
    const { task } = entry
    const controller = new AbortController()
    let isStopped = false
    entry.abort = () => {
      isStopped = true
      controller.abort(new Error('mailkeep is shutting down.'))
    }
    try {
      const message = await this.#composer.compose(task, controller.signal)
      if (isStopped) return { kind: 'interrupted' }
      const outcome = await handOver(this.#ctx.local.mail, message, controller)
      return isStopped && outcome.kind === 'temporary' ? { kind: 'interrupted' } : outcome
    } catch (error) {
      if (isUncertainError(error)) return { kind: 'uncertain', error: error.message }
      if (isStopped) return { kind: 'interrupted' }
      onFault(error)
      if (isOfContent(error)) return { kind: 'permanent', error: error.message, unknownMailbox: false }
      return { kind: 'temporary', error: error instanceof Error ? error.message : 'The message could not be sent.' }
    }
  }
}

/** The name of an error for the log. The error itself may contain the recipient's address. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown'
}

/** Whether the content cannot be rendered. Errors in settings are retried, because an operator can fix them. */
function isOfContent(error: unknown): error is MailkeepError {
  return isMailkeepError(error, 'validation_failed') && error.issues.every(({ path }) => contentFields.includes(path))
}

/**
 * Hands the message over, and aborts it after the timeout.
 *
 * @param port Without an `outage`, the outcome neither begins nor ends one.
 */
export async function handOver(
  { settings: { transport, timeoutSeconds }, outage }: Pick<MailPort, 'settings'> & Partial<Pick<MailPort, 'outage'>>,
  message: MailMessage,
  controller: AbortController,
): Promise<Outcome> {
  const timeoutMs = timeoutSeconds * 1000
  let hasTimedOut = false
  const timer = setTimeout(() => {
    hasTimedOut = true
    controller.abort(new Error('The attempt timed out.'))
  }, timeoutMs)
  const ended = outage?.begin()
  let end: NodeJS.Timeout | undefined
  const noResponse = new Promise<Outcome>((resolve) => {
    controller.signal.addEventListener('abort', () => {
      end = setTimeout(() => resolve({ kind: 'uncertain', error: noAnswer }), abortGraceMs)
    })
  })
  try {
    const outcome = await Promise.race([transport!.send(message, controller.signal), noResponse])
    if (!isOutcome(outcome)) return { kind: 'uncertain', error: noOutcome }
    // An attempt that this process has stopped says nothing about the server.
    const isStopped = controller.signal.aborted && !hasTimedOut
    return ended && !isStopped ? ended(outcome) : outcome
  } finally {
    clearTimeout(timer)
    clearTimeout(end)
  }
}

/** A host's transport in JavaScript may return anything. */
function isOutcome(value: Outcome | undefined | null): value is Outcome {
  if (value?.kind === 'sent') return true
  const kinds: readonly unknown[] = ['temporary', 'permanent', 'uncertain']
  return kinds.includes(value?.kind) && typeof (value as { error?: unknown }).error === 'string'
}
