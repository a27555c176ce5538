import * as v from 'valibot'
import type { Optional } from '../collections.ts'
import { readJson } from '../json.ts'
import { inputLimits } from '../limits.ts'
import { closedObject, Name } from '../parse.ts'
import { Id, type RecordFields, recordFrom, Time, Uuid } from '../record.ts'
import type { Timestamp } from '../time.ts'
import { type SegmentFiltersInput, segmentFilterFields } from './filters.ts'

/** A named set of filters. Its contacts are those that match now. */
export interface Segment {
  id: number
  uuid: string
  name: string
  filters: SegmentFiltersInput
  created_at: Timestamp
}

export interface SegmentInput {
  /** 1–255 characters. Two segments may have the same name. */
  readonly name: string
  /** At most 16 KiB as JSON. Without filters, all subscribed contacts match. */
  readonly filters: SegmentFiltersInput
}

/** Absent fields stay unchanged. `filters` replaces all filters. */
export type SegmentChangeInput = Optional<SegmentInput>

export const SegmentFilters = closedObject(segmentFilterFields)
export type SegmentFilters = v.InferOutput<typeof SegmentFilters>

const kibibytes = inputLimits.segmentBytes / 1024
const Filters = v.pipe(
  SegmentFilters,
  v.check(
    (filters) => Buffer.byteLength(JSON.stringify(filters)) <= inputLimits.segmentBytes,
    `The filters must have at most ${kibibytes} KiB as JSON.`,
  ),
)

export const NewSegment = closedObject({ name: Name, filters: Filters })
export const SegmentChange = closedObject({ name: v.optional(Name), filters: v.optional(Filters) })

export const segmentFields: RecordFields<Segment> = {
  id: Id,
  uuid: Uuid,
  name: v.string(),
  filters: v.custom<SegmentFiltersInput>(() => true),
  created_at: Time,
}

const recordOf = recordFrom(segmentFields)

/** @param row The row, whose filters are JSON text. */
export function segmentFrom(row: Omit<Segment, 'filters'> & { filters: string }): Segment {
  return recordOf({ ...row, filters: readJson(row.filters) })
}
