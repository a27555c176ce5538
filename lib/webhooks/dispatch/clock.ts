import { sql } from 'kysely'
import { type Context, now } from '../../context.ts'
import { chunkRows } from '../../jobs/operations.ts'
import { bool, int, ints, statement, time } from '../../storage/statement.ts'
import { transact } from '../../storage/transaction.ts'
import { msOf, nextTurn, type Timestamp } from '../../time.ts'
import { leaseMs, listWaiting } from './claim.ts'

/** The clock may drift so far from the processor's between two looks without having been set. */
const toleratedMs = 2000
const longestWishMs = 86_400_000 // a receiver's Retry-After

const laterColumns = sql`id, claim, due_at, response_status, attempts - attempts_before as attempt,
  (select started_at from mailkeep_attempt where delivery_id = d.id and number = d.attempts) as attempted_at`

/** An endpoint's deliveries that are not due yet, in the order of the index. */
const listLater = statement.all(
  { retry: bool, endpoint_id: int, after_due_at: time, after_id: int, limit: int },
  (_, p) => sql<Later>`select ${laterColumns} from mailkeep_delivery as d
    where status = 'pending' and retry = ${p.retry} and endpoint_id = ${p.endpoint_id}
      and (due_at, id) > (${p.after_due_at}, ${p.after_id})
    order by due_at, id limit ${p.limit}`,
)

/** What another process has in its hands at this moment is left to it: its clock is ours. */
const lockPending = statement.all(
  { ids: ints },
  (_, p, dialect) => sql<Later>`select ${laterColumns} from mailkeep_delivery as d
    where status = 'pending' and ${dialect.anyOf(sql.ref('d.id'), p.ids)} ${dialect.lockForClaim}`,
)

interface Position {
  id: number
  due_at: Timestamp
}

interface Later extends Position {
  claim: string | null
  response_status: number | null
  attempt: number
  attempted_at: Timestamp | null
}

const makeDue = statement({ ids: ints, now: time }, (db, p, dialect) =>
  db
    .updateTable('mailkeep_delivery')
    .set({ due_at: p.now })
    .where(dialect.anyOf(sql.ref('id'), p.ids)),
)

/** Tells whether the clock was set since it was asked last; the first time it cannot know, and says yes. */
export function watchClock(clock: () => number): () => boolean {
  let expectedDrift = Number.NaN
  return () => {
    const drift = clock() - performance.now()
    const set = !(Math.abs(drift - expectedDrift) < toleratedMs)
    expectedDrift = drift
    return set
  }
}

/**
 * After the clock was set back, what was written by the old one lies too far ahead: a lease further ahead than its
 * own length is void, and no delivery waits longer than its step of the schedule. In chunks.
 *
 * @param suspects The endpoints to look at.
 */
export async function makeImpossibleWaitsDue(
  ctx: Context,
  inFlight: ReadonlyMap<number, unknown>,
  handled: readonly number[],
  suspects: 'all' | readonly number[],
): Promise<void> {
  for (const retry of [false, true]) {
    for (const { id } of await listWaiting(ctx, { retry, now: now(ctx), most: 1, handled })) {
      if (suspects === 'all' || suspects.includes(id)) await makeDueAt(ctx, id, retry, inFlight)
    }
  }
}

async function makeDueAt(ctx: Context, endpointId: number, retry: boolean, inFlight: ReadonlyMap<number, unknown>) {
  for (let after: Position | undefined = { id: 0, due_at: now(ctx) }; after; ) {
    after = await makeSomeDue(
      ctx,
      { endpoint_id: endpointId, retry, after_due_at: after.due_at, after_id: after.id },
      inFlight,
    )
    await nextTurn()
  }
}

/**
 * Looks without locking: other processes record outcomes meanwhile, and hardly ever is there anything to do.
 *
 * @returns where there may be more.
 */
async function makeSomeDue(
  ctx: Context,
  place: { endpoint_id: number; retry: boolean; after_due_at: Timestamp; after_id: number },
  inFlight: ReadonlyMap<number, unknown>,
): Promise<Position | undefined> {
  const impossible = (rows: readonly Later[]) =>
    rows.filter((row) => !inFlight.has(row.id) && waitsTooLong(ctx, row)).map(({ id }) => id)
  const rows = await listLater(ctx, { ...place, limit: chunkRows })
  const found = impossible(rows)
  if (found.length > 0) {
    await transact(ctx, async (tx) => {
      const ids = impossible(await lockPending(tx, { ids: found }))
      if (ids.length > 0) await makeDue(tx, { ids, now: now(tx) })
    })
  }
  return rows.length < chunkRows ? undefined : rows.at(-1)
}

function waitsTooLong(ctx: Context, { claim, due_at, response_status, attempt, attempted_at }: Later): boolean {
  const nowMs = ctx.clock()
  const waitsMs = msOf(due_at) - nowMs
  if (claim !== null) return waitsMs > leaseMs(ctx)
  const stepMs = (ctx.webhooks.retryScheduleSeconds[attempt - 1] ?? 0) * 1200 // with all of its jitter
  // A wish counts from its answer: one that lies ahead was written by the old clock.
  const answered = attempted_at !== null && msOf(attempted_at) <= nowMs + toleratedMs
  const wished = answered && (response_status === 429 || response_status === 503)
  return waitsMs > Math.max(stepMs, wished ? longestWishMs : 0) + toleratedMs
}
