import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { Context } from '../context.ts'
import { int, ints, statement, text, texts, time } from '../storage/statement.ts'

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

/**
 * Returns the statements on the claims of a table of tasks. Both tables have the same columns for them.
 *
 * @param expired The columns of a task whose lease has ended.
 */
export function claimStatements<Expired>(name: 'mailkeep_delivery' | 'mailkeep_message', expired: RawBuilder<unknown>) {
  const table = sql.table(name)
  return {
    /** Writes the claim. `attempts` increases here, so that an attempt is counted even if the process dies during it. */
    setClaim: statement(
      { ids: ints, claim: text, now: time, lease_until: time },
      (_, p, dialect) => sql`
        update ${table} set ${sql.ref('claim')} = ${p.claim}, claimed_at = ${p.now}, lease_until = ${p.lease_until},
          attempts = attempts + 1 where ${dialect.inList(sql.ref('id'), p.ids)}`,
    ),
    /** Lists the claims whose attempt is not recorded, of all processes. */
    listClaims: statement.all(
      {},
      () => sql<{ claim: string }>`
        select distinct claim from ${table} where lease_until is not null and claim is not null`,
    ),
    findNextLeaseEnd: statement(
      {},
      () => sql<{ lease_until: string | null }>`
        select min(lease_until) as lease_until from ${table} where lease_until is not null`,
    ),
    /**
     * Lists expired leases. A lease whose claim is in the future is void too, because the clock was set back after the
     * claim. So is one of a dead process.
     */
    listExpiredLeases: statement.all(
      { now: time, future: time, orphans: texts, limit: int },
      (_, p, dialect) => sql<Expired>`
        select ${expired} from ${table} where lease_until is not null
          and (lease_until <= ${p.now} or claimed_at > ${p.future} or ${dialect.inList(sql.ref('claim'), p.orphans)})
        order by lease_until limit ${p.limit} ${dialect.forUpdateSkipLocked}`,
    ),
  }
}
