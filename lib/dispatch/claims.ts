import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { type Context, now, type Tx } from '../context.ts'
import { int, ints, statement, text, texts, time } from '../storage/statement.ts'
import { dueMsOf, firstTime, lastTime, type Timestamp, timestamp, toleratedDriftMs } from '../time.ts'
import type { TasksInFlight } from './work.ts'

/** Returns a new claim. It begins with the id of this process, so that others can tell when its process has died. */
export function newClaim({ storage }: Context): string {
  return `${storage.liveness.id()} ${randomUUID()}`
}

function processOf(claim: string): string {
  const [id, random] = claim.split(' ')
  return random === undefined ? '' : id!
}

/** Returns the claims whose process has died. */
export async function findOrphans({ storage }: Context, claims: readonly string[]): Promise<string[]> {
  const own = storage.liveness.id()
  const others = new Set(claims.map(processOf).filter((id) => id !== '' && id !== own))
  if (others.size === 0) return []
  const dead = new Set(await storage.liveness.findDead([...others]))
  return claims.filter((claim) => dead.has(processOf(claim)))
}

/** A lease lasts this much longer than the attempt's timeout. Then other processes may release the task. */
const leaseMarginMs = 15_000

/** Returns how long the lease of an attempt with this timeout lasts. */
export function leaseMs(timeoutSeconds: number): number {
  return timeoutSeconds * 1000 + leaseMarginMs
}

/** Returns the end of a lease that begins now. */
export function leaseEnd({ clock }: Context, timeoutSeconds: number): Timestamp {
  return timestamp(clock() + leaseMs(timeoutSeconds))
}

/** Maximum leases that one turn releases. */
const maxReleasedPerTurn = 500

/** The claims on the tasks of one table. */
export type Claims<Expired extends { readonly id: number }> = ReturnType<typeof claimsOf<Expired>>

/**
 * Returns the claims on the tasks of a table. Both tables have the same columns for them.
 *
 * @param expired The columns of a task whose lease has ended.
 */
export function claimsOf<Expired extends { readonly id: number }>(
  name: 'mailkeep_delivery' | 'mailkeep_message',
  expired: RawBuilder<unknown>,
) {
  const table = sql.table(name)
  // Two bounds make PostgreSQL expect few rows while it has no statistics. Otherwise it scans the table.
  const listClaims = statement.all(
    { first: time, last: time },
    (_, p) => sql<{ claim: string }>`
      select distinct claim from ${table} where lease_until > ${p.first} and lease_until < ${p.last} and claim is not null`,
  )
  const findNextLeaseEnd = statement(
    {},
    () => sql<{ lease_until: string | null }>`
      select min(lease_until) as lease_until from ${table} where lease_until is not null`,
  )
  const listExpiredLeases = statement.all(
    { now: time, future: time, orphans: texts, limit: int },
    (_, p, dialect) => sql<Expired>`
      select ${expired} from ${table} where lease_until is not null
        and (lease_until <= ${p.now} or claimed_at > ${p.future} or ${dialect.inList(sql.ref('claim'), p.orphans)})
      order by lease_until limit ${p.limit} ${dialect.forUpdateSkipLocked}`,
  )
  return {
    /** Writes the claim. `attempts` increases here, so that an attempt is counted even if the process dies during it. */
    set: statement(
      { ids: ints, claim: text, now: time, lease_until: time },
      (_, p, dialect) => sql`
        update ${table} set ${sql.ref('claim')} = ${p.claim}, claimed_at = ${p.now}, lease_until = ${p.lease_until},
          attempts = attempts + 1 where ${dialect.inList(sql.ref('id'), p.ids)}`,
    ),
    /** Lists the claims whose attempt is not recorded, of all processes. */
    async list(ctx: Context): Promise<string[]> {
      return (await listClaims(ctx, { first: firstTime, last: lastTime })).map(({ claim }) => claim)
    },
    /** Returns when the first lease ends, in milliseconds since 1970; undefined without any. Includes this process. */
    async nextLeaseEndMs(ctx: Context): Promise<number | undefined> {
      const first = await findNextLeaseEnd(ctx, {})
      return first?.lease_until ? dueMsOf(first.lease_until) : undefined
    },
    /**
     * Lists tasks whose lease has ended. A lease whose claim is in the future is void too, because the clock was set back
     * after the claim. So is one of a dead process.
     *
     * @param inFlight Tasks in flight in this process. They keep their claim, even if a clock change ended their lease.
     * @param orphans The claims of dead processes.
     */
    async listExpired(tx: Tx, inFlight: TasksInFlight, orphans: readonly string[]): Promise<Expired[]> {
      const future = timestamp(tx.clock() + toleratedDriftMs)
      const limit = maxReleasedPerTurn + inFlight.size
      const rows = (await listExpiredLeases(tx, { now: now(tx), future, orphans, limit })) as Expired[]
      return rows.filter(({ id }) => !inFlight.has(id))
    },
  }
}
