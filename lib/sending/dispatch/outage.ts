import { type Logger, withoutAddresses } from '../../logger.ts'
import { RepeatedErrors } from '../../repeated-errors.ts'
import type { Clock } from '../../time.ts'
import type { Outcome } from './record.ts'

/** The pause after the first failure. Each further one doubles it (exponential backoff), up to the maximum. */
const firstPauseMs = 1000
export const maxPauseMs = 30_000

/**
 * Pauses the mail of this process while its mail server takes none (circuit breaker). After each pause one mail is tried,
 * and the first answer to a mail ends the outage. Other processes decide for themselves, because they may reach the server.
 */
export class Outage {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #errors: RepeatedErrors
  /** Failures in a row. An attempt that began before the last one changes nothing if it fails too. */
  #failures = 0
  /** Milliseconds since 1970. */
  #nextTryMs = -Infinity

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
    this.#errors = new RepeatedErrors(logger, 'the mail server takes no mail: sending is paused, and will try again')
  }

  get isOn(): boolean {
    return this.#failures > 0
  }

  /** Milliseconds until a mail may be tried; 0 if one may be tried now, or if the clock was set back. */
  waitMs(): number {
    const waitMs = this.#nextTryMs - this.#clock()
    return this.isOn && waitMs <= maxPauseMs ? Math.max(0, waitMs) : 0
  }

  /**
   * Begins an attempt.
   *
   * @returns A function that takes its outcome, and returns the one to record: the attempts that find an outage are ordinary
   *   ones that failed. Only those that are made during one cost their messages nothing.
   */
  begin(): (outcome: Outcome) => Outcome {
    const failuresBefore = this.#failures
    if (this.isOn) this.#pause() // one attempt at a time
    return (outcome) => {
      if (outcome.kind === 'temporary' && outcome.isServerDown === true) {
        this.#fail(outcome.error, failuresBefore)
        return { ...outcome, isServerDown: failuresBefore > 0 }
      }
      if (outcome.kind !== 'uncertain') this.#end(failuresBefore)
      return outcome
    }
  }

  #fail(error: string, failuresBefore: number): void {
    this.#errors.add(new Error(withoutAddresses(error)))
    if (failuresBefore !== this.#failures) return
    this.#failures += 1
    this.#pause()
  }

  #end(failuresBefore: number): void {
    if (this.isOn && failuresBefore === this.#failures) this.#logger.info({}, 'the mail server takes mail again')
    this.#failures = 0
  }

  #pause(): void {
    this.#nextTryMs = this.#clock() + Math.min(maxPauseMs, firstPauseMs * 2 ** (this.#failures - 1))
  }
}
