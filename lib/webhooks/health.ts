import { sql } from 'kysely'
import { type Context, now, type Tx } from '../context.ts'
import { isMailkeepError } from '../errors.ts'
import { checkEncryptionKey } from '../sealing/encryption-key.ts'
import type { Mailer, MailFigures } from '../sending/dispatch/mailer.ts'
import type { StorageFigures } from '../storage/database.ts'
import { type Migration, requireMigrated } from '../storage/migrate.ts'
import { saveSetting } from '../storage/settings.ts'
import { statement } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'
import { msOf } from '../time.ts'
import { inTime } from '../time-limit.ts'
import { listDueEndpoints } from './dispatch/claim.ts'
import type { Dispatcher } from './dispatch/dispatcher.ts'
import type { DeliveryFigures } from './dispatch/metrics.ts'

/** Whether the service can do its work. Each part is null when it is fine, else a sentence about the problem. */
export interface Readiness {
  readonly ready: boolean
  readonly database: string | null
  readonly dispatcher: string | null
  readonly migrations: string | null
}

/**
 * Metrics of this process. Counts are since the start and only increase. Values from the database may be a second old.
 */
export interface Stats extends DeliveryFigures, MailFigures {
  readonly database: StorageFigures
  /** Delivery attempts in flight. */
  readonly inFlight: number
  /** How long the oldest due delivery has been due; 0 when none is due. */
  readonly oldestDueSeconds: number
  /** How long the oldest due message has been due; 0 when none is due. */
  readonly oldestDueMessageSeconds: number
  /** Number of endpoints that have deliveries due. */
  readonly endpointsDue: number
  /** Number of endpoints: active ones, and switched-off ones by `disabled_reason`. */
  readonly endpoints: Readonly<Record<'active' | 'manual' | 'auto_failures', number>>
}

const countEndpoints = statement.all({}, (db) =>
  db
    .selectFrom('mailkeep_endpoint')
    .where('kind', '=', 'http')
    .select((eb) => ['disabled_reason', sql<number>`cast(${eb.fn.countAll()} as integer)`.as('count')])
    .groupBy('disabled_reason'),
)

/** Writes, and checks that the secrets were not resealed with a key that this process lacks. */
async function probe(tx: Tx): Promise<void> {
  await checkEncryptionKey(tx)
  await saveSetting(tx, { name: 'last_probe', value: now(tx) })
}

/** Results are cached this long, because each check costs a write or a scan over all endpoints. */
const cacheTtlMs = 1000
/** Probes of load balancers do not wait as long as statements do. A locked or busy database answers within 5 s. */
const maxProbeMs = 6000
/** A longer silence means a stuck dispatcher. It polls every second, and a locked database may delay it by 5 s. */
const maxDispatcherSilenceMs = 15_000

const noAnswer = `The database did not answer within ${maxProbeMs / 1000} s.`

function cached<T>(ask: () => Promise<T>): () => Promise<T> {
  let askedMs = Number.NEGATIVE_INFINITY
  let result: Promise<T>
  return () => {
    const nowMs = performance.now()
    if (nowMs - askedMs > cacheTtlMs) {
      askedMs = nowMs
      result = ask()
    }
    return result
  }
}

/** The metrics that are read from the database. */
type Stored = Pick<Stats, 'oldestDueSeconds' | 'oldestDueMessageSeconds' | 'endpointsDue' | 'endpoints'>

/** Checks readiness and collects metrics. */
export class Health {
  readonly #ctx: Context
  readonly #dispatcher: Dispatcher
  readonly #mailer: Mailer
  readonly #migrations: readonly Migration[]
  readonly ready = cached(() => this.#check())
  readonly #countStored = cached(() => this.#readStored())

  constructor(ctx: Context, dispatcher: Dispatcher, mailer: Mailer, migrations: readonly Migration[]) {
    this.#ctx = ctx
    this.#dispatcher = dispatcher
    this.#mailer = mailer
    this.#migrations = migrations
  }

  async #check(): Promise<Readiness> {
    const [database, migrations] = await Promise.all([
      this.#problemOf(() => transact(this.#ctx, probe)),
      this.#problemOf(() => requireMigrated(this.#ctx.storage, this.#migrations)),
    ])
    const idleMs = Math.max(...[this.#dispatcher, this.#mailer].map(({ loop }) => loop.sinceLastTurnMs() ?? 0))
    const stuck = idleMs > maxDispatcherSilenceMs
    const dispatcher = stuck ? `Nothing could be claimed for ${Math.round(idleMs / 1000)} s: see the log.` : null
    return { ready: !database && !migrations && !dispatcher, database, dispatcher, migrations }
  }

  /** @returns A sentence about the problem, or null. Unexpected errors go to the log. */
  async #problemOf(attempt: () => Promise<unknown>): Promise<string | null> {
    try {
      return await inTime(
        attempt().then(() => null),
        maxProbeMs,
        () => noAnswer,
      )
    } catch (error) {
      if (isMailkeepError(error)) return error.message
      this.#ctx.logger.error({ err: error }, 'the database could not be probed')
      return 'The database cannot be used: see the log.'
    }
  }

  async stats(): Promise<Stats> {
    const stored = await this.#countStored()
    return {
      ...this.#dispatcher.figures(),
      ...this.#mailer.figures(),
      ...stored,
      database: this.#ctx.storage.figures(),
    }
  }

  async #readStored(): Promise<Stored> {
    const endpoints = { active: 0, manual: 0, auto_failures: 0 }
    for (const { disabled_reason, count } of await countEndpoints(this.#ctx, {})) {
      endpoints[disabled_reason ?? 'active'] = Number(count)
    }
    const oldestDueMessageSeconds = await this.#mailer.oldestDueSeconds()
    return { ...(await this.#backlog()), oldestDueMessageSeconds, endpoints }
  }

  /** Uses the dispatcher's query, whose cost does not depend on the length of the backlogs. */
  async #backlog(): Promise<Pick<Stats, 'oldestDueSeconds' | 'endpointsDue'>> {
    const at = now(this.#ctx)
    const handled = this.#dispatcher.handlers.ids()
    const rows = await listDueEndpoints(this.#ctx, { now: at, max_due: 1, handled })
    const due = rows.filter((row) => row.id !== null).map(({ first_due_at }) => msOf(first_due_at))
    const oldestMs = Math.min(msOf(at), ...due)
    return { oldestDueSeconds: (msOf(at) - oldestMs) / 1000, endpointsDue: due.length }
  }
}
