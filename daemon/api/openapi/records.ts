import {
  type Contact,
  type Identity,
  type ImportReport,
  identityStatuses,
  inputLimits,
  type List,
  type Page,
  type RefusedRow,
  type Tag,
  type Topic,
} from '../../../lib/index.ts'
import { arrayOf, count, fieldErrors, flag, id, nullable, record, ref, type Schema, text, utc, uuid } from './schema.ts'

const email: Schema = { type: 'string', format: 'idn-email', examples: ['ada@example.org'] }

const contact = {
  id,
  uuid,
  name: { ...text, description: 'Full name; empty if none was given.' },
  email,
  extra_attributes: {
    type: 'object',
    additionalProperties: { type: 'string' },
    maxProperties: inputLimits.attributes,
    examples: [{ company: 'Engines' }],
  },
  unsubscribed_at: { ...nullable(utc), description: 'null while subscribed.' },
  unsubscribed_by_contact: { ...flag, description: 'Whether the contact unsubscribed themselves.' },
  tags: arrayOf(ref('Tag')),
  lists: arrayOf(ref('List')),
  created_at: utc,
} as const

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
  Tag: record<Tag>({ id, uuid, name: text, created_at: utc }),
  List: record<List>({ id, uuid, name: text, created_at: utc }),
  Topic: record<Topic>({ id, uuid, list_id: id, name: text, description: nullable(text), created_at: utc }),
  Contact: record<Contact>({
    ...contact,
    topics: { ...arrayOf(ref('Topic')), description: 'Topics that the contact is subscribed to.' },
  }),
  ContactWithoutTopics: record<Omit<Contact, 'topics'>>(
    contact,
    'A contact in the answers to create, update and remove from a list.',
  ),
  Identity: record<Identity>({
    id,
    uuid,
    email: { ...email, description: 'The sender’s address.' },
    name: { ...text, description: 'The display name.' },
    domain: { ...text, description: 'Domain of the address.' },
    identity_status: { type: 'string', enum: identityStatuses },
    verified_at: { ...nullable(utc), description: 'null unless verified.' },
    created_at: utc,
    updated_at: utc,
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
