import { type Contact, type EventType, eventTypes, type List } from '../../../lib/index.ts'
import { eventExample } from './examples.ts'
import type { Operation, Parameter } from './operation.ts'
import { arrayOf, record, ref, type Schema, text, utc, uuid } from './schema.ts'

/** What stands in `data`, and when the event is raised. */
interface EventDoc {
  readonly when: string
  readonly data: Schema
}

const truncated: Schema = {
  ...arrayOf({ type: 'string', enum: ['extra_attributes', 'tags', 'lists', 'topics'] }),
  description: 'Fields of the contact left empty, as the body would be too large: fetch the contact for them.',
}

function aboutContact(schema: Schema): Schema {
  return { ...schema, properties: { ...schema.properties, truncated } }
}

const contact = aboutContact(record<{ contact: Contact }>({ contact: ref('Contact') }, 'As it is after the change.'))
const contactAndList = aboutContact(
  record<{ contact: Contact; list: List }>({ contact: ref('Contact'), list: ref('List') }, 'As after the change.'),
)
const given: Schema = { type: 'object', description: 'What the host gave.' }

const events: Readonly<Record<EventType, EventDoc>> = {
  'contact.subscribed': {
    when: 'A contact has joined a list it was not on, and is not unsubscribed.',
    data: contactAndList,
  },
  'contact.unsubscribed': { when: 'A subscribed contact has been unsubscribed.', data: contact },
  'contact.resubscribed': { when: 'An unsubscribed contact has been subscribed again.', data: contact },
  'newsletter.sent': { when: 'The host says so.', data: given },
  'sequence_step.sent': { when: 'The host says so.', data: given },
  'sequence.completed': { when: 'The host says so.', data: given },
  'webhook.test': { when: 'A test has been asked for.', data: record<{ message: string }>({ message: text }) },
}

/** `contact.subscribed` is a `ContactSubscribedEvent`. */
export function eventSchemaName(type: EventType): string {
  return `${type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`
}

/** The bodies of all events. */
export const eventSchemas: Readonly<Record<string, Schema>> = Object.fromEntries(
  eventTypes.map((type) => [
    eventSchemaName(type),
    record<{ id: string; type: EventType; created_at: string; data: object }>({
      id: { ...uuid, description: 'The event’s; the same for all endpoints.' },
      type: { type: 'string', const: type },
      created_at: utc,
      data: events[type].data,
    }),
  ]),
)

/** The webhooks: contract 6, and the headers of Standard Webhooks beside it. */
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
      '2XX': { description: 'Taken.' },
      '410': { description: 'Never again: the delivery has failed, and the endpoint is switched off at once.' },
      '429': { description: 'Tried again, not before `Retry-After` says (up to 24 hours).' },
      '503': { description: 'Tried again, not before `Retry-After` says (up to 24 hours).' },
      default: { description: 'A failure, redirects too: tried again on the schedule.' },
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
    header('X-Service-Timestamp', 'Unix seconds of the attempt; refuse what is more than five minutes off.', seconds),
    header('X-Service-Event', 'The event’s type.', { type: 'string', const: type }),
    header('X-Service-Delivery', 'The delivery’s UUID, the same over retries: drop repeats by it.', uuid),
    header('webhook-id', 'Standard Webhooks: the delivery’s UUID.', { type: 'string', pattern: `^${uuidText}$` }),
    header('webhook-timestamp', 'Standard Webhooks: Unix seconds.', seconds),
    header('webhook-signature', 'Standard Webhooks: `v1,` and base64 over `id.timestamp.body`.', {
      type: 'string',
      pattern: '^v1,[A-Za-z0-9+/]{43}=$',
    }),
    header('User-Agent', 'The product and its version.', { type: 'string', pattern: '^mailkeep/' }),
  ]
}

function header(name: string, description: string, schema: Schema): Parameter {
  return { name, in: 'header', required: true, description, schema }
}
