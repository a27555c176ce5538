/**
 * For receivers: verifies that a request is a delivery from mailkeep, and returns its typed event. At run time it
 * imports only modules of Node and the JSON parser, so that receivers can use it without the rest of mailkeep.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { TextDecoder } from 'node:util'
import type { Contact } from '../contacts/schema.ts'
import { readJson } from '../json.ts'
import type { List } from '../lists/schema.ts'
import type { Tag } from '../tags/schema.ts'
import type { Topic } from '../topics/schema.ts'

export type { Contact } from '../contacts/schema.ts'
export type { List } from '../lists/schema.ts'
export type { Tag } from '../tags/schema.ts'
export type { Topic } from '../topics/schema.ts'

/** The contact after the change. */
export interface ContactData {
  contact: Contact
  /** Contact fields that were left empty because the body would exceed 64 KiB. Fetch the contact to read them. */
  truncated?: string[]
}

/** The fields of every event. */
export interface EventEnvelope<Type extends string, Data> {
  /** The event's UUID, the same for all endpoints. `X-Service-Delivery` is the same in each retry. */
  id: string
  type: Type
  created_at: string
  data: Data
}

export type ContactSubscribedEvent = EventEnvelope<'contact.subscribed', ContactData & { list: List }>
export type ContactUnsubscribedEvent = EventEnvelope<'contact.unsubscribed', ContactData>
export type ContactResubscribedEvent = EventEnvelope<'contact.resubscribed', ContactData>
/**
 * Of a newsletter that mailkeep sent, `data` is `{ newsletter, counts }`. A host that raises this or one of the next two
 * types for mail of its own chooses their `data`.
 */
export type NewsletterSentEvent = EventEnvelope<'newsletter.sent', Record<string, unknown>>
/** Of mailkeep's own mail, `data` is `{ contact, sequence, step, message_id }`. */
export type SequenceStepSentEvent = EventEnvelope<'sequence_step.sent', Record<string, unknown>>
/** Of mailkeep's own mail, `data` is `{ contact, sequence }`. */
export type SequenceCompletedEvent = EventEnvelope<'sequence.completed', Record<string, unknown>>
export type WebhookTestEvent = EventEnvelope<'webhook.test', { message: string }>
export type ContactCreatedEvent = EventEnvelope<'contact.created', ContactData>
/** The name, the e-mail address or an attribute changed, or another contact was merged into this one. */
export type ContactUpdatedEvent = EventEnvelope<'contact.updated', ContactData>
/** What identifies the contact, as it was. An erasure leaves no more. */
export type ContactDeletedEvent = EventEnvelope<'contact.deleted', { contact: Pick<Contact, 'id' | 'uuid' | 'email'> }>
export type ContactListRemovedEvent = EventEnvelope<'contact.list_removed', ContactData & { list: List }>
export type ContactTaggedEvent = EventEnvelope<'contact.tagged', ContactData & { tag: Tag }>
export type ContactUntaggedEvent = EventEnvelope<'contact.untagged', ContactData & { tag: Tag }>
export type ContactTopicSubscribedEvent = EventEnvelope<'contact.topic_subscribed', ContactData & { topic: Topic }>
export type ContactConfirmationRequestedEvent = EventEnvelope<
  'contact.confirmation_requested',
  ContactData & { list: List; confirm_url: string }
>
export type ContactTopicUnsubscribedEvent = EventEnvelope<'contact.topic_unsubscribed', ContactData & { topic: Topic }>

/** All events. Switch on `type`, and ignore unknown types: later versions may add some. */
export type WebhookEvent =
  | ContactSubscribedEvent
  | ContactUnsubscribedEvent
  | ContactResubscribedEvent
  | NewsletterSentEvent
  | SequenceStepSentEvent
  | SequenceCompletedEvent
  | WebhookTestEvent
  | ContactCreatedEvent
  | ContactUpdatedEvent
  | ContactDeletedEvent
  | ContactListRemovedEvent
  | ContactTaggedEvent
  | ContactUntaggedEvent
  | ContactTopicSubscribedEvent
  | ContactTopicUnsubscribedEvent
  | ContactConfirmationRequestedEvent

/** Node's `request.headers`, any record with names in any letter case, or a Web `Headers`. */
export type DeliveryHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null }

export interface VerifyOptions {
  /** The time in milliseconds since 1970; default `Date.now`. */
  readonly now?: (() => number) | undefined
  /** Maximum difference between the delivery's timestamp and now, inclusive, before or after; default 300. */
  readonly toleranceSeconds?: number | undefined
}

export type DeliveryErrorCode = 'missing_header' | 'bad_timestamp' | 'stale_timestamp' | 'bad_signature' | 'bad_body'

/** The request is not a delivery from mailkeep, or it is too old. Answer 400 and do nothing. */
export class DeliveryVerificationError extends Error {
  override readonly name = 'DeliveryVerificationError'
  readonly code: DeliveryErrorCode

  constructor(code: DeliveryErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Verifies a delivery's signature and time. `X-Service-Signature` is `sha256=` and the hex HMAC-SHA256 over
 * "timestamp.body", keyed with the secret. `X-Service-Timestamp` is Unix seconds.
 *
 * @param rawBody The body as received, before any parsing. A parsed and re-serialised body may differ.
 * @param secret The endpoint's secret as shown (`whsec_…`). Pass several during a rotation: one must match. Empty
 *   strings never match.
 * @returns The event. Delivery is at least once: drop repeats by `X-Service-Delivery`.
 * @throws DeliveryVerificationError Its `code` is the reason.
 * @throws TypeError There are no headers, the body was parsed before, or the secret is not a string: a mistake of the
 *   receiver's code.
 */
export function verifyDelivery(
  headers: DeliveryHeaders,
  rawBody: string | Uint8Array,
  secret: string | readonly string[],
  { now = Date.now, toleranceSeconds = 300 }: VerifyOptions = {},
): WebhookEvent {
  const secrets = typeof secret === 'string' ? [secret] : secret
  requireTypes(headers, rawBody, secrets)
  const signature = getHeader(headers, 'x-service-signature')
  const timestamp = getHeader(headers, 'x-service-timestamp')
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new DeliveryVerificationError('bad_timestamp', 'X-Service-Timestamp is not in Unix seconds.')
  }
  const age = Math.floor(now() / 1000) - Number(timestamp)
  if (!(Math.abs(age) <= toleranceSeconds)) {
    throw new DeliveryVerificationError('stale_timestamp', `The delivery was signed ${age} s ago.`)
  }
  if (!secrets.some((one) => one !== '' && matches(signature, one, timestamp, rawBody))) {
    throw new DeliveryVerificationError('bad_signature', 'X-Service-Signature does not fit the body and the secret.')
  }
  return parseEvent(rawBody)
}

function requireTypes(headers: unknown, rawBody: unknown, secrets: unknown): void {
  if (typeof headers !== 'object' || headers === null) {
    throw new TypeError("headers must be the request's headers, as an object or a Web Headers.")
  }
  if (typeof rawBody !== 'string' && !ArrayBuffer.isView(rawBody)) {
    throw new TypeError('rawBody must be the body as received, as a string or bytes: read it before a parser does.')
  }
  if (!Array.isArray(secrets) || !secrets.every((one) => typeof one === 'string')) {
    throw new TypeError('secret must be the secret of the endpoint, or an array of secrets.')
  }
}

function getHeader(headers: DeliveryHeaders, name: string): string {
  const value =
    typeof headers.get === 'function'
      ? headers.get(name)
      : Object.entries(headers).find(([key, one]) => key.toLowerCase() === name && one !== undefined)?.[1]
  // A repeated header is joined, as Node and Web Headers do. The joined value never verifies.
  const text = typeof value === 'string' ? value : value?.join(', ')
  if (!text) throw new DeliveryVerificationError('missing_header', `The header ${name} is missing.`)
  return text
}

function matches(signature: string, secret: string, timestamp: string, rawBody: string | Uint8Array): boolean {
  const expected = Buffer.from(
    `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest('hex')}`,
  )
  const given = Buffer.from(signature)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function parseEvent(rawBody: string | Uint8Array): WebhookEvent {
  try {
    const text = typeof rawBody === 'string' ? rawBody : new TextDecoder('utf-8', { fatal: true }).decode(rawBody)
    const event = readJson(text)
    const named = [event.id, event.type, event.created_at].every((field) => typeof field === 'string')
    if (named && typeof event.data === 'object' && event.data !== null) return event
  } catch {
    // Not UTF-8, not JSON, or null. The error is thrown below.
  }
  throw new DeliveryVerificationError('bad_body', 'The body is not an event.')
}
