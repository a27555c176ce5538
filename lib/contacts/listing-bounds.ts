/** The ids between which a listing is scanned. */
import type { Context } from '../context.ts'
import type { Range } from '../page.ts'
import type { FilterValues } from './listing-conditions.ts'
import * as queries from './listing-queries.ts'

/** Up to this number of contacts created between two times, their ids bound the scan. Reading this many takes 8 ms. */
const maxCreated = 100_000
/** Up to this number, reading the ids is cheaper than a sample. */
const maxFewCreated = 500
/** The next contacts of a scan. If half of them were created between the times, the scan soon finds enough. */
const maxSampled = 100

interface IdRange {
  readonly lowest: number
  readonly highest: number
}

/** The ids that the contacts of a listing may have. */
export interface Bounds {
  /** For a scan that begins at a position. */
  near(range: Range): Promise<IdRange>
  /** For a scan of all contacts. */
  all(): Promise<IdRange>
}

const everyId: IdRange = { lowest: 1, highest: Number.MAX_SAFE_INTEGER - 1 }
export const unbounded: Bounds = { near: async () => everyId, all: async () => everyId }

/** Leaves out the ids below `lowest`. */
export function from(lowest: number, { near, all }: Bounds): Bounds {
  const narrowed = (ids: IdRange) => ({ ...ids, lowest: Math.max(ids.lowest, lowest) })
  return { near: async (range) => narrowed(await near(range)), all: async () => narrowed(await all()) }
}

/**
 * Returns the bounds of contacts created between two times. Ids do not tell the time: restored contacts and contacts of a
 * clock that was wrong may have any id.
 */
export function boundsOfCreated(ctx: Context, values: FilterValues, only: boolean): Bounds {
  const { created_after, created_before } = values
  const all = async () => (await findIdRange(ctx, values, maxCreated)) ?? everyId
  return {
    all,
    async near(range) {
      const few = await findIdRange(ctx, values, maxFewCreated)
      if (few) return few
      const { after, desc } = range
      const next = { client_id: ctx.clientId, created_after, created_before, after, limit: maxSampled }
      const { sampled, created } = (await queries.sampleCreated(ctx, next, { desc, only }))!
      return 2 * Number(created) >= Number(sampled) ? everyId : await all()
    },
  }
}

/** Returns the range of the ids of contacts created between two times; undefined if they are more than `max`. */
async function findIdRange(ctx: Context, { created_after, created_before }: FilterValues, max: number) {
  const times = { client_id: ctx.clientId, created_after, created_before }
  // If there are more, this takes a third of the time of the sample or less.
  if (await queries.findMoreCreated(ctx, { ...times, than: max })) return undefined
  const { members, lowest, highest } = (await queries.countCreated(ctx, { ...times, limit: max + 1 }))!
  return members > max ? undefined : { lowest: lowest ?? 1, highest: highest ?? 0 }
}

/** Narrows a range of ids. */
export function clamped({ after, desc }: Pick<Range, 'after' | 'desc'>, { lowest, highest }: IdRange) {
  if (desc) return { after: Math.min(after, highest + 1), until: lowest }
  return { after: Math.max(after, lowest - 1), until: highest }
}
