import {
  type ClientToken,
  type ContactLinks,
  type EndpointStates,
  type EventBatchResult,
  type ImportReport,
  type ImportRowResult,
  inputLimits,
  type NewClientToken,
  type Page,
  type PersonalData,
  type PortalLink,
  type RefusedRow,
} from '../../../lib/index.ts'
import * as schemas from '../../../lib/schemas.ts'
import { recordOf, schemasOf } from './fields.ts'
import {
  anyFields,
  arrayOf,
  count,
  fieldErrors,
  flag,
  id,
  nullable,
  offset,
  record,
  ref,
  type Schema,
  text,
  utc,
} from './schema.ts'
import { sendingRecords } from './sending.ts'

const { topics, ...contact } = schemasOf(schemas.contactFields)
const { filters: _, ...segment } = schemas.segmentFields

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

/** Adds the number of contacts, which the listings of lists, topics and tags have on demand. */
function withCount(schema: Schema): Schema {
  const contacts_count = { ...count, description: 'Subscribed contacts. Only with `counts`.' }
  return { ...schema, properties: { ...schema.properties, contacts_count } }
}

/** Makes fields of a record optional. */
function optional(schema: Schema, ...names: readonly string[]): Schema {
  return { ...schema, required: schema.required!.filter((name) => !names.includes(name)) }
}

/** A list as its own routes show it. */
const list: Schema = {
  ...recordOf(schemas.listFields),
  properties: {
    ...schemasOf(schemas.listFields),
    double_opt_in: { ...flag, const: true, description: 'Contacts join only after they confirm it. Else absent.' },
  },
}

function seriesOf(time: Schema, point: Schema, others: Readonly<Record<string, Schema>>): Schema {
  return record({
    ...others,
    from: time,
    to: time,
    step: { type: 'string', enum: schemas.steps },
    series: arrayOf(point),
  })
}

/** Schemas of records in answers, except webhooks. */
export const recordSchemas = {
  ...sendingRecords,
  Tag: recordOf(schemas.tagFields),
  List: recordOf(schemas.listFields),
  CountedTag: withCount(recordOf(schemas.tagFields)),
  ManagedList: list,
  CountedList: withCount(list),
  Topic: recordOf(schemas.topicFields),
  CountedTopic: withCount(recordOf(schemas.topicFields)),
  Segment: record({ ...schemasOf(segment), filters: ref('SegmentFilters') }),
  AttributeSettings: recordOf(schemas.attributeSettingsFields),
  PageSettings: recordOf(schemas.pageSettingsFields),
  ContactLinks: record<ContactLinks>({
    unsubscribe_url: { ...text, format: 'uri', description: 'Page with one button. Only its `POST` unsubscribes.' },
    preferences_url: { ...text, format: 'uri', description: 'Page with the contact’s lists and topics.' },
    headers: {
      type: 'object',
      properties: { 'List-Unsubscribe': text, 'List-Unsubscribe-Post': text },
      required: ['List-Unsubscribe'],
      description:
        'Headers of a mail to this contact. `List-Unsubscribe-Post` is present if the public URL is `https`.',
    },
  }),
  PortalLink: record<PortalLink>({
    url: {
      ...text,
      format: 'uri',
      description: 'The session token is in the fragment, which browsers send to no server.',
    },
    expires_at: utc,
  }),
  DeliverySeries: seriesOf(offset, recordOf(schemas.deliveryPointFields), {
    oldest_due_at: {
      ...nullable(offset),
      description: 'When the oldest delivery that waits for an attempt became due; null when none is due.',
    },
    endpoints: ref('EndpointStates'),
  }),
  EndpointStates: record<EndpointStates>(
    {
      healthy: { ...count, description: 'Active, and the last attempt did not fail.' },
      failing: { ...count, description: 'The last attempt failed, or it was switched off after failures.' },
      switched_off: { ...count, description: 'Switched off by hand.' },
      first_failing: {
        ...arrayOf(recordOf(schemas.failingEndpointFields)),
        description: 'At most five, by ascending id.',
      },
    },
    'Number of endpoints by state, as they are now.',
  ),
  ContactSeries: optional(
    seriesOf(utc, recordOf(schemas.contactPointFields), {
      subscribed: { ...count, description: 'Contacts that are subscribed now. Only with `count`.' },
    }),
    'subscribed',
  ),
  ContactCount: record<{ count: number }>({ count }),
  Contact: record({ ...contact, extra_attributes, topics: topics! }),
  ContactWithoutTopics: record(
    { ...contact, extra_attributes },
    'A contact in the answers to create, update and remove from a list.',
  ),
  PersonalData: record<PersonalData>({
    contact: ref('Contact'),
    pending_lists: { ...arrayOf(ref('List')), description: 'The lists that the contact was asked to confirm.' },
    suppression: {
      anyOf: [ref('Suppression'), { type: 'null' }],
      description: 'null if mail to the address is allowed.',
    },
    history: { ...arrayOf(ref('HistoryEntry')), description: 'Newest first.' },
    messages: { ...arrayOf(ref('Message')), description: 'Mails to the contact, newest first.' },
    enrolments: {
      ...arrayOf(ref('Enrolment')),
      description: 'The sequences that the contact is or was enrolled in.',
    },
    deliveries: {
      ...arrayOf(ref('ContactDelivery')),
      description: 'Webhook deliveries whose payload shows the contact.',
    },
  }),
  ContactDelivery: record({
    ...schemasOf(schemas.endpointDeliveryFields),
    payload: { ...anyFields, description: 'The event as sent, with null as `confirm_url`.' },
  }),
  HistoryEntry: recordOf(schemas.historyFields),
  Suppression: recordOf(schemas.suppressionFields),
  AddedContact: {
    ...record({ ...contact, extra_attributes }),
    properties: {
      ...contact,
      extra_attributes,
      pending_lists: {
        ...arrayOf(ref('List')),
        description: 'The list, if the contact has to confirm it before it joins. Only of a list with double opt-in.',
      },
    },
  },
  Identity: recordOf(schemas.identityFields),
  AuditEntry: recordOf(schemas.auditFields),
  Token: recordOf(schemas.clientTokenFields),
  CurrentToken: recordOf(schemas.currentTokenFields),
  NewToken: record<NewClientToken>({
    ...(schemasOf(schemas.clientTokenFields) as Record<keyof ClientToken, Schema>),
    token: { type: 'string', pattern: '^mk_[A-Za-z0-9_-]{43}$', description: 'The token, shown only in this answer.' },
  }),
  Import: recordOf(schemas.importFields),
  ImportReport: optional(
    record<ImportReport>({
      total: { ...count, description: 'Rows that were read, without blank rows.' },
      created: { ...count, description: 'Rows that created a contact.' },
      updated: { ...count, description: 'Rows whose contact existed already.' },
      refused: count,
      skipped: { ...count, description: 'Rows whose contact existed already. Only with `mode=skip`.' },
      dry_run: { type: 'boolean', description: 'Nothing was stored. Only with `dry_run`.' },
      refused_rows: {
        ...arrayOf(ref('RefusedRow')),
        description: 'The first refused rows, up to one megabyte.',
      },
    }),
    'skipped',
    'dry_run',
  ),
  ImportRowResult: optional(
    record<Omit<ImportRowResult, 'row'>>({
      line: { type: 'integer', minimum: 1, description: 'Line of the file where the row ends.' },
      status: { type: 'string', enum: ['created', 'updated', 'skipped', 'refused'] },
      id: { ...id, description: 'The contact, unless the row was refused.' },
      errors: { ...fieldErrors, description: 'Messages by field, if the row was refused.' },
    }),
    'id',
    'errors',
  ),
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
  EventResult: optional(
    record<EventBatchResult>({
      status: {
        type: 'string',
        enum: ['raised', 'refused'],
        description: '`raised`: also if no endpoint subscribes to it. `refused`: nothing was stored.',
      },
      errors: { ...fieldErrors, description: 'Messages by field of the event, if it was refused.' },
    }),
    'errors',
  ),
  Meta: record<Meta & { path: string }>({
    path: { type: 'string', format: 'uri', description: 'URL of the listing, without its query.' },
    ...meta,
  }),
  MetaWithoutPath: record<Meta>(meta),
} satisfies Readonly<Record<string, Schema>>
