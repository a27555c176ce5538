import { clearInterval, clearTimeout, setInterval, setTimeout } from 'node:timers'
import { orAborted } from './abort.ts'
import { attributeJobs, deleteAttributesOfClient } from './attributes/operations.ts'
import { deleteEntriesOfClient, deleteExpiredEntries } from './audit/operations.ts'
import { clientJobs, deleteInvalidTokens } from './clients/operations.ts'
import type { Optional } from './collections.ts'
import { deleteSuppressionsOfClient } from './consent/suppressions.ts'
import { contactJobs, deleteContactsOfClient, purgeStep } from './contacts/deletion.ts'
import { deleteExpiredRequests } from './contacts/double-opt-in.ts'
import { mergeJobs } from './contacts/merging.ts'
import { deleteExpiredPastChanges, deletePastChangesOfClient } from './contacts/past-changes.ts'
import { searchPurgeJobs, tidySearches } from './contacts/search.ts'
import type { Context } from './context.ts'
import { isMailkeepError } from './errors.ts'
import { deleteExpiredResults, deleteResultsOfClient } from './idempotency/operations.ts'
import { deleteIdentitiesOfClient } from './identities/operations.ts'
import { deleteExpiredImports, deleteImportsOfClient } from './imports/operations.ts'
import { deleteFinishedJobs, type JobHandlers, nextJobMs, runDueJob } from './jobs/operations.ts'
import { deleteListsOfClient, listJobs } from './lists/operations.ts'
import { deletePageSettingsOfClient } from './pages/operations.ts'
import { RepeatedErrors } from './repeated-errors.ts'
import { deleteSegmentsOfClient } from './segments/operations.ts'
import {
  deleteExpiredMessages,
  deleteSendingOfClient,
  eraseSendingOfContact,
  moveSendingOfContact,
} from './sending/deletion.ts'
import { sequenceJobs } from './sending/enrolments.ts'
import { hasMailToSend, newsletterJobs, startNewsletter } from './sending/jobs.ts'
import type { MailSettings } from './sending/settings.ts'
import { deleteCountsOfClient, deleteExpiredCounts } from './statistics/operations.ts'
import { summarizeCounts } from './statistics/recording.ts'
import { deleteTagsOfClient, tagJobs } from './tags/operations.ts'
import { nextTurn } from './time.ts'
import { deleteTopicsOfClient, topicJobs } from './topics/operations.ts'
import { deleteExpiredDeliveries, deleteWebhooksOfClient, endpointJobs, eventJobs } from './webhooks/deletion.ts'
import { pauseJobs } from './webhooks/dispatch/pause.ts'
import { recoveryJobs } from './webhooks/recovery.ts'
import { deleteExpiredSecrets } from './webhooks/secrets.ts'

/**
 * Returns the handlers of the stored jobs that a process runs. One that cannot send leaves scheduled newsletters to the
 * others: their start would fail for a setting of this process.
 */
export function jobHandlersOf({ transport }: Optional<MailSettings> = {}): JobHandlers {
  const { [startNewsletter]: _, ...others } = jobHandlers
  return transport ? jobHandlers : others
}

/** The handlers of all kinds of stored jobs. */
const jobHandlers: JobHandlers = {
  ...tagJobs,
  ...listJobs,
  ...topicJobs,
  ...contactJobs(eraseSendingOfContact),
  ...attributeJobs,
  ...mergeJobs(moveSendingOfContact),
  ...searchPurgeJobs,
  ...endpointJobs,
  ...eventJobs,
  ...pauseJobs,
  ...recoveryJobs,
  ...newsletterJobs,
  ...sequenceJobs,
  ...clientJobs([
    ...deleteSendingOfClient,
    ...deleteWebhooksOfClient,
    deleteResultsOfClient,
    deleteContactsOfClient,
    deletePastChangesOfClient,
    purgeStep,
    deleteSuppressionsOfClient,
    deleteSegmentsOfClient,
    deleteAttributesOfClient,
    deleteTagsOfClient,
    deleteTopicsOfClient,
    deleteListsOfClient,
    deleteIdentitiesOfClient,
    deletePageSettingsOfClient,
    deleteEntriesOfClient,
    deleteImportsOfClient,
    deleteCountsOfClient,
  ]),
}

const mailWaits =
  'mail waits to be sent, and this process has no transport: set MAILKEEP_MAIL_TRANSPORT, or the option mail.transport'

const minuteMs = 60_000
const sweepIntervalMs = 60 * minuteMs
const retryDelayMs = 1000
/** Minimum delay, for jobs that are due but locked by another process. */
const minDelayMs = 100

/** Runs background work: stored jobs, in batches between other writes, and the deletion of expired rows. */
export class Housekeeping {
  readonly #ctx: Context
  readonly #errors: RepeatedErrors
  #working: Promise<void> | undefined
  #hasNewJobs = false
  #timer: NodeJS.Timeout | undefined
  /** Wakes it when the next job is due. */
  #nextJob: NodeJS.Timeout | undefined
  #sweeping: Promise<void> | undefined
  /** When the last sweep began that succeeded, by the context's clock. */
  #sweptMs = Number.NEGATIVE_INFINITY
  #stopped = false
  /** Whether this process would send mail if it had a transport, and has not said so yet. */
  #lacksTransport = false

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.#errors = new RepeatedErrors(ctx.logger, 'housekeeping failed: will try again')
  }

  /**
   * Starts the timer. It deletes expired rows every hour, and looks for jobs of other processes every minute.
   *
   * @param dispatch Whether this process sends mail.
   */
  start(dispatch: boolean): void {
    if (this.#timer || this.#stopped) return
    this.#lacksTransport = dispatch && !this.#ctx.local.mail.settings.transport
    this.#timer = setInterval(() => this.#runEveryMinute(), minuteMs)
    this.#timer.unref()
    this.#runEveryMinute()
  }

  /** Runs stored jobs now, because there may be a new one. */
  wake(): void {
    if (this.#stopped) return
    this.#hasNewJobs = true
    this.#working ??= this.#work()
  }

  /**
   * Runs all due jobs, including jobs of dead processes, and deletes expired rows. Resolves when none is left.
   *
   * @param signal When aborted, rejects with its reason. The jobs continue in the background.
   */
  async finish(signal: AbortSignal | undefined): Promise<void> {
    this.wake()
    while (this.#working) await orAborted(this.#working, signal)
    await orAborted(this.#sweep(), signal)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    clearTimeout(this.#nextJob)
    await this.#working
  }

  async #work(): Promise<void> {
    while (this.#hasNewJobs && !this.#stopped) {
      this.#hasNewJobs = false
      await this.#logAndRetry(async () => {
        await tidySearches(this.#ctx)
        while (!this.#stopped && (await runDueJob(this.#ctx))) await nextTurn()
        await this.#ctx.storage.search.compact(this.#ctx.clock())
        await summarizeCounts(this.#ctx)
        await this.#warnOfWaitingMail()
        await this.#scheduleNextJob()
      })
    }
    this.#working = undefined
  }

  /** Starts the next job on time if it is due within the minute. The timer of a later minute finds the others. */
  async #scheduleNextJob(): Promise<void> {
    const nextMs = await nextJobMs(this.#ctx)
    if (nextMs === undefined) return
    const delayMs = nextMs - this.#ctx.clock()
    if (delayMs < minuteMs) this.#wakeAfter(Math.max(delayMs, minDelayMs))
  }

  async #warnOfWaitingMail(): Promise<void> {
    if (!this.#lacksTransport || !(await hasMailToSend(this.#ctx))) return
    this.#lacksTransport = false
    this.#ctx.logger.warn({}, mailWaits)
  }

  #wakeAfter(delayMs: number): void {
    clearTimeout(this.#nextJob)
    if (!this.#stopped) this.#nextJob = setTimeout(() => this.wake(), delayMs).unref()
  }

  #runEveryMinute(): void {
    this.wake() // a process that stored a job may have died
    void this.#sweep()
  }

  /** Deletes expired rows, unless this process has done so within the hour. */
  #sweep(): Promise<void> {
    this.#sweeping ??= this.#logAndRetry(() => this.#deleteExpired()).finally(() => {
      this.#sweeping = undefined
    })
    return this.#sweeping
  }

  async #deleteExpired(): Promise<void> {
    const nowMs = this.#ctx.clock()
    if (Math.abs(nowMs - this.#sweptMs) < sweepIntervalMs) return // the clock may be set back
    await deleteExpiredDeliveries(this.#ctx)
    await deleteExpiredMessages(this.#ctx)
    await deleteExpiredResults(this.#ctx)
    await deleteFinishedJobs(this.#ctx)
    await deleteExpiredEntries(this.#ctx)
    await deleteExpiredImports(this.#ctx)
    await deleteInvalidTokens(this.#ctx)
    await deleteExpiredSecrets(this.#ctx)
    await deleteExpiredRequests(this.#ctx)
    await deleteExpiredCounts(this.#ctx)
    await deleteExpiredPastChanges(this.#ctx)
    this.#sweptMs = nowMs
  }

  async #logAndRetry(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (this.#stopped && isMailkeepError(error, 'unavailable')) return
      this.#errors.add(error)
      this.#wakeAfter(retryDelayMs)
    }
  }
}
