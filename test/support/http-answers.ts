/** The fields of `data` that the specification gives each route and each event. */
import type { EventType } from '../../lib/index.ts'
import {
  attributes,
  auditEntry,
  changedEndpoint,
  contact,
  contactWithoutTopics,
  count,
  delivery,
  each,
  endpoint,
  endpointDelivery,
  eventTypes,
  flag,
  id,
  identity,
  list,
  newEndpoint,
  newSecret,
  newToken,
  object,
  of,
  offset,
  oneOf,
  orNull,
  queuedTest,
  type Shape,
  tag,
  text,
  token,
  topic,
  utc,
  uuid,
} from './http-shapes.ts'

const segment: Shape = { id, uuid, name: text, filters: object, created_at: utc }
const links: Shape = {
  unsubscribe_url: /^http:\/\/127\.0\.0\.1:\d+\/c\/[\w-]{1,99}\/unsubscribe$/,
  preferences_url: /^http:\/\/127\.0\.0\.1:\d+\/c\/[\w-]{1,99}\/preferences$/,
  // `List-Unsubscribe-Post` is for https only.
  headers: of({ 'List-Unsubscribe': /^<http:.+\/unsubscribe>$/ }),
}
const historyEntry: Shape = {
  id,
  type: oneOf(
    ...['list_joined', 'list_left', 'topic_subscribed', 'topic_unsubscribed', 'unsubscribed', 'resubscribed'],
    ...['confirmation_requested', 'confirmed', 'bounced', 'complained'],
  ),
  source: oneOf(
    ...['api', 'library', 'import', 'cli', 'preferences_page', 'unsubscribe_page', 'one_click', 'confirmation_link'],
    'provider',
  ),
  list_id: orNull(id),
  topic_id: orNull(id),
  token_id: orNull(id),
  ip: orNull(text),
  user_agent: orNull(text),
  created_at: utc,
}
const suppression: Shape = {
  id,
  email: orNull(text),
  reason: oneOf('hard_bounce', 'complaint', 'manual', 'erased'),
  created_at: utc,
}

const importResult: Shape = {
  total: count,
  created: count,
  updated: count,
  refused: count,
  refused_rows: each(of({ line: count, errors: object })),
}
const imported: Shape = {
  id,
  list_id: orNull(id),
  dry_run: flag,
  status: oneOf('running', 'finished', 'failed'),
  rows: count,
  created: count,
  updated: count,
  skipped: count,
  refused: count,
  error: orNull(text),
  started_at: utc,
  finished_at: orNull(utc),
}

const newsletterSummary: Shape = {
  id,
  uuid,
  name: text,
  subject: text,
  preheader: orNull(text),
  from_identity_id: orNull(id),
  reply_to: orNull(text),
  audience: object,
  scheduled_at: orNull(utc),
  status: oneOf('draft', 'scheduled', 'sending', 'sent', 'paused', 'cancelled', 'failed'),
  error: orNull(text),
  counts: of({ recipients: count, pending: count, sent: count, failed: count, skipped: count, uncertain: count }),
  created_at: utc,
  updated_at: utc,
  started_at: orNull(utc),
  finished_at: orNull(utc),
}
const newsletter: Shape = { ...newsletterSummary, html: text, text: orNull(text) }
const rendered: Shape = { subject: text, html: text, text }
const message: Shape = {
  id,
  uuid,
  contact_id: orNull(id),
  contact_email: orNull(text),
  newsletter_id: orNull(id),
  sequence_id: orNull(id),
  step_id: orNull(id),
  status: oneOf('pending', 'sent', 'failed', 'skipped', 'uncertain'),
  reason: orNull(text),
  attempts: count,
  error: orNull(text),
  provider_message_id: orNull(text),
  created_at: utc,
  sent_at: orNull(utc),
}
const step: Shape = {
  id,
  position: id,
  delay_seconds: count,
  subject: text,
  preheader: orNull(text),
  html: text,
  text: orNull(text),
}
const sequenceSummary: Shape = {
  id,
  uuid,
  name: text,
  list_id: orNull(id),
  from_identity_id: orNull(id),
  reply_to: orNull(text),
  status: oneOf('active', 'paused'),
  created_at: utc,
  updated_at: utc,
}
const sequence: Shape = { ...sequenceSummary, steps: each(of(step)) }
const enrolment: Shape = {
  id,
  sequence_id: id,
  contact_id: orNull(id),
  contact_email: orNull(text),
  status: oneOf('active', 'completed', 'stopped'),
  reason: orNull(text),
  next_step_id: orNull(id),
  due_at: orNull(utc),
  created_at: utc,
}

const pageSettings: Shape = {
  name: orNull(text),
  colour: orNull(text),
  logo_url: orNull(text),
  language: orNull(text),
  texts: attributes,
  postal_address: orNull(text),
}
const seriesStep = oneOf('minute', 'hour', 'day')
const contactSeries: Shape = {
  ...{ from: utc, to: utc, step: seriesStep },
  series: each(of({ at: utc, created: count, unsubscribed: count, deleted: count })),
}
const deliverySeries: Shape = {
  ...{ from: offset, to: offset, step: seriesStep },
  oldest_due_at: orNull(offset),
  endpoints: of({ healthy: count, failing: count, switched_off: count, first_failing: each(of(endpoint)) }),
  series: each(of({ at: offset, delivered: count, retried: count, failed: count, p95_ms: orNull(count) })),
}

const attempt: Shape = {
  number: id,
  started_at: offset,
  duration_ms: orNull(count),
  response_status: orNull(count),
  error: orNull(text),
  response_body: orNull(text),
}
const wholeDelivery: Shape = {
  ...delivery,
  payload: object,
  error: orNull(text),
  created_at: offset,
  next_attempt_at: orNull(offset),
  attempt_log: each(of(attempt)),
}
const recovery: Shape = { id, status: oneOf('pending', 'done'), total: count, done: count }

const inContact = { contact: of(contact) }
const inList = { ...inContact, list: of(list) }
const inTag = { ...inContact, tag: of(tag) }
const inTopic = { ...inContact, topic: of(topic) }

/** The `data` of events that mailkeep raises. The host chooses that of the others. */
export const eventData: Partial<Record<EventType, Shape>> = {
  'contact.subscribed': inList,
  'contact.unsubscribed': inContact,
  'contact.resubscribed': inContact,
  'webhook.test': { message: text },
  'contact.created': inContact,
  'contact.updated': inContact,
  'contact.deleted': { contact: of({ id, uuid, email: text }) },
  'contact.list_removed': inList,
  'contact.tagged': inTag,
  'contact.untagged': inTag,
  'contact.topic_subscribed': inTopic,
  'contact.topic_unsubscribed': inTopic,
  'contact.confirmation_requested': { ...inList, confirm_url: /^http:.+\/confirm$/ },
}

/** The types of the contract and those beyond it. */
export const allEventTypes = [...new Set([...eventTypes, ...(Object.keys(eventData) as EventType[])])]

/** Fields of `data`, or of each record of a listing. Several shapes: the first whose fields a record has. */
type Answer = Shape | readonly Shape[]

const refused: Shape = { status: /^refused$/, errors: object }

/** Routes whose answer has no `data` are absent. */
const answers: readonly [Answer, ...string[]][] = [
  [tag, 'GET /tags', 'POST /tags', 'PATCH /tags/:'],
  [list, 'GET /lists', 'POST /lists', 'GET /lists/:', 'PATCH /lists/:'],
  [topic, 'GET /lists/:/topics', 'POST /lists/:/topics', 'PATCH /topics/:'],
  // Create, update and remove-from-list answer without topics, everything else with all fields.
  [contactWithoutTopics, 'POST /lists/:/contacts', 'PUT /contacts/:', 'DELETE /lists/:/contacts/:'],
  [contact, 'GET /contacts', 'POST /contacts', 'GET /contacts/:'],
  [contact, 'POST /contacts/:/unsubscribe', 'POST /contacts/:/resubscribe'],
  [contact, 'PUT /contacts/:/topics/:', 'DELETE /contacts/:/topics/:'],
  [contact, 'POST /contacts/:/email', 'POST /contacts/:/tags', 'DELETE /contacts/:/tags', 'POST /contacts/:/merge'],
  [[refused, { status: oneOf('created', 'updated', 'done'), id }], 'POST /contacts/batch'],
  [{ count }, 'GET /contacts/count', 'GET /newsletters/:/audience'],
  [links, 'POST /contacts/:/links'],
  [historyEntry, 'GET /contacts/:/history'],
  [suppression, 'GET /suppressions', 'POST /suppressions'],
  [importResult, 'POST /contacts/import', 'POST /lists/:/contacts/import'],
  [imported, 'GET /imports', 'GET /imports/:'],
  [segment, 'GET /segments', 'POST /segments', 'GET /segments/:', 'PATCH /segments/:'],
  [identity, 'GET /email-identities', 'POST /email-identities'],
  [identity, 'GET /email-identities/:', 'POST /email-identities/:/refresh'],
  [newsletterSummary, 'GET /newsletters'],
  [newsletter, 'POST /newsletters', 'GET /newsletters/:', 'PATCH /newsletters/:', 'POST /newsletters/:/send'],
  [newsletter, 'POST /newsletters/:/pause', 'POST /newsletters/:/resume', 'POST /newsletters/:/cancel'],
  [rendered, 'POST /newsletters/:/preview', 'POST /sequences/:/preview'],
  [{ email: text, status: oneOf('sent', 'failed'), error: orNull(text) }, 'POST /newsletters/:/test'],
  [message, 'GET /newsletters/:/messages', 'GET /sequences/:/messages', 'GET /contacts/:/messages'],
  [sequenceSummary, 'GET /sequences'],
  [sequence, 'POST /sequences', 'GET /sequences/:', 'PATCH /sequences/:', 'PUT /sequences/:/steps'],
  [sequence, 'POST /sequences/:/resume'],
  [enrolment, 'GET /sequences/:/enrolments', 'POST /sequences/:/enrolments'],
  [{ indexed: each(text) }, 'GET /settings/attributes', 'PUT /settings/attributes'],
  [pageSettings, 'GET /settings/pages', 'PUT /settings/pages'],
  [newToken, 'POST /tokens'],
  [token, 'GET /tokens'],
  [{ ...token, client_id: id }, 'GET /tokens/current'],
  [contactSeries, 'GET /stats/contacts'],
  [deliverySeries, 'GET /stats/deliveries'],
  [auditEntry, 'GET /audit-log'],
  [newEndpoint, 'POST /webhook-endpoints'],
  [{ ...endpoint, events: each(oneOf(...allEventTypes)) }, 'GET /webhook-endpoints', 'GET /webhook-endpoints/:'],
  [changedEndpoint, 'PATCH /webhook-endpoints/:'],
  [newSecret, 'POST /webhook-endpoints/:/secret'],
  [queuedTest, 'POST /webhook-endpoints/:/test'],
  [delivery, 'GET /webhook-endpoints/:/deliveries', 'POST /webhook-endpoints/:/deliveries/:/redeliver'],
  [wholeDelivery, 'GET /webhook-endpoints/:/deliveries/:'],
  [endpointDelivery, 'GET /deliveries'],
  [recovery, 'POST /webhook-endpoints/:/recover', 'GET /webhook-endpoints/:/recoveries/:'],
  [{ type: text }, 'POST /events'],
  [[refused, { status: /^raised$/ }], 'POST /events/batch'],
]

const answersByRoute = new Map(answers.flatMap(([answer, ...all]) => all.map((route) => [route, answer] as const)))

/** Returns the fields of a record that this route answered; undefined where the answer has no `data` or is a document. */
export function shapeOf(route: string, record: object): Shape | undefined {
  const shapes = [answersByRoute.get(route) ?? []].flat()
  return shapes.find((shape) => Object.keys(shape).every((name) => name in record)) ?? shapes[0]
}
