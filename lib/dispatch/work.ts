/** The work of a loop: its tasks, and how they are found, claimed, attempted and recorded. */
import type { Tx } from '../context.ts'
import type { Claims } from './claims.ts'

/** The result of a poll. */
export interface DueWork<Plan> {
  /** The tasks that may be claimed now; undefined when there are none. */
  readonly plan: Plan | undefined
  /** When the next waiting task is due, in milliseconds since 1970; undefined when none waits. */
  readonly nextDueMs: number | undefined
  /** Number of endpoints, or of newsletters and sequences, that have waiting tasks. The cost of a poll grows with it. */
  readonly backlogs: number
}

/** A claimed task whose outcome is not recorded yet. */
export interface InFlight<Task> {
  readonly task: Task
  /** Aborts the attempt. Set by `attempt`. */
  abort?: () => void
}

/** The tasks in flight in this process, by id. */
export type TasksInFlight = ReadonlyMap<number, unknown>

/** The work of a loop. The functions that get a `tx` run in the transaction of a turn and may await only statements. */
export interface LoopWork<
  Plan,
  Task extends { readonly id: number },
  Finished extends { readonly task: Task },
  Expired extends { readonly id: number },
> {
  /** The noun of log messages, in the plural. */
  readonly what: string
  /** Maximum attempts in flight. */
  readonly concurrency: number
  /** The claims of all processes. */
  readonly claims: Claims<Expired>
  /** Number of tasks that may be claimed now. */
  freeSlots(): number
  /** Finds what is due, and decides what to claim. */
  poll(freeSlots: number): Promise<DueWork<Plan>>
  /**
   * Records finished attempts whose claim is current.
   *
   * @returns When the first task that is retried is due; undefined when none is.
   */
  record(tx: Tx, finished: readonly Finished[]): Promise<number | undefined>
  /** Releases at least one task, whose lease has ended or whose process has died. */
  releaseExpiredLeases(tx: Tx, expired: readonly Expired[]): Promise<void>
  /**
   * Makes tasks due whose due time is wrong, because the clock was set back after it was stored.
   *
   * @returns Their number, up to a limit.
   */
  releaseStaleSchedules(tx: Tx): Promise<number>
  claim(tx: Tx, plan: Plan, inFlight: TasksInFlight): Promise<Task[]>
  /** Makes one attempt. Never throws. */
  attempt(entry: InFlight<Task>): Promise<Finished>
  close(): Promise<void>
}
