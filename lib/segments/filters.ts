/** The filters of contacts that listings and segments share. */
import * as v from 'valibot'
import { inputLimits } from '../limits.ts'
import { QueryId } from '../page.ts'
import { atMost, isRecord, Text, TimeText, valuesByName } from '../parse.ts'
import { type Timestamp, timestamp } from '../time.ts'

/** One id or several, as numbers or as digits of a query string. */
export type IdsInput = number | string | readonly (number | string)[]

/** Filters that a segment can store. A contact must match all of them. */
export interface SegmentFiltersInput {
  /** Ids of lists, at most 100. A contact matches if it is on any of them. */
  readonly lists?: IdsInput | undefined
  /** Ids of tags, at most 100. */
  readonly tags?: IdsInput | undefined
  /** Ids of topics, at most 100. */
  readonly topics?: IdsInput | undefined
  /** Ids of lists, at most 100. A contact matches if it is on none of them. */
  readonly exclude_lists?: IdsInput | undefined
  /** Ids of tags, at most 100. A contact matches if it has none of them. */
  readonly exclude_tags?: IdsInput | undefined
  /** Values of indexed attributes, compared exactly. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
  /** A substring of name or e-mail. It is matched literally and case-insensitively. */
  readonly search?: string | undefined
  /** ISO 8601 with an offset, as in `2026-01-02T03:04:05Z`. Contacts created later match. */
  readonly created_after?: string | undefined
  /** ISO 8601 with an offset. Contacts created earlier match. */
  readonly created_before?: string | undefined
}

export const Ids = v.pipe(
  v.union([
    v.array(v.unknown()),
    v.pipe(
      v.unknown(),
      v.transform((value) => [value]),
    ),
  ]),
  v.maxLength(inputLimits.values, `At most ${inputLimits.values} values.`),
  v.array(QueryId),
)

/** A time with its offset. Its output is UTC with microseconds, as contacts have it. */
export const Time = v.pipe(
  TimeText,
  v.transform((text): Timestamp => {
    const fraction = /\.(\d+)/.exec(text)?.[1] ?? ''
    return `${timestamp(Date.parse(text)).slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`
  }),
)

const AttributeFilter = v.pipe(Text, atMost(inputLimits.attributeCharacters))

const AttributeFilters = v.pipe(
  v.custom<Record<string, unknown>>(isRecord, 'This must have a value for each attribute, as in attributes[plan]=pro.'),
  v.check(
    (input) => Object.keys(input).length <= inputLimits.indexedAttributes,
    `At most ${inputLimits.indexedAttributes} attributes.`,
  ),
  valuesByName(AttributeFilter),
)

/** Filters by the lists, tags and topics of a contact. */
export const groupFilterFields = {
  lists: v.optional(Ids),
  tags: v.optional(Ids),
  topics: v.optional(Ids),
  exclude_lists: v.optional(Ids),
  exclude_tags: v.optional(Ids),
}

/** The filters that a segment can store. */
export const segmentFilterFields = {
  ...groupFilterFields,
  attributes: v.optional(AttributeFilters),
  search: v.optional(Text),
  created_after: v.optional(Time),
  created_before: v.optional(Time),
}
