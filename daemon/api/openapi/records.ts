import {
  type ClientToken,
  type ImportReport,
  inputLimits,
  type NewClientToken,
  type Page,
  type RefusedRow,
  type Series,
} from '../../../lib/index.ts'
import {
  attributeSettingsFields,
  auditFields,
  clientTokenFields,
  contactFields,
  contactPointFields,
  deliveryPointFields,
  identityFields,
  listFields,
  segmentFields,
  seriesSteps,
  tagFields,
  topicFields,
} from '../../../lib/internal.ts'
import { recordOf, schemasOf } from './fields.ts'
import { arrayOf, count, fieldErrors, id, nullable, offset, record, ref, type Schema, text } from './schema.ts'

const { topics, ...contact } = schemasOf(contactFields)
const { filters: _, ...segment } = segmentFields

const extra_attributes: Schema = {
  ...contact.extra_attributes,
  maxProperties: inputLimits.attributes,
  examples: [{ company: 'Engines' }],
}

type Meta = Page<unknown>['meta']

const cursor = (towards: string): Schema => ({
  ...nullable(text),
  description: `Opaque value for \`cursor\`; null if there is no ${towards} page.`,
})

const meta = {
  per_page: { type: 'integer', minimum: 1, maximum: inputLimits.pageRecords },
  next_cursor: cursor('next'),
  prev_cursor: cursor('previous'),
} as const

/** Adds the number of contacts, which the listings of lists and tags have on demand. */
function withCount(schema: Schema): Schema {
  const contacts_count = { ...count, description: 'Subscribed contacts. Only with `counts`.' }
  return { ...schema, properties: { ...schema.properties, contacts_count } }
}

function seriesOf(point: Schema): Schema {
  return record<Series<unknown>>({
    from: offset,
    to: offset,
    step: { type: 'string', enum: seriesSteps },
    series: arrayOf(point),
  })
}

/** Schemas of records in answers, except webhooks. */
export const recordSchemas = {
  Tag: recordOf(tagFields),
  List: recordOf(listFields),
  CountedTag: withCount(recordOf(tagFields)),
  CountedList: withCount(recordOf(listFields)),
  Topic: recordOf(topicFields),
  Segment: record({ ...schemasOf(segment), filters: ref('SegmentFilters') }),
  AttributeSettings: recordOf(attributeSettingsFields),
  DeliverySeries: seriesOf(recordOf(deliveryPointFields)),
  ContactSeries: seriesOf(recordOf(contactPointFields)),
  ContactCount: record<{ count: number }>({ count }),
  Contact: record({ ...contact, extra_attributes, topics: topics! }),
  ContactWithoutTopics: record(
    { ...contact, extra_attributes },
    'A contact in the answers to create, update and remove from a list.',
  ),
  Identity: recordOf(identityFields),
  AuditEntry: recordOf(auditFields),
  Token: recordOf(clientTokenFields),
  NewToken: record<NewClientToken>({
    ...(schemasOf(clientTokenFields) as Record<keyof ClientToken, Schema>),
    token: { type: 'string', pattern: '^mk_[A-Za-z0-9_-]{43}$', description: 'The token, shown only in this answer.' },
  }),
  ImportReport: record<ImportReport>({
    total: { ...count, description: 'Rows that were read, without blank rows.' },
    created: { ...count, description: 'Rows that created a contact.' },
    updated: { ...count, description: 'Rows whose contact existed already.' },
    refused: count,
    refused_rows: {
      ...arrayOf(ref('RefusedRow')),
      description: 'The first refused rows, up to one megabyte.',
    },
  }),
  RefusedRow: record<RefusedRow>({
    line: { type: 'integer', minimum: 1, description: 'Line of the file where the row ends.' },
    errors: { ...fieldErrors, description: 'Messages by field, as in an error; `row` if the row cannot be read.' },
  }),
  BatchResult: {
    type: 'object',
    properties: {
      status: {
        type: 'string',
        enum: ['created', 'updated', 'done', 'refused'],
        description: '`created` and `updated`: the contact was saved. `refused`: nothing changed.',
      },
      id: { ...id, description: 'The contact, unless the operation was refused.' },
      errors: { ...fieldErrors, description: 'Messages by field of the operation, if it was refused.' },
    },
    required: ['status'],
  },
  Meta: record<Meta & { path: string }>({
    path: { type: 'string', format: 'uri', description: 'URL of the listing, without its query.' },
    ...meta,
  }),
  MetaWithoutPath: record<Meta>(meta),
} satisfies Readonly<Record<string, Schema>>
