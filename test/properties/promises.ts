/** The successful answer of each route, by the contract and the README's extensions. */
import {
  changedEndpoint,
  contact,
  contactWithoutTopics,
  deliveriesMeta,
  delivery,
  endpoint,
  eventTypes,
  identity,
  list,
  meta,
  newEndpoint,
  newSecret,
  offset,
  queuedTest,
  type Shape,
  tag,
  topic,
  utc,
} from '../support/http-shapes.ts'

interface Promised {
  readonly statuses: readonly number[]
  /** Shape of `data`, or of each item where there is `meta`; undefined where the answer is empty. */
  readonly data?: Shape
  readonly meta?: Shape
  /** Fields of an item that are not always there. */
  readonly optional?: readonly string[]
  /** Whether valid fields can be refused with 422 because of the state of records. */
  readonly byState?: true
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0
const isTime = (value: unknown) => typeof value === 'string' && offset.test(value)
const isObject = (value: unknown) => typeof value === 'object' && value !== null
const isArray = (value: unknown) => Array.isArray(value)
const isRecord = (value: unknown) => typeof value === 'object' && value !== null

const deliveryDetail: Shape = {
  ...delivery,
  payload: (value) => value === null || typeof value === 'object',
  error: (value) => value === null || typeof value === 'string',
  created_at: offset,
  next_attempt_at: (value) => value === null || isTime(value),
  attempt_log: isArray,
}
const recovery: Shape = { id: isCount, status: /^(pending|running|done|stopped)$/, total: isCount, done: isCount }
const segment: Shape = { ...list, filters: (value) => typeof value === 'object' && value !== null }
const isNullOrText = (value: unknown) => value === null || typeof value === 'string'
const pageSettings: Shape = {
  ...{ name: isNullOrText, colour: isNullOrText, logo_url: isNullOrText, language: isNullOrText, texts: isRecord },
  postal_address: isNullOrText,
}
const contactLinks: Shape = { unsubscribe_url: /^http/, preferences_url: /^http/, headers: isRecord }
const attributeSettings: Shape = { indexed: isArray }
const raised: Shape = { type: (value) => eventTypes.includes(value as never) }

const isUtc = (value: unknown) => typeof value === 'string' && utc.test(value)
const token: Shape = {
  id: isCount,
  name: (value) => value === null || typeof value === 'string',
  role: /^(viewer|member|admin)$/,
  created_at: utc,
  expires_at: (value) => value === null || isUtc(value),
  last_used_at: (value) => value === null || isUtc(value),
}
const newToken: Shape = { ...token, token: /^mk_/ }
const auditEntry: Shape = {
  id: isCount,
  type: /^[a-z]+\.[a-z_]+$/,
  target_id: isCount,
  token_id: (value) => value === null || isCount(value),
  source: /^[a-z_]+$/,
  created_at: utc,
}
const isIdOrNull = (value: unknown) => value === null || isCount(value)
const isTextOrNull = (value: unknown) => value === null || typeof value === 'string'
const historyEntry: Shape = {
  ...{ id: isCount, type: /^[a-z_]+$/, source: /^[a-z_]+$/, list_id: isIdOrNull, topic_id: isIdOrNull },
  ...{ token_id: isIdOrNull, ip: isTextOrNull, user_agent: isTextOrNull, created_at: utc },
}
const isText = (value: unknown) => typeof value === 'string'
const isUtcOrNull = (value: unknown) => value === null || isUtc(value)
const newsletterSummary: Shape = {
  ...{ ...list, subject: isText, preheader: isTextOrNull, from_identity_id: isIdOrNull, reply_to: isTextOrNull },
  ...{ audience: isRecord, status: /^[a-z]+$/, error: isTextOrNull, counts: isRecord, scheduled_at: isUtcOrNull },
  ...{ updated_at: utc, started_at: isUtcOrNull, finished_at: isUtcOrNull },
}
const newsletter: Shape = { ...newsletterSummary, html: isText, text: isTextOrNull }
const preview: Shape = { subject: isText, html: isText, text: isText }
const testResult: Shape = { email: isText, status: /^(sent|failed|uncertain)$/, error: isTextOrNull }
const message: Shape = {
  ...{
    id: isCount,
    uuid: isText,
    contact_id: isIdOrNull,
    contact_email: isTextOrNull,
    newsletter_id: isIdOrNull,
    sequence_id: isIdOrNull,
  },
  ...{ step_id: isIdOrNull, status: /^[a-z]+$/, reason: isTextOrNull, attempts: isCount, error: isTextOrNull },
  ...{ provider_message_id: isTextOrNull, created_at: utc, sent_at: isUtcOrNull },
}
const sequenceSummary: Shape = {
  ...{ ...list, list_id: isIdOrNull, from_identity_id: isIdOrNull, reply_to: isTextOrNull },
  ...{ status: /^(active|paused)$/, updated_at: utc },
}
const sequence: Shape = { ...sequenceSummary, steps: isArray }
const enrolment: Shape = {
  ...{
    id: isCount,
    sequence_id: isCount,
    contact_id: isCount,
    contact_email: isTextOrNull,
    status: /^[a-z]+$/,
    reason: isTextOrNull,
  },
  ...{ next_step_id: isIdOrNull, due_at: isUtcOrNull, created_at: utc },
}
const suppression: Shape = { id: isCount, email: isTextOrNull, reason: /^[a-z_]+$/, created_at: utc }
const endpointDelivery: Shape = { ...delivery, endpoint_id: isCount, created_at: offset }

const report: Shape = { total: isCount, created: isCount, updated: isCount, refused: isCount, refused_rows: isArray }

const series = { step: /^(minute|hour|day)$/, series: isArray } as const
const deliverySeries = {
  from: offset,
  to: offset,
  ...series,
  oldest_due_at: isTextOrNull,
  endpoints: isObject,
} as const
const contactSeries = { from: utc, to: utc, ...series } as const

const isTotal = (value: unknown) => value === null || isCount(value)
const importRecord: Shape = {
  ...{ id: isCount, list_id: isTotal, dry_run: (value) => typeof value === 'boolean' },
  ...{ status: /^(running|finished|failed)$/, rows: isCount, created: isCount, updated: isCount },
  ...{ skipped: isCount, refused: isCount, error: (value) => value === null || typeof value === 'string' },
  ...{ started_at: utc, finished_at: (value) => value === null || isUtc(value) },
}

const page = (data: Shape): Promised => ({ statuses: [200], data, meta })
const ok = (data: Shape): Promised => ({ statuses: [200], data })
const created = (data: Shape): Promised => ({ statuses: [201], data })
const accepted = (data: Shape): Promised => ({ statuses: [202], data })
const nothing: Promised = { statuses: [204] }

export const promises: Readonly<Record<string, Promised>> = {
  'GET /tags': page(tag),
  'POST /tags': { ...created(tag), byState: true },
  'PATCH /tags/:tagId': { ...ok(tag), byState: true },
  'DELETE /tags/:tagId': nothing,
  'GET /contacts': page(contact),
  'GET /contacts/count': ok({ count: isCount }),
  'GET /contacts/export': { statuses: [200] },
  'POST /lists/:listId/contacts/import': { statuses: [200, 400], data: report, byState: true },
  'POST /contacts/import': { statuses: [200, 400], data: report, byState: true },
  'GET /imports': page(importRecord),
  'GET /imports/:importId': ok(importRecord),
  'GET /contacts/:contactId': ok(contact),
  'POST /lists/:listId/contacts': { statuses: [200, 201], data: contactWithoutTopics },
  'PUT /contacts/:contactId': ok(contactWithoutTopics),
  'POST /contacts/:contactId/unsubscribe': ok(contact),
  'DELETE /lists/:listId/contacts/:contactId': ok(contactWithoutTopics),
  'GET /webhook-endpoints': page(endpoint),
  'POST /webhook-endpoints': created(newEndpoint),
  'PATCH /webhook-endpoints/:endpointId': ok(changedEndpoint),
  'DELETE /webhook-endpoints/:endpointId': nothing,
  'GET /webhook-endpoints/:endpointId/deliveries': { statuses: [200], data: delivery, meta: deliveriesMeta },
  'POST /webhook-endpoints/:endpointId/test': { statuses: [202, 429], data: queuedTest, byState: true },
  'POST /webhook-endpoints/:endpointId/secret': ok(newSecret),
  'GET /email-identities': page(identity),
  'GET /email-identities/:emailIdentityId': ok(identity),
  'POST /email-identities': { ...created(identity), byState: true },
  'POST /email-identities/:emailIdentityId/refresh': ok(identity),
  'DELETE /email-identities/:emailIdentityId': nothing,
  'DELETE /contacts/:contactId': nothing,
  'POST /contacts/:contactId/resubscribe': ok(contact),
  'PUT /contacts/:contactId/topics/:topicId': { ...ok(contact), byState: true },
  'DELETE /contacts/:contactId/topics/:topicId': ok(contact),
  'GET /contacts/:contactId/data': ok({
    ...{ contact: isObject, pending_lists: isArray, history: isArray, messages: isArray, enrolments: isArray },
    ...{ suppression: () => true, deliveries: isArray },
  }),
  'GET /suppressions': page(suppression),
  'POST /suppressions': { statuses: [200, 201], data: suppression },
  'DELETE /suppressions/:suppressionId': nothing,
  'GET /contacts/:contactId/history': page(historyEntry),
  'POST /contacts': ok(contact),
  'POST /contacts/:contactId/email': { ...ok(contact), byState: true },
  'POST /contacts/:contactId/tags': { ...ok(contact), byState: true },
  'DELETE /contacts/:contactId/tags': ok(contact),
  'POST /contacts/:contactId/merge': { statuses: [200, 404], data: contact, byState: true },
  'POST /contacts/:contactId/links': ok(contactLinks),
  'POST /contacts/batch': {
    statuses: [200],
    data: { status: /^(created|updated|done|refused)$/ },
    optional: ['id', 'errors'],
    byState: true,
  },
  'GET /tokens': page(token),
  'GET /tokens/current': ok({ ...token, client_id: isCount }),
  'POST /tokens': { ...created(newToken), byState: true },
  'POST /portal-links': { statuses: [201, 422], data: { url: /#token=mkp_/, expires_at: utc }, byState: true },
  'DELETE /tokens/:tokenId': nothing,
  'GET /audit-log': page(auditEntry),
  'GET /stats/deliveries': { ...ok(deliverySeries), byState: true },
  'GET /stats/contacts': { ...ok(contactSeries), optional: ['subscribed'], byState: true },
  'GET /deliveries': page(endpointDelivery),
  'GET /lists': page(list),
  'POST /lists': created(list),
  'GET /lists/:listId': ok(list),
  'PATCH /lists/:listId': ok(list),
  'DELETE /lists/:listId': nothing,
  'GET /segments': page(segment),
  'POST /segments': { ...created(segment), byState: true },
  'GET /segments/:segmentId': ok(segment),
  'PATCH /segments/:segmentId': { ...ok(segment), byState: true },
  'DELETE /segments/:segmentId': nothing,
  'GET /newsletters': page(newsletterSummary),
  'POST /newsletters': created(newsletter),
  'GET /newsletters/:newsletterId': { ...ok(newsletter), optional: ['current_audience'] },
  'PATCH /newsletters/:newsletterId': { ...ok(newsletter), byState: true },
  'DELETE /newsletters/:newsletterId': { ...nothing, byState: true },
  'GET /newsletters/:newsletterId/audience': ok({ count: isCount }),
  'POST /newsletters/:newsletterId/preview': { statuses: [200, 404], data: preview, byState: true },
  'POST /newsletters/:newsletterId/test': { ...ok(testResult), byState: true },
  'POST /newsletters/:newsletterId/send': { ...accepted(newsletter), byState: true },
  'POST /newsletters/:newsletterId/pause': { ...ok(newsletter), byState: true },
  'POST /newsletters/:newsletterId/resume': { ...ok(newsletter), byState: true },
  'POST /newsletters/:newsletterId/cancel': { ...ok(newsletter), byState: true },
  'GET /newsletters/:newsletterId/messages': page(message),
  'GET /contacts/:contactId/messages': page(message),
  'GET /sequences': page(sequenceSummary),
  'POST /sequences': created(sequence),
  'GET /sequences/:sequenceId': ok(sequence),
  'PATCH /sequences/:sequenceId': ok(sequence),
  'DELETE /sequences/:sequenceId': nothing,
  'PUT /sequences/:sequenceId/steps': { ...ok(sequence), byState: true },
  'POST /sequences/:sequenceId/preview': { statuses: [200, 404], data: preview, byState: true },
  'POST /sequences/:sequenceId/resume': { ...ok(sequence), byState: true },
  'GET /sequences/:sequenceId/messages': page(message),
  'GET /sequences/:sequenceId/enrolments': page(enrolment),
  'POST /sequences/:sequenceId/enrolments': { ...created(enrolment), byState: true },
  'DELETE /sequences/:sequenceId/enrolments/:contactId': { statuses: [204, 404] },
  'GET /settings/attributes': ok(attributeSettings),
  'PUT /settings/attributes': ok(attributeSettings),
  'GET /settings/pages': ok(pageSettings),
  'PUT /settings/pages': ok(pageSettings),
  'GET /lists/:listId/topics': page(topic),
  'POST /lists/:listId/topics': created(topic),
  'PATCH /topics/:topicId': ok(topic),
  'DELETE /topics/:topicId': nothing,
  'GET /webhook-endpoints/:endpointId': ok(endpoint),
  'GET /webhook-endpoints/:endpointId/deliveries/:deliveryId': ok(deliveryDetail),
  'POST /webhook-endpoints/:endpointId/deliveries/:deliveryId/redeliver': { ...accepted(delivery), byState: true },
  'POST /webhook-endpoints/:endpointId/recover': { ...accepted(recovery), byState: true },
  'GET /webhook-endpoints/:endpointId/recoveries/:recoveryId': ok(recovery),
  'POST /events': accepted(raised),
  'POST /events/batch': {
    statuses: [202],
    data: { status: /^(raised|refused)$/ },
    optional: ['errors'],
    byState: true,
  },
}
