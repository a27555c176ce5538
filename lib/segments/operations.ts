import { randomUUID } from 'node:crypto'
import { requireIndexed } from '../attributes/operations.ts'
import { audit, auditUpdate } from '../audit/operations.ts'
import { type Context, now, type Tx } from '../context.ts'
import { notFound } from '../errors.ts'
import { listPage, mapPage, type Page, type PageInput } from '../page.ts'
import { parse, requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import type { SegmentFiltersInput } from './filters.ts'
import * as queries from './queries.ts'
import {
  NewSegment,
  type Segment,
  SegmentChange,
  type SegmentChangeInput,
  SegmentFilters,
  type SegmentInput,
  segmentFrom,
} from './schema.ts'

export { deleteSegmentsOfClient } from './queries.ts'

/**
 * Returns one page of the client's segments, by ascending id.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listSegments(ctx: Context, query?: PageInput): Promise<Page<Segment>> {
  const page = await listPage(query, (range) =>
    queries.segments.list(ctx, { client_id: ctx.clientId, ...range }, range),
  )
  return mapPage(page, segmentFrom)
}

/** @throws MailkeepError `not_found` */
export async function getSegment(ctx: Context, id: number): Promise<Segment> {
  requireId('segmentId', id)
  const row = await queries.segments.find(ctx, { client_id: ctx.clientId, id })
  if (!row) throw notFound('segment')
  return segmentFrom(row)
}

/** Returns the parsed filters of a segment. @throws MailkeepError `not_found` */
export async function filtersOfSegment(ctx: Context, id: number): Promise<SegmentFilters> {
  return parse(SegmentFilters, (await getSegment(ctx, id)).filters)
}

/** Returns the filters of a segment, which stay as they are until this transaction ends. @throws MailkeepError `not_found` */
export async function lockFiltersOfSegment(tx: Tx, id: number): Promise<SegmentFilters> {
  return parse(SegmentFilters, segmentFrom(await lockSegment(tx, id)).filters)
}

async function lockSegment(tx: Tx, id: number) {
  requireId('segmentId', id)
  const row = await queries.segments.lock(tx, { client_id: tx.clientId, id })
  if (!row) throw notFound('segment')
  return row
}

/**
 * Creates a segment: a named set of filters. `contacts.list({ segment: id })` returns its contacts.
 *
 * @throws MailkeepError `validation_failed`: also when an attribute of the filters is not indexed.
 */
export async function createSegment(ctx: Context, input: SegmentInput): Promise<Segment> {
  const { name, filters } = parse(NewSegment, input)
  return transact(ctx, async (tx) => {
    await requireIndexed(tx, Object.keys(filters.attributes ?? {}), 'filters.attributes')
    const row = await queries.insertSegment(tx, {
      client_id: tx.clientId,
      uuid: randomUUID(),
      name,
      filters: textOf(filters, input.filters),
      created_at: now(tx),
    })
    audit(tx, 'segment.created', row!.id)
    return segmentFrom(row!)
  })
}

/**
 * Changes a segment's name or filters.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: also when an attribute of the filters is not indexed.
 */
export async function updateSegment(ctx: Context, id: number, input: SegmentChangeInput): Promise<Segment> {
  const { name, filters } = parse(SegmentChange, input)
  return transact(ctx, async (tx) => {
    const stored = await lockSegment(tx, id)
    await requireIndexed(tx, Object.keys(filters?.attributes ?? {}), 'filters.attributes')
    const row = await queries.updateSegment(tx, {
      client_id: tx.clientId,
      id,
      name: name ?? stored.name,
      filters: filters ? textOf(filters, input.filters!) : stored.filters,
    })
    auditUpdate(tx, 'segment.updated', id, { name, filters })
    return segmentFrom(row!)
  })
}

/**
 * Deletes a segment. Its contacts stay.
 *
 * @throws MailkeepError `not_found`
 */
export async function deleteSegment(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('segmentId', id)
    if (!(await queries.segments.delete(tx, { client_id: tx.clientId, id }))) throw notFound('segment')
    audit(tx, 'segment.deleted', id)
  })
}

/** Returns the filters as JSON text, with the times as they were given. */
function textOf(filters: SegmentFilters, { created_after, created_before }: SegmentFiltersInput): string {
  return JSON.stringify({ ...filters, created_after, created_before })
}
