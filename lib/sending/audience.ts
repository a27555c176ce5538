/** Who gets a newsletter. */
import { findOwnIds } from '../contacts/filters.ts'
import type { Context } from '../context.ts'
import { invalid, isMailkeepError } from '../errors.ts'
import { filtersOfSegment } from '../segments/operations.ts'
import type { SegmentFilters } from '../segments/schema.ts'
import type { Audience } from './schema.ts'

const kinds = { lists: 'list', tags: 'tag', topics: 'topic', exclude_lists: 'list', exclude_tags: 'tag' } as const
const fields = Object.keys(kinds) as (keyof typeof kinds)[]

/**
 * Checks that all that an audience names exists. A newsletter to a list that was deleted would reach no one, and one that
 * excludes a deleted list would reach the excluded contacts.
 *
 * @throws MailkeepError `validation_failed` on the id, as in `audience.lists.0`.
 */
export async function requireAudience(ctx: Context, audience: Audience): Promise<void> {
  for (const field of fields) {
    const ids = audience[field] ?? []
    const own = new Set(await findOwnIds(ctx, kinds[field], ids))
    const at = ids.findIndex((id) => !own.has(id))
    if (at >= 0)
      throw invalid(`audience.${field}.${at}`, `There is no ${kinds[field]} ${ids[at]}: change the audience.`)
  }
  await requireSegment(ctx, audience)
}

/** @throws MailkeepError `validation_failed` on `audience.segment` */
export async function requireSegment(ctx: Context, { segment }: Audience): Promise<void> {
  if (segment !== undefined) await requireExists('audience.segment', () => filtersOfSegment(ctx, segment))
}

/** Returns the filters of the audience's segment. Empty if it names no segment, or one that was deleted. */
export async function findSegmentFilters(ctx: Context, { segment }: Audience): Promise<SegmentFilters> {
  try {
    return segment === undefined ? {} : await filtersOfSegment(ctx, segment)
  } catch (error) {
    if (isMailkeepError(error, 'not_found')) return {}
    throw error
  }
}

/** Turns a missing record that a field names into an error of that field. */
export async function requireExists<T>(field: string, find: () => Promise<T>): Promise<T> {
  try {
    return await find()
  } catch (error) {
    if (isMailkeepError(error, 'not_found')) throw invalid(field, error.message)
    throw error
  }
}
