import { type Contact, type EventType, eventTypes, type List, type Tag, type Topic } from '../../../lib/index.ts'
import { eventExample } from './examples.ts'
import { email } from './fields.ts'
import {
  anyFields,
  arrayOf,
  id,
  type Operation,
  type Parameter,
  record,
  ref,
  type Schema,
  text,
  utc,
  uuid,
} from './schema.ts'

/** Documentation of an event. */
interface EventDoc {
  /** When the event is raised. */
  readonly when: string
  readonly data: Schema
}

const truncated: Schema = {
  ...arrayOf({ type: 'string', enum: ['extra_attributes', 'tags', 'lists', 'topics'] }),
  description:
    'Fields of the contact that are empty because the body would be too large. Fetch the contact to get them.',
}

function aboutContact(schema: Schema): Schema {
  return { ...schema, properties: { ...schema.properties, truncated } }
}

const contact = aboutContact(record<{ contact: Contact }>({ contact: ref('Contact') }, 'The contact after the change.'))
const contactAndList = aboutContact(
  record<{ contact: Contact; list: List }>(
    { contact: ref('Contact'), list: ref('List') },
    'The contact and the list after the change.',
  ),
)
const contactAndTag = aboutContact(
  record<{ contact: Contact; tag: Tag }>(
    { contact: ref('Contact'), tag: ref('Tag') },
    'The contact after the change, and the tag.',
  ),
)
const contactAndTopic = aboutContact(
  record<{ contact: Contact; topic: Topic }>(
    { contact: ref('Contact'), topic: ref('Topic') },
    'The contact after the change, and the topic.',
  ),
)
const deletedContact = record<{ contact: Pick<Contact, 'id' | 'uuid' | 'email'> }>(
  { contact: record<Pick<Contact, 'id' | 'uuid' | 'email'>>({ id, uuid, email }) },
  'What identifies the contact, as it was.',
)
/** @param own The data of the events that mailkeep raises for its own mail. */
function ownOrGiven(own: string): Schema {
  const description = `${own} An event of a host has the data that the caller of \`POST /events\` sent.`
  return { ...anyFields, description }
}

const events: Readonly<Record<EventType, EventDoc>> = {
  'contact.subscribed': {
    when: 'A contact that is not unsubscribed was added to a list.',
    data: contactAndList,
  },
  'contact.unsubscribed': { when: 'A subscribed contact was unsubscribed.', data: contact },
  'contact.resubscribed': { when: 'An unsubscribed contact was subscribed again.', data: contact },
  'newsletter.sent': {
    when: 'Every message of a newsletter is final, or the host app reported that it sent one.',
    data: ownOrGiven('`newsletter`, and `counts` of its messages.'),
  },
  'sequence_step.sent': {
    when: 'The mail of a step of a sequence was sent, or the host app reported that it sent one.',
    data: ownOrGiven('`contact`, `sequence`, `step` and `message_id`.'),
  },
  'sequence.completed': {
    when: 'The last step of a contact in a sequence is final, or the host app reported that.',
    data: ownOrGiven('`contact` and `sequence`.'),
  },
  'webhook.test': { when: 'A test delivery was requested.', data: record<{ message: string }>({ message: text }) },
  'contact.created': { when: 'A contact was created.', data: contact },
  'contact.updated': {
    when: 'The name, the e-mail address or an attribute of a contact changed, or another contact was merged into it.',
    data: contact,
  },
  'contact.deleted': { when: 'A contact was erased, or merged into another one.', data: deletedContact },
  'contact.list_removed': { when: 'A contact was removed from a list.', data: contactAndList },
  'contact.tagged': { when: 'A contact got a tag.', data: contactAndTag },
  'contact.untagged': { when: 'A contact lost a tag.', data: contactAndTag },
  'contact.topic_subscribed': { when: 'A contact was subscribed to a topic.', data: contactAndTopic },
  'contact.confirmation_requested': {
    when: 'A contact was asked to confirm that it joins a list with double opt-in.',
    data: aboutContact(
      record<{ contact: Contact; list: List; confirm_url: string }>({
        contact: ref('Contact'),
        list: ref('List'),
        confirm_url: { ...text, format: 'uri', description: 'The page to confirm. Works for 30 days.' },
      }),
    ),
  },
  'contact.topic_unsubscribed': { when: 'A contact was unsubscribed from a topic.', data: contactAndTopic },
}

/** Returns the schema's name: `ContactSubscribedEvent` for `contact.subscribed`. */
export function eventSchemaName(type: EventType): string {
  return `${type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`
}

/** Schemas of the bodies of all events. */
export const eventSchemas: Readonly<Record<string, Schema>> = Object.fromEntries(
  eventTypes.map((type) => [
    eventSchemaName(type),
    record<{ id: string; type: EventType; created_at: string; data: object }>({
      id: { ...uuid, description: 'Id of the event, the same for all endpoints.' },
      type: { type: 'string', const: type },
      created_at: utc,
      data: events[type].data,
    }),
  ]),
)

/** Describes the deliveries, with the `X-Service-…` headers and those of Standard Webhooks (lib/webhooks/README.md). */
export function webhooks(): Record<string, { post: Operation }> {
  return Object.fromEntries(eventTypes.map((type) => [type, { post: delivery(type) }]))
}

function delivery(type: EventType): Operation {
  return {
    operationId: `receive${eventSchemaName(type).replace(/Event$/, '')}`,
    summary: events[type].when,
    tags: ['Deliveries'],
    security: [],
    parameters: deliveryHeaders(type),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: ref(eventSchemaName(type)), example: eventExample(type) } },
    },
    responses: {
      '2XX': { description: 'Accepted.' },
      '410': { description: 'The delivery fails without a retry, and the endpoint is switched off.' },
      '429': { description: 'Retried, not before the time in `Retry-After` (up to 24 hours).' },
      '503': { description: 'Retried, not before the time in `Retry-After` (up to 24 hours).' },
      default: { description: 'A failure, also for redirects. Retried on the schedule.' },
    },
  }
}

function deliveryHeaders(type: EventType): Parameter[] {
  const uuidText = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
  const seconds = { type: 'string', pattern: String.raw`^\d+$` } as const
  return [
    header(
      'X-Service-Signature',
      `\`sha256=\` and the hex of HMAC-SHA256 over \`timestamp.body\`, keyed with the whole secret.`,
      {
        type: 'string',
        pattern: '^sha256=[0-9a-f]{64}$',
      },
    ),
    header(
      'X-Service-Timestamp',
      'Unix seconds of the attempt. Reject a time that differs by more than five minutes.',
      seconds,
    ),
    header('X-Service-Event', 'The event’s type.', { type: 'string', const: type }),
    header('X-Service-Delivery', 'The delivery’s UUID, the same for all retries. Use it to discard duplicates.', uuid),
    header('webhook-id', 'Standard Webhooks: the delivery’s UUID.', { type: 'string', pattern: `^${uuidText}$` }),
    header('webhook-timestamp', 'Standard Webhooks: Unix seconds.', seconds),
    header(
      'webhook-signature',
      'Standard Webhooks: `v1,` and base64 over `id.timestamp.body`. Two, separated by a space, while secrets overlap.',
      {
        type: 'string',
        pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$',
      },
    ),
    header('User-Agent', 'The product and its version.', { type: 'string', pattern: '^mailkeep/' }),
  ]
}

function header(name: string, description: string, schema: Schema): Parameter {
  return { name, in: 'header', required: true, description, schema }
}
