/** Examples of all requests and answers. All share one data set, in which Ada is on the list "News". */
import type {
  Attempt,
  AttributeSettings,
  AuditEntry,
  ClientToken,
  Contact,
  ContactInput,
  ContactLinks,
  ContactSeries,
  Delivery,
  DeliveryDetail,
  DeliverySeries,
  Endpoint,
  EndpointInput,
  EventInput,
  EventType,
  FieldErrors,
  HistoryEntry,
  Identity,
  ImportReport,
  List,
  Page,
  Recovery,
  Segment,
  SegmentInput,
  Suppression,
  Tag,
  TagInput,
  Topic,
  TopicInput,
} from '../../../lib/index.ts'
import type { BodyName } from './bodies.ts'
import type { recordSchemas } from './records.ts'
import { sendingBodyExamples, sendingRecordExamples } from './sending.ts'
import type { webhookSchemas } from './webhook-records.ts'

type SchemaName = keyof typeof recordSchemas | keyof typeof webhookSchemas

const created_at = '2026-01-02T03:04:05.678901Z'
const uuidOf = (number: number) => `0b9c7c3e-7e0a-4d7e-8a43-1f1f8a6f1f${number}`

const tag: Tag = { id: 3, uuid: uuidOf(10), name: 'vip', created_at }
const list: List = { id: 1, uuid: uuidOf(11), name: 'News', created_at }
const topic: Topic = {
  ...{ id: 2, uuid: uuidOf(12), list_id: 1, name: 'Weekly', description: 'Every Monday.' },
  created_at,
}

const contactWithoutTopics: Omit<Contact, 'topics'> = {
  id: 7,
  uuid: uuidOf(13),
  name: 'Ada Lovelace',
  email: 'ada@example.org',
  extra_attributes: { company: 'Engines' },
  unsubscribed_at: null,
  unsubscribed_by_contact: false,
  tags: [tag],
  lists: [list],
  created_at,
}
const contact: Contact = { ...contactWithoutTopics, topics: [topic] }

const identity: Identity = {
  ...{ id: 1, uuid: uuidOf(14), email: 'news@example.org', name: 'News', domain: 'example.org' },
  ...{ identity_status: 'verified', verified_at: created_at, created_at, updated_at: created_at },
}

const segmentInput: SegmentInput = { name: 'Pro customers', filters: { tags: [3], attributes: { plan: 'pro' } } }
const segment: Segment = { id: 1, uuid: uuidOf(18), ...segmentInput, created_at }
const contactUrl = 'https://mail.example.com/c/AQAAAAAAAQAAAAAABwubfD5'
const contactLinks: ContactLinks = {
  unsubscribe_url: `${contactUrl}/unsubscribe`,
  preferences_url: 'https://mail.example.com/c/AgAAAAAAAQAAAAAABwubfD5/preferences',
  headers: {
    'List-Unsubscribe': `<${contactUrl}/unsubscribe>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  },
}
const attributeSettings: AttributeSettings = { indexed: ['plan', 'city'] }
const token: ClientToken = {
  ...{ id: 4, name: 'Billing', role: 'member', created_at, expires_at: null },
  last_used_at: '2026-01-02T04:05:06.789012Z',
}

const auditEntry: AuditEntry = {
  ...{ id: 9, type: 'contact.deleted', target_id: 7, token_id: 4, source: 'api', created_at },
}

const historyEntry: HistoryEntry = {
  ...{ id: 12, type: 'confirmed', source: 'confirmation_link', list_id: 1, topic_id: null, token_id: null },
  ...{ ip: '192.0.2.7', user_agent: 'Mozilla/5.0', created_at },
}

const suppression: Suppression = { id: 1, email: 'ada@example.org', reason: 'manual', created_at }

const importReport: ImportReport = {
  ...{ total: 2, created: 1, updated: 0, refused: 1 },
  refused_rows: [{ line: 3, errors: { email: ['This must be an e-mail address.'] } }],
}

/** Has the format of a real secret, but its readable content shows that it is an example. */
const secret = `whsec_${Buffer.from('an example secret of 32 bytes...').toString('base64')}`

const exampleToken = `mk_${Buffer.from('an example token with 32 bytes..').toString('base64url')}`

const endpoint: Endpoint = {
  id: 1,
  uuid: uuidOf(15),
  url: 'https://partner.example/hook',
  description: 'Partner',
  events: ['contact.subscribed', 'contact.unsubscribed'],
  active: true,
  disabled_reason: null,
  consecutive_failures: 0,
  last_triggered_at: '2026-01-02T03:04:06+00:00',
}

const delivery: Delivery = {
  ...{ id: 5, uuid: uuidOf(16), event_type: 'contact.subscribed', status: 'success', attempts: 1 },
  ...{ response_status: 200, delivered_at: '2026-01-02T03:04:06+00:00' },
}

const attempt: Attempt = {
  ...{ number: 1, started_at: '2026-01-02T03:04:06+00:00', duration_ms: 84.2 },
  ...{ response_status: 200, error: null, response_body: 'ok' },
}

const dataOf: Readonly<Record<EventType, object>> = {
  'contact.subscribed': { contact, list },
  'contact.unsubscribed': { contact: { ...contact, unsubscribed_at: '2026-01-03T09:00:00.000000Z' } },
  'contact.resubscribed': { contact },
  'newsletter.sent': { newsletter: 'January', recipients: 1200 },
  'sequence_step.sent': { sequence: 'Welcome', step: 2, contact_id: 7 },
  'sequence.completed': { sequence: 'Welcome', contact_id: 7 },
  'webhook.test': { message: 'This is a test delivery.' },
  'contact.created': { contact },
  'contact.updated': { contact },
  'contact.deleted': { contact: { id: contact.id, uuid: contact.uuid, email: contact.email } },
  'contact.list_removed': { contact: { ...contact, lists: [], topics: [] }, list },
  'contact.tagged': { contact, tag },
  'contact.untagged': { contact: { ...contact, tags: [] }, tag },
  'contact.topic_subscribed': { contact, topic },
  'contact.topic_unsubscribed': { contact: { ...contact, topics: [] }, topic },
  'contact.confirmation_requested': {
    contact: { ...contact, lists: [], topics: [] },
    list,
    confirm_url: 'https://mail.example.org/c/AwAAAAAAAQAAAAAAB5qU/confirm',
  },
}

/** Returns an example body of an event. */
export function eventExample(type: EventType): object {
  return { id: uuidOf(17), type, created_at, data: dataOf[type] }
}

const deliveryDetail: DeliveryDetail = {
  ...delivery,
  payload: eventExample('contact.subscribed'),
  error: null,
  created_at: '2026-01-02T03:04:05+00:00',
  next_attempt_at: null,
  attempt_log: [attempt],
}

const seriesRange = { from: '2026-01-02T03:00:00+00:00', to: '2026-01-02T04:00:00+00:00', step: 'hour' } as const
const deliverySeries: DeliverySeries = {
  ...seriesRange,
  series: [{ at: seriesRange.from, delivered: 940, retried: 12, failed: 1, p95_ms: 84 }],
}
const contactSeries: ContactSeries = {
  ...seriesRange,
  series: [{ at: seriesRange.from, created: 41, unsubscribed: 2, deleted: 0 }],
}

const recovery: Recovery = { id: 1, status: 'pending', total: 12, done: 0 }

/** Example records by schema name. */
export const recordExamples = {
  ...sendingRecordExamples,
  Tag: tag,
  List: list,
  ManagedList: list,
  AddedContact: contactWithoutTopics,
  CountedTag: { ...tag, contacts_count: 1200 },
  CountedList: { ...list, contacts_count: 4800 },
  Topic: topic,
  Contact: contact,
  ContactWithoutTopics: contactWithoutTopics,
  HistoryEntry: historyEntry,
  PersonalData: { contact, history: [historyEntry], messages: [], deliveries: [] },
  Suppression: suppression,
  Identity: identity,
  AuditEntry: auditEntry,
  Token: token,
  NewToken: { ...token, last_used_at: null, token: exampleToken },
  ImportReport: importReport,
  Segment: segment,
  AttributeSettings: attributeSettings,
  ContactCount: { count: 1200 },
  ContactLinks: contactLinks,
  DeliverySeries: deliverySeries,
  ContactSeries: contactSeries,
  BatchResult: { status: 'created', id: 7 },
  Endpoint: endpoint,
  NewEndpoint: {
    ...{ id: endpoint.id, uuid: endpoint.uuid, url: endpoint.url, events: endpoint.events, active: true },
    secret,
  },
  ChangedEndpoint: { id: 1, active: false },
  NewSecret: { id: 1, secret },
  Delivery: delivery,
  EndpointDelivery: { ...delivery, endpoint_id: 1, created_at: '2026-01-02T03:04:05+00:00' },
  QueuedTest: { id: 6, event_type: 'webhook.test', status: 'pending' },
  DeliveryDetail: deliveryDetail,
  Recovery: recovery,
  RaisedEvent: { type: 'newsletter.sent' },
} satisfies Partial<Record<SchemaName, object>>

/** A record that an answer may have: a schema with an example. */
export type RecordName = keyof typeof recordExamples

const tagInput: TagInput = { name: 'vip' }
const contactInput: ContactInput = {
  ...{ email: 'ada@example.org', name: 'Ada Lovelace', tags: ['vip'] },
  company: 'Engines',
}
const topicInput: TopicInput = { name: 'Weekly', description: 'Every Monday.' }
const endpointInput: EndpointInput = { url: endpoint.url, events: endpoint.events, description: 'Partner' }
const eventInput: EventInput = { type: 'newsletter.sent', data: dataOf['newsletter.sent'] }

/** By schema name: an example body, and the errors of a refused body. */
export const bodyExamples: Readonly<Record<BodyName, { readonly good: object; readonly errors: FieldErrors }>> = {
  ...sendingBodyExamples,
  TagInput: { good: tagInput, errors: { name: ['There is a tag of this name already.'] } },
  ListChange: { good: { double_opt_in: true }, errors: { name: ['This field is required.'] } },
  ListInput: { good: { name: 'News' }, errors: { name: ['This field is required.'] } },
  TopicInput: { good: topicInput, errors: { name: ['This field is required.'] } },
  TopicChange: { good: { description: 'Every other Monday.' }, errors: { name: ['This must not be empty.'] } },
  IdentityInput: {
    good: { email: 'news@example.org', name: 'News' },
    errors: { email: ['There is an identity of this address already.'] },
  },
  SegmentInput: { good: segmentInput, errors: { name: ['This field is required.'] } },
  SegmentChange: { good: { name: 'Customers' }, errors: { name: ['This must not be empty.'] } },
  AttributeSettingsInput: {
    good: attributeSettings,
    errors: { indexed: ['At most 10 attributes can be indexed.'] },
  },
  ContactInput: { good: contactInput, errors: { email: ['This must be an e-mail address.'] } },
  ContactChange: {
    good: { name: 'Ada King', tags: ['vip'], company: null },
    errors: { email: ['The e-mail address of a contact cannot be changed.'] },
  },
  SuppressionInput: { good: { email: 'ada@example.org' }, errors: { email: ['This must be an e-mail address.'] } },
  EmailInput: { good: { email: 'ada@example.com' }, errors: { email: ['Another contact has this e-mail address.'] } },
  TagsInput: { good: { tags: ['vip'] }, errors: { tags: ['At least one tag is needed.'] } },
  MergeInput: { good: { into: 7 }, errors: { into: ['This must be another contact.'] } },
  BatchInput: {
    good: {
      operations: [
        { op: 'upsert', email: 'ada@example.org', tags: ['vip'], lists: [1] },
        { op: 'unsubscribe', email: 'bob@example.org' },
      ],
    },
    errors: { operations: ['At most 1,000 operations at a time.'] },
  },
  EndpointInput: { good: endpointInput, errors: { events: ['At least one event type is needed.'] } },
  EndpointChange: { good: { active: false }, errors: { active: ['This must be true or false.'] } },
  EventInput: { good: eventInput, errors: { data: ['This must be an object.'] } },
  RotationInput: {
    good: { overlap_hours: 24 },
    errors: { overlap_hours: ['This must be a whole number from 0 to 72.'] },
  },
  TokenInput: {
    good: { name: 'Billing', role: 'member', expires_in: 7_776_000 },
    errors: { role: ['This must be admin, member or viewer.'] },
  },
  RecoverInput: {
    good: { since: '2026-01-02T03:04:05Z' },
    errors: { since: ['This must be a time with its offset, as in 2026-01-02T03:04:05Z.'] },
  },
}

/** Returns an example file of a media type. */
export function fileExample(type: string, exported: boolean): string {
  if (type.endsWith('csv'))
    return exported ? exportedCsv : 'email,name,tags,company\nada@example.org,Ada Lovelace,vip,Engines\n'
  return `${JSON.stringify(exported ? contact : contactInput)}\n`
}

const exportedCsv = [
  'id,uuid,name,email,extra_attributes,unsubscribed_at,unsubscribed_by_contact,tags,lists,topics,created_at',
  `7,${contact.uuid},Ada Lovelace,ada@example.org,"{""company"":""Engines""}",,false,vip,News,Weekly,${created_at}`,
  '',
].join('\r\n')

/** Returns the `meta` of a first page that has a next page. */
export function metaExample(path: string | undefined): Page<unknown>['meta'] & { path?: string } {
  return {
    ...(path !== undefined && { path: `http://127.0.0.1:6245/api/v1${path}` }),
    ...{ per_page: 25, next_cursor: 'bmV4dDo3', prev_cursor: null },
  }
}
