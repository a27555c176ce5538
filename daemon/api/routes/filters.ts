import { inputLimits } from '../../../lib/index.ts'
import type { QueryDoc } from './route.ts'

const ids = {
  type: 'array',
  items: { type: 'integer', format: 'int64', minimum: 1 },
  maxItems: inputLimits.values,
} as const

/** Times in requests. */
export const time = {
  type: 'string',
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$`,
} as const

/** Filters of the listing, the count and the export of contacts, in the order of the library's messages. */
export const filters: QueryDoc = {
  'lists[]': { description: 'On any of these lists.', schema: ids, example: [1] },
  'tags[]': { description: 'With any of these tags.', schema: ids, example: [1] },
  'topics[]': { description: 'Currently subscribed to any of these topics.', schema: ids, example: [1] },
  search: {
    description: 'Substring of the name or e-mail address, without regard to case or wildcards.',
    schema: { type: 'string' },
    example: 'ada',
  },
  include_unsubscribed: {
    description: 'Whether to include unsubscribed contacts. `1` and `0` are accepted too.',
    schema: { type: 'boolean', default: false },
  },
  unsubscribed: {
    description: '`only`: returns unsubscribed contacts only.',
    schema: { type: 'string', enum: ['only'] },
  },
  email: {
    description: 'The exact e-mail address, in any case, and with its domain in Unicode or Punycode.',
    schema: { type: 'string', format: 'idn-email', maxLength: inputLimits.emailCharacters },
    example: 'ada@example.org',
  },
  'ids[]': { description: 'One of these contacts.', schema: ids, example: [7] },
  'exclude_lists[]': { description: 'On none of these lists.', schema: ids, example: [2] },
  'exclude_tags[]': { description: 'With none of these tags.', schema: ids, example: [2] },
  attributes: {
    description:
      'With these values of declared attributes, compared exactly: `attributes[plan]=pro`. `PUT /settings/attributes` declares attributes.',
    schema: {
      type: 'object',
      additionalProperties: { type: 'string', maxLength: inputLimits.attributeCharacters },
      maxProperties: inputLimits.indexedAttributes,
    },
    style: 'deepObject',
    example: { plan: 'pro' },
  },
  created_after: {
    description: 'Created later than this: ISO 8601 with an offset.',
    schema: time,
    example: '2026-01-02T03:04:05Z',
  },
  created_before: {
    description: 'Created earlier than this: ISO 8601 with an offset.',
    schema: time,
    example: '2026-02-01T00:00:00+01:00',
  },
  segment: {
    description: 'Id of a segment. Its filters apply in addition to the others.',
    schema: { type: 'integer', format: 'int64', minimum: 1 },
    example: 1,
  },
}
