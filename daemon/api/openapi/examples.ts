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
  EndpointStates,
  EventInput,
  EventType,
  HistoryEntry,
  Identity,
  Import,
  ImportReport,
  ImportRowResult,
  List,
  Page,
  PageSettings,
  Recovery,
  Segment,
  SegmentInput,
  Suppression,
  Tag,
  TagInput,
  Topic,
  TopicInput,
} from '../../../lib/index.ts'
import type { recordSchemas } from './records.ts'
import { sendingRecordExamples } from './sending.ts'
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

export const segmentInput: SegmentInput = { name: 'Pro customers', filters: { tags: [3], attributes: { plan: 'pro' } } }
const segment: Segment = { id: 1, uuid: uuidOf(18), ...segmentInput, created_at }
export const pageSettings: PageSettings = {
  ...{ name: 'Acme', colour: '#0a58ca', logo_url: 'https://acme.example/logo.png', language: null },
  ...{ texts: { unsubscribed_text: 'We will miss you.' }, postal_address: 'Acme Ltd, 1 High Street, London' },
}
const contactLinks: ContactLinks = {
  unsubscribe_url: 'https://mail.example.com/c/AQAAAAAAAQAAAAAABwubfD5/unsubscribe',
  preferences_url: 'https://mail.example.com/c/AgAAAAAAAQAAAAAABwubfD5/preferences',
  headers: { 'List-Unsubscribe': '<https://mail.example.com/c/AQAAAAAAAQAAAAAABwubfD5/unsubscribe>' },
}
export const attributeSettings: AttributeSettings = { indexed: ['plan', 'city'] }
const token: ClientToken = {
  ...{ id: 4, name: 'Billing', role: 'member', created_at, expires_at: null },
  last_used_at: '2026-01-02T04:05:06.789012Z',
}

const auditEntry: AuditEntry = {
  ...{ id: 9, type: 'contact.deleted', target_id: 7, token_id: 4, source: 'api', created_at },
}

const importRowResult: ImportRowResult = { line: 2, status: 'created', id: 7 }
const runningImport: Import = {
  ...{ id: 1, list_id: 1, dry_run: false, status: 'running' },
  ...{ rows: 3000, created: 2900, updated: 98, skipped: 0, refused: 2 },
  ...{ error: null, started_at: created_at, finished_at: null },
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

const endpointStates: EndpointStates = {
  ...{ healthy: 3, failing: 1, switched_off: 0 },
  first_failing: [{ id: 2, url: endpoint.url, active: true, disabled_reason: null, consecutive_failures: 2 }],
}
const deliverySeries: DeliverySeries = {
  ...{ from: '2026-01-02T03:00:00+00:00', to: '2026-01-02T04:00:00+00:00', step: 'hour' },
  oldest_due_at: '2026-01-02T03:58:20+00:00',
  endpoints: endpointStates,
  series: [{ at: '2026-01-02T03:00:00+00:00', delivered: 940, retried: 12, failed: 1, p95_ms: 84 }],
}
const contactSeries: ContactSeries = {
  ...{ from: '2026-01-02T03:00:00.000000Z', to: '2026-01-02T04:00:00.000000Z', step: 'hour' },
  series: [{ at: '2026-01-02T03:00:00.000000Z', created: 41, unsubscribed: 2, deleted: 0 }],
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
  CountedTopic: { ...topic, contacts_count: 2400 },
  Topic: topic,
  Contact: contact,
  ContactWithoutTopics: contactWithoutTopics,
  HistoryEntry: historyEntry,
  PersonalData: {
    ...{ contact, pending_lists: [], suppression: null, history: [historyEntry] },
    ...{ messages: [], enrolments: [], deliveries: [] },
  },
  Suppression: suppression,
  Identity: identity,
  AuditEntry: auditEntry,
  Token: token,
  CurrentToken: { ...token, client_id: 1 },
  NewToken: { ...token, last_used_at: null, token: exampleToken },
  Import: runningImport,
  ImportReport: importReport,
  ImportRowResult: importRowResult,
  Segment: segment,
  AttributeSettings: attributeSettings,
  ContactCount: { count: 1200 },
  ContactLinks: contactLinks,
  PageSettings: pageSettings,
  DeliverySeries: deliverySeries,
  PortalLink: { url: `https://mail.example.org/portal#token=mkp_${'example'.repeat(5)}`, expires_at: created_at },
  ContactSeries: { ...contactSeries, subscribed: 4800 },
  EndpointStates: endpointStates,
  BatchResult: { status: 'created', id: 7 },
  EventResult: { status: 'raised' },
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

export const tagInput: TagInput = { name: 'vip' }
export const contactInput: ContactInput = {
  ...{ email: 'ada@example.org', name: 'Ada Lovelace', tags: ['vip'] },
  company: 'Engines',
}
export const topicInput: TopicInput = { name: 'Weekly', description: 'Every Monday.' }
export const endpointInput: EndpointInput = { url: endpoint.url, events: endpoint.events, description: 'Partner' }
export const eventInput: EventInput = { type: 'newsletter.sent', data: dataOf['newsletter.sent'] }

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
