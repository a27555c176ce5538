/** Who gets a newsletter. */
import { listIndexed, lockIndexed } from '../attributes/operations.ts'
import { findOwnIds } from '../contacts/filters.ts'
import type { Context, Tx } from '../context.ts'
import { ifFound, invalid, isMailkeepError, MailkeepError } from '../errors.ts'
import { readJson } from '../json.ts'
import { lockLists } from '../lists/operations.ts'
import { parse } from '../parse.ts'
import { filtersOfSegment, lockFiltersOfSegment } from '../segments/operations.ts'
import { SegmentFilters } from '../segments/schema.ts'
import { lockTags } from '../tags/operations.ts'
import { listPreparing } from './newsletter-queries.ts'
import type { Audience } from './schema.ts'

const kinds = { lists: 'list', tags: 'tag', topics: 'topic', exclude_lists: 'list', exclude_tags: 'tag' } as const
const fields = Object.keys(kinds) as (keyof typeof kinds)[]
const selecting = ['lists', 'tags', 'topics'] as const

/**
 * Checks that each list, tag, topic and segment of an audience exists, and that no filter is empty. A newsletter to a
 * deleted list would reach no one, and one that excludes a deleted list or tag would reach the excluded contacts. So the
 * segment, its attributes, the excluded lists and all tags are locked until the transaction has started the newsletter.
 *
 * @throws MailkeepError `validation_failed` on the id, as in `audience.lists.0`, on the empty filter, or on `audience.segment`
 *   if an attribute of the segment is not declared.
 */
export async function requireAudience(tx: Tx, audience: Audience): Promise<void> {
  const empty = emptyFilterOf(audience)
  if (empty) throw invalid(`audience.${empty}`, 'This has no ids and matches no contact: add ids or remove it.')
  const ofSegment = await requireSegment(tx, audience, lockFiltersOfSegment)
  const both = [audience, ofSegment]
  await lockLists(
    tx,
    both.flatMap(({ exclude_lists = [] }) => exclude_lists),
  )
  await lockTags(
    tx,
    both.flatMap(({ tags = [], exclude_tags = [] }) => [...tags, ...exclude_tags]),
  )
  for (const field of fields) {
    const ids = audience[field] ?? []
    const own = new Set(await findOwnIds(tx, kinds[field], ids))
    const at = ids.findIndex((id) => !own.has(id))
    if (at >= 0)
      throw invalid(`audience.${field}.${at}`, `There is no ${kinds[field]} ${ids[at]}: change the audience.`)
  }
  await requireDeclared(tx, Object.keys(ofSegment.attributes ?? {}))
  const emptyOfSegment = emptyFilterOf(ofSegment)
  if (!emptyOfSegment) return
  throw invalid(
    'audience.segment',
    `The segment's filter ${emptyOfSegment} has no ids and matches no contact: add ids or remove it.`,
  )
}

async function requireDeclared(tx: Tx, attributes: readonly string[]): Promise<void> {
  if (attributes.length === 0) return
  const declared = new Set(await lockIndexed(tx))
  const missing = attributes.find((name) => !declared.has(name))
  if (missing === undefined) return
  const message = `The segment filters by the attribute "${missing}", which is not declared: declare it, or change the segment.`
  throw invalid('audience.segment', message)
}

/** Whether the segment of an audience filters by an attribute whose index is being filled. */
export async function waitsForIndex(tx: Tx, audience: Audience): Promise<boolean> {
  const { attributes } = await requireSegment(tx, audience)
  if (!attributes) return false
  return (await listIndexed(tx)).some(({ name, ready }) => !ready && Object.hasOwn(attributes, name))
}

/** @returns The filters of the segment; none without a segment. @throws MailkeepError `validation_failed` on `audience.segment` */
export async function requireSegment(
  tx: Tx,
  { segment }: Audience,
  read: (tx: Tx, id: number) => Promise<SegmentFilters> = filtersOfSegment,
): Promise<SegmentFilters> {
  return segment === undefined ? {} : await requireExists('audience.segment', () => read(tx, segment))
}

function emptyFilterOf(filters: SegmentFilters) {
  return selecting.find((field) => filters[field]?.length === 0)
}

/** Who gets a newsletter that has started. */
export interface StartedAudience {
  readonly audience: Audience
  /** The filters that the segment had at the start; undefined without a segment. */
  readonly segmentFilters: SegmentFilters | undefined
}

export function startedAudience(row: { audience: string; segment_filters: string | null }): StartedAudience {
  const segmentFilters = row.segment_filters === null ? undefined : parse(SegmentFilters, readJson(row.segment_filters))
  return { audience: JSON.parse(row.audience), segmentFilters }
}

/**
 * Returns the filters of the segment of a newsletter that has started: as they were then, so that a change of the segment
 * neither leaves out recipients nor adds some. A newsletter that started before the migration `023-segment-filters` has no
 * copy: its segment counts as it is now.
 *
 * @returns Empty if the audience names no segment.
 */
export async function findSegmentFilters(
  ctx: Context,
  { audience: { segment }, segmentFilters }: StartedAudience,
): Promise<SegmentFilters> {
  if (segmentFilters) return segmentFilters
  if (segment === undefined) return {}
  return (await ifFound(() => filtersOfSegment(ctx, segment))) ?? {}
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

/** What recipients are chosen by, and may not be removed before all of them are. */
interface Chosen {
  readonly list: number
  readonly tag: number
  readonly attribute: string
}

type Needs<Kind extends keyof Chosen> = (filters: SegmentFilters, value: Chosen[Kind]) => boolean | undefined

/** A contact that leaves a list of `lists` gets nothing in any case. */
const needs: { readonly [Kind in keyof Chosen]: Needs<Kind> } = {
  list: ({ exclude_lists }, id) => exclude_lists?.includes(id),
  tag: ({ tags, exclude_tags }, id) => tags?.includes(id) || exclude_tags?.includes(id),
  attribute: ({ attributes }, name) => attributes && Object.hasOwn(attributes, name),
}

/**
 * Refuses to delete a list or tag that a newsletter excludes while its recipients are chosen: the contacts on it, or with
 * it, would get the newsletter. Refuses a tag or attribute that it selects by as well: the contacts whose turn is later
 * would not get it.
 *
 * @throws MailkeepError `conflict`
 */
export async function refuseWhileChoosing<Kind extends keyof Chosen>(
  tx: Tx,
  kind: Kind,
  value: Chosen[Kind],
): Promise<void> {
  for (const row of await listPreparing(tx, { client_id: tx.clientId })) {
    const started = startedAudience(row)
    const filters = [started.audience, await findSegmentFilters(tx, started)]
    if (!filters.some((filter) => needs[kind](filter, value))) continue
    throw new MailkeepError(
      'conflict',
      `The recipients of a newsletter with this ${kind} in its audience are being chosen: try again shortly.`,
    )
  }
}
