import type { Worker } from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import type { Logger } from '../../lib/index.ts'
import { CliError } from '../cli-error.ts'
import { metricFamily } from '../metrics.ts'
import type { StartReport, ToPrimary, ToWorker } from './messages.ts'
import { closePassedAtExit } from './passed-connections.ts'
import { sumMetrics } from './sum-metrics.ts'

const minRestartDelayMs = 100
const maxRestartDelayMs = 10_000
/** A process that ran for this long has not failed at its start. */
const stableMs = 30_000
/** A process that does not report its metrics in time counts with its previous report. */
const reportTimeoutMs = 2000

/**
 * Starts this program again, as the process with this number, on this port.
 *
 * @param creates Whether it creates a missing database. A process that is started again must not: its database is lost.
 */
export type Fork = (number: number, port: number, creates: boolean) => Worker

interface Running {
  readonly worker: Worker
  /** Its metrics when it last reported them. */
  metrics: string
  /** Called with the next report of its metrics. */
  onReport: (() => void) | undefined
}

/** The processes that serve on one port. This process starts them, and serves nothing itself. */
export class ProcessGroup {
  readonly #fork: (number: number, creates: boolean) => Worker
  readonly #logger: Logger
  readonly #running = new Map<number, Running>()
  readonly #restarts = new Set<NodeJS.Timeout>()
  /** The counters of processes that have ended. */
  #endedMetrics = ''
  #collecting: Promise<string> | undefined
  #isStopping = false
  #hasFailed = false
  /** What the end of the last process that ran was. */
  readonly #ends = new EventEmitter<{ stopped: []; crashed: [] }>()

  constructor(fork: (number: number, creates: boolean) => Worker, logger: Logger) {
    this.#fork = fork
    this.#logger = logger
  }

  /**
   * Starts the first process, and again whenever it ends. Only its first start creates the database.
   *
   * @returns What it prints when it serves; undefined when `stop` was called before.
   * @throws CliError It ended before that, and has printed the reason.
   */
  start(): Promise<StartReport | undefined> {
    return new Promise((resolve, reject) => {
      this.#run(1, 0, resolve, (code, signal) => {
        if (this.#isStopping) resolve(undefined)
        else reject(new CliError(signal ? `Process 1 was ended by ${signal}.` : '', code === 2 ? 2 : 1))
      })
    })
  }

  /** Starts the processes after the first. One that cannot start is started again, with longer and longer pauses. */
  startOthers(total: number): void {
    for (let number = 2; number <= total && !this.#isStopping; number++) this.#run(number, 0)
  }

  /** Asks all processes to stop, and resolves when they have ended. @throws CliError One of them has failed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    for (const timer of this.#restarts) clearTimeout(timer)
    const ended = once(this.#ends, 'stopped')
    for (const { worker } of this.#running.values()) send(worker, { kind: 'stop' })
    if (this.#running.size > 0) await ended
    if (this.#hasFailed) throw new CliError('A process ended with an error while it stopped: see the log.')
  }

  /** Resolves when all processes have ended, and `stop` was not called. */
  async allCrashed(): Promise<void> {
    await once(this.#ends, 'crashed')
  }

  /** Ends all processes at once. */
  kill(): void {
    for (const { worker } of this.#running.values()) worker.process.kill('SIGKILL')
  }

  /** @param onFirstEnd Called instead of a restart, if the process ends before it serves. */
  #run(
    number: number,
    failures: number,
    onStarted: (report: StartReport) => void = () => {},
    onFirstEnd?: (code: number, signal: string | null) => void,
  ): void {
    const worker = this.#fork(number, onFirstEnd !== undefined)
    closePassedAtExit(worker)
    const running: Running = { worker, metrics: '', onReport: undefined }
    this.#running.set(number, running)
    const startedMs = performance.now()
    let hasStarted = false
    worker.on('message', (message: ToPrimary) => {
      if (message.kind === 'started') {
        hasStarted = true
        onStarted(message.report)
      } else if (message.kind === 'report') {
        running.metrics = message.text
        running.onReport?.()
      } else void this.#metrics().then((text) => send(worker, { kind: 'metrics', id: message.id, text }))
    })
    worker.on('error', (error) => this.#logger.error({ err: error, process: number }, 'a process cannot be reached'))
    worker.once('exit', (code: number, signal: string | null) => {
      this.#running.delete(number)
      this.#endedMetrics = sumMetrics([], [this.#endedMetrics, running.metrics])
      running.onReport?.()
      if (this.#isStopping) this.#hasFailed ||= hasStarted && code !== 0
      if (onFirstEnd && !hasStarted) onFirstEnd(code, signal)
      else if (!this.#isStopping) {
        const wasStable = performance.now() - startedMs > stableMs
        this.#restart(number, { code, signal }, wasStable ? 0 : failures)
      }
      if (this.#running.size === 0) this.#ends.emit(this.#isStopping ? 'stopped' : 'crashed')
    })
    if (this.#isStopping) send(worker, { kind: 'stop' })
  }

  #restart(number: number, end: { code: number; signal: string | null }, failures: number): void {
    const delayMs = Math.min(maxRestartDelayMs, minRestartDelayMs * 2 ** failures)
    const fields = { process: number, ...end, restart_in_ms: delayMs }
    this.#logger.error(fields, 'a process ended unexpectedly: it is started again')
    const timer = setTimeout(() => {
      this.#restarts.delete(timer)
      this.#run(number, failures + 1)
    }, delayMs)
    this.#restarts.add(timer)
  }

  /** Collects the metrics of all processes. Requests at the same time share one collection. */
  #metrics(): Promise<string> {
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = undefined
    })
    return this.#collecting
  }

  async #collect(): Promise<string> {
    const all = [...this.#running.values()]
    await Promise.all(all.map((running) => report(running)))
    const own = metricFamily('processes', 'gauge', 'Processes that run', [[this.#running.size]])
    return sumMetrics([...[...this.#running.values()].map(({ metrics }) => metrics), own], [this.#endedMetrics])
  }
}

/** Resolves when the process has reported its metrics, has ended, or the time is over. */
function report(running: Running): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => running.onReport?.(), reportTimeoutMs)
    running.onReport = () => {
      clearTimeout(timer)
      running.onReport = undefined
      resolve()
    }
    send(running.worker, { kind: 'report' })
  })
}

/** Ignores errors: a process that ended is reported by `exit`. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {})
}
