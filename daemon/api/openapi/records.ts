import {
  type ClientToken,
  type ImportReport,
  inputLimits,
  type NewClientToken,
  type Page,
  type RefusedRow,
} from '../../../lib/index.ts'
import {
  auditFields,
  clientTokenFields,
  contactFields,
  identityFields,
  listFields,
  tagFields,
  topicFields,
} from '../../../lib/internal.ts'
import { recordOf, schemasOf } from './fields.ts'
import { arrayOf, count, fieldErrors, nullable, record, ref, type Schema, text } from './schema.ts'

const { topics, ...contact } = schemasOf(contactFields)

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

/** Schemas of records in answers, except webhooks. */
export const recordSchemas = {
  Tag: recordOf(tagFields),
  List: recordOf(listFields),
  Topic: recordOf(topicFields),
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
  Meta: record<Meta & { path: string }>({
    path: { type: 'string', format: 'uri', description: 'URL of the listing, without its query.' },
    ...meta,
  }),
  MetaWithoutPath: record<Meta>(meta),
} satisfies Readonly<Record<string, Schema>>
