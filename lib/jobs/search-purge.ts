import { type Context, now, type Tx } from '../context.ts'
import { transact } from '../storage/transaction.ts'
import { timestamp } from '../time.ts'
import { againAfterMs, againKind, enqueue, type JobSteps, type StoredJob } from './operations.ts'
import * as queries from './queries.ts'

const kind = 'purge searches'
const kinds = [kind, againKind(kind)]

/** A purge rests so long for each slice of a few milliseconds that it took: it has about a hundredth of the time. */
const restPerSliceMs = 1000
const longestRestMs = 3_600_000

/** One purge takes with it all that was erased before it began, of whichever client. */
interface Purge {
  /** Whether something was erased that no purge has begun to take. */
  readonly wanted: boolean
  /** Whether one is under way. */
  readonly begun: boolean
  readonly slices: number
  /** As the storage gave it. */
  readonly progress?: number | undefined
}

const asked: Purge = { wanted: true, begun: false, slices: 0 }

/** Asks for what this transaction has erased to leave the index of searches for good, soon after the commit. */
export async function purgeSearches(tx: Tx): Promise<void> {
  if (!tx.storage.purgeSearch) return
  const job = await queries.findJobOfKinds(tx, { client_id: 0, kinds })
  if (!job) {
    await enqueue({ ...tx, clientId: 0 }, kind, 0, asked)
    return
  }
  const purge: Purge = JSON.parse(job.state)
  if (!purge.wanted) await keep(tx, job, { ...purge, wanted: true })
}

/** Has the index of searches put into one piece where that is worth its while: a purge does so. */
export async function tidySearches(ctx: Context): Promise<void> {
  if (!(await ctx.storage.isSearchScattered?.())) return
  await transact({ ...ctx, clientId: 0 }, async (tx) => {
    if (!(await queries.findJobOfKinds(tx, { client_id: 0, kinds }))) await enqueue(tx, kind, 0, asked)
  })
}

/** The stored job of all purges: one that rests is of the kind that is done again later. */
export const searchPurgeSteps: JobSteps = { [kind]: purgeSome, [againKind(kind)]: rested }

async function purgeSome(tx: Tx, job: StoredJob): Promise<number | 'kept'> {
  const { purgeSearch } = tx.storage
  if (!purgeSearch) return 1 // the rows were copied from another kind of database
  const purge: Purge = JSON.parse(job.state)
  // It begins with the next transaction: this one's erasures may come to the index after it.
  if (!purge.begun) return await keep(tx, job, { wanted: false, begun: true, slices: 0 })
  const progress = await purgeSearch(tx.transaction, purge.progress)
  if (progress !== undefined) return await keep(tx, job, { ...purge, slices: purge.slices + 1, progress })
  if (purge.slices > 0) return await rest(tx, job, purge)
  return purge.wanted ? await keep(tx, job, asked) : 1
}

async function rest(tx: Tx, job: { id: number }, { wanted, slices }: Purge): Promise<'kept'> {
  await queries.restJob(tx, {
    id: job.id,
    kind: againKind(kind),
    state: JSON.stringify({ ...asked, wanted }),
    created_at: timestamp(tx.clock() + Math.min(slices * restPerSliceMs, longestRestMs) - againAfterMs),
  })
  return 'kept'
}

async function rested(tx: Tx, job: StoredJob): Promise<number | 'kept'> {
  const { wanted }: Purge = JSON.parse(job.state)
  if (!wanted) return 1
  await queries.restJob(tx, { id: job.id, kind, state: JSON.stringify(asked), created_at: now(tx) })
  return 'kept'
}

async function keep(tx: Tx, { id, kind }: { id: number; kind: string }, purge: Purge): Promise<'kept'> {
  await queries.updateJob(tx, { id, kind, state: JSON.stringify(purge) })
  return 'kept'
}
