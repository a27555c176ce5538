import { sql } from 'kysely'
import { type Context, now } from '../context.ts'
import { isMailkeepError } from '../errors.ts'
import type { StorageFigures } from '../storage/connection.ts'
import { type Migration, unappliedMigrations } from '../storage/migrate.ts'
import { statement, text } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'
import { msOf } from '../time.ts'
import { listDueEndpoints } from './dispatch/claim.ts'
import type { Dispatcher } from './dispatch/dispatcher.ts'
import type { DeliveryFigures } from './dispatch/metrics.ts'

/** Whether the service can do its work: each part is fine, or there is a sentence about it. */
export interface Readiness {
  readonly ready: boolean
  readonly database: string | null
  readonly dispatcher: string | null
  readonly migrations: string | null
}

/** Plain numbers about the work done here; counts are since the start, and only go up. What is read from the database
 * may be a second old. */
export interface Stats extends DeliveryFigures {
  readonly database: StorageFigures
  /** Requests to receivers under way. */
  readonly inFlight: number
  /** How long the delivery that waits longest has been due; 0 when none is. */
  readonly oldestDueSeconds: number
  /** Endpoints that have something due, and endpoints by what they are. */
  readonly endpointsDue: number
  readonly endpoints: Readonly<Record<'active' | 'manual' | 'auto_failures', number>>
}

const countEndpoints = statement.all({}, (db) =>
  db
    .selectFrom('mailkeep_endpoint')
    .where('kind', '=', 'http')
    .select((eb) => ['disabled_reason', sql<number>`cast(${eb.fn.countAll()} as integer)`.as('count')])
    .groupBy('disabled_reason'),
)

const saveProbe = statement({ name: text, value: text }, (db, row) =>
  db
    .insertInto('mailkeep_setting')
    .values(row)
    .onConflict((c) => c.column('name').doUpdateSet({ value: row.value })),
)

/** Whoever asks more often gets the answer of this long ago: asking costs a write, or a walk over all endpoints. */
const keptMs = 1000
/** The dispatcher looks around every second; a locked database keeps it for five. */
const aliveMs = 15_000

interface Kept<T> {
  readonly startedMs: number
  readonly result: Promise<T>
}

/** What only the database knows. */
type Stored = Pick<Stats, 'oldestDueSeconds' | 'endpointsDue' | 'endpoints'>

/** Looks whether all is well, and gathers the figures. */
export class Health {
  readonly #ctx: Context
  readonly #dispatcher: Dispatcher
  readonly #migrations: readonly Migration[]
  #probe: Kept<Readiness> | undefined
  #count: Kept<Stored> | undefined

  constructor(ctx: Context, dispatcher: Dispatcher, migrations: readonly Migration[]) {
    this.#ctx = ctx
    this.#dispatcher = dispatcher
    this.#migrations = migrations
  }

  ready(): Promise<Readiness> {
    const nowMs = performance.now()
    if (!this.#probe || nowMs - this.#probe.startedMs > keptMs) {
      this.#probe = { startedMs: nowMs, result: this.#look() }
    }
    return this.#probe.result
  }

  async #look(): Promise<Readiness> {
    const [database, migrations] = await Promise.all([
      this.#complaintOf(() => transact(this.#ctx, (tx) => saveProbe(tx, { name: 'last_probe', value: now(tx) }))),
      this.#complaintOf(async () => {
        const unapplied = await unappliedMigrations(this.#ctx.storage, this.#migrations)
        return unapplied.length > 0 ? `The database lacks ${unapplied.join(', ')}.` : null
      }),
    ])
    const idleMs = this.#dispatcher.silentMs()
    const stuck = idleMs !== undefined && idleMs > aliveMs
    const dispatcher = stuck ? `Nothing could be claimed for ${Math.round(idleMs / 1000)} s: see the log.` : null
    return { ready: !database && !migrations && !dispatcher, database, dispatcher, migrations }
  }

  /** @returns what is wrong; what nobody foresaw goes to the log. */
  async #complaintOf(attempt: () => Promise<unknown>): Promise<string | null> {
    try {
      const complaint = await attempt()
      return typeof complaint === 'string' ? complaint : null
    } catch (error) {
      if (isMailkeepError(error)) return error.message
      this.#ctx.logger.error({ err: error }, 'the database could not be probed')
      return 'The database cannot be used: see the log.'
    }
  }

  async stats(): Promise<Stats> {
    const nowMs = performance.now()
    if (!this.#count || nowMs - this.#count.startedMs > keptMs) {
      this.#count = { startedMs: nowMs, result: this.#countStored() }
    }
    const stored = await this.#count.result
    return { ...this.#dispatcher.figures(), ...stored, database: this.#ctx.storage.figures?.() ?? {} }
  }

  async #countStored(): Promise<Stored> {
    const endpoints = { active: 0, manual: 0, auto_failures: 0 }
    for (const { disabled_reason, count } of await countEndpoints(this.#ctx, {})) {
      endpoints[disabled_reason ?? 'active'] = Number(count)
    }
    return { ...(await this.#backlog()), endpoints }
  }

  /** As the dispatcher looks: from endpoint to endpoint, whatever their backlogs. */
  async #backlog(): Promise<Pick<Stats, 'oldestDueSeconds' | 'endpointsDue'>> {
    const at = now(this.#ctx)
    const handled = this.#dispatcher.handlers.ids
    const rows = await listDueEndpoints(this.#ctx, { now: at, max_due: 1, handled })
    const due = rows.filter((row) => row.id !== null).map(({ first_due_at }) => msOf(first_due_at))
    const oldestMs = Math.min(msOf(at), ...due)
    return { oldestDueSeconds: (msOf(at) - oldestMs) / 1000, endpointsDue: due.length }
  }
}
