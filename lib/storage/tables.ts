import type { Generated } from 'kysely'
import type { Role } from '../clients/schema.ts'
import type { HistoryType, SuppressionReason } from '../consent/schema.ts'
import type { ContactTexts } from '../contacts/schema.ts'
import type { Source } from '../context.ts'
import type { IdentityStatus } from '../identities/schema.ts'
import type { Import } from '../imports/schema.ts'
import type { DeliveryStatus, Endpoint, EndpointKind } from '../webhooks/schema.ts'
import type { SendingTables } from './sending-tables.ts'

/** A stored boolean. SQLite stores 0 and 1. */
export type StoredBoolean = boolean

export interface Owned {
  id: Generated<number>
  client_id: number
  uuid: string
  created_at: string
}

/** The columns of the tables. SQLite stores times as text in the format of `timestamp()`. */
export interface Tables extends SendingTables {
  mailkeep_client: { id: Generated<number>; uuid: string; name: string; created_at: string; deleted_at: string | null }
  mailkeep_token: {
    id: Generated<number>
    client_id: number
    /** Hex SHA-256 of the token. The token itself is not stored. */
    hash: string
    /** Label that helps people to distinguish tokens. */
    name: string | null
    role: Role
    created_at: string
    expires_at: string | null
    last_used_at: string | null
    revoked_at: string | null
  }
  mailkeep_tag: Owned & { name: string /** folded */; name_key: string }
  mailkeep_list: Owned & { name: string; double_opt_in: Generated<StoredBoolean> }
  mailkeep_topic: Owned & { list_id: number; name: string; description: string | null }
  mailkeep_contact: Owned & { -readonly [Name in keyof ContactTexts]: string } & {
    email: string
    /** folded */
    email_key: string
    /** JSON object of strings */
    attributes: string
    /** folded name and e-mail, which searches read */
    search: string
    unsubscribed_at: string | null
    unsubscribed_by_contact: StoredBoolean
  }
  mailkeep_contact_tag: { client_id: number; contact_id: number; tag_id: number }
  mailkeep_contact_list: { client_id: number; contact_id: number; list_id: number }
  mailkeep_contact_topic: { client_id: number; contact_id: number; topic_id: number }
  /** The attributes by which a client's contacts can be filtered. */
  mailkeep_indexed_attribute: {
    id: Generated<number>
    client_id: number
    name: string
    /** Whether the values of all stored contacts are in the index. */
    ready: StoredBoolean
  }
  /** The index: contacts by the values of these attributes. */
  mailkeep_contact_attribute: { contact_id: number; attribute_id: number; value_key: string }
  mailkeep_segment: Owned & { name: string /** JSON */; filters: string }
  mailkeep_identity: Owned & {
    email: string
    email_key: string
    name: string
    domain: string
    identity_status: IdentityStatus
    verified_at: string | null
    updated_at: string
  }
  mailkeep_endpoint: Omit<Owned, 'client_id'> & {
    /** null for a handler, which gets the events of all clients. */
    client_id: number | null
    /** `http`: deliveries are requests to `url`. `handler`: they are calls of a function in the host's process. */
    kind: EndpointKind
    /** Name of the handler; null for `http`. */
    subscriber: string | null
    url: string
    description: string
    /** JSON array of event types */
    events: string
    active: StoredBoolean
    disabled_reason: Endpoint['disabled_reason']
    consecutive_failures: number
    /** Time of the first of the consecutive failures. */
    first_failure_at: string | null
    last_triggered_at: string | null
    /** Encrypted: see lib/sealing. */
    secret: string
    /** The secret before the last rotation, which also signs until `previous_secret_until`. Encrypted. */
    previous_secret: string | null
    previous_secret_until: string | null
  }
  mailkeep_event: Owned & {
    type: string
    /** The contact whose personal data is in the body. */
    contact_id: number | null
    /** Text of the contact, when many events of a change share it. The body then has `"contact":{}`. */
    shared_contact_id: number | null
    /** The exact JSON text that is sent. Empty once it is erased. */
    body: string
  }
  mailkeep_shared_contact: {
    id: Generated<number>
    /** The contact as JSON. */
    document: string
  }
  mailkeep_delivery: Owned & {
    endpoint_id: number
    /** Copy of the endpoint's `kind`. */
    kind: EndpointKind
    event_id: number
    event_type: string
    status: DeliveryStatus
    attempts: number
    /** Attempts before the last redelivery, which restarted the retry schedule. */
    attempts_before: Generated<number>
    /** Time of the next attempt; if none follows, the due time of the last one. */
    due_at: string
    /** Time at which `due_at` was computed; null unless pending. If it is in the future, the clock was set back. */
    scheduled_at: string | null
    /** Identifies the claim of the current attempt; null when no attempt is running. */
    claim: string | null
    claimed_at: string | null
    /** Time at which the claim expires if its process dies; null when there is no claim. */
    lease_until: string | null
    /** Time at which the delivery succeeded, failed or was held; null while pending. */
    ended_at: string | null
    response_status: number | null
    /** Reason why the last attempt failed, or why there was no attempt. */
    error: string | null
    delivered_at: string | null
  }
  mailkeep_attempt: {
    delivery_id: number
    number: number
    client_id: number
    started_at: string
    /** null for an interrupted attempt */
    duration_ms: number | null
    response_status: number | null
    error: string | null
    /** First 4 KiB of the response. */
    response_body: string | null
  }
  mailkeep_test_delivery: { id: Generated<number>; client_id: number; created_at: string }
  /** Stored results of requests with an idempotency key. */
  mailkeep_kept_answer: {
    id: Generated<number>
    client_id: number
    /** Hex SHA-256 of the key, because a caller may put personal data into the key. */
    key_hash: string
    /** Encrypted: see lib/sealing. */
    answer: string
    created_at: string
  }
  /** The contacts whose personal data is in a stored result. */
  mailkeep_kept_answer_contact: { contact_id: number; answer_id: number }
  /** Background jobs: work too large for one transaction, done in batches. */
  mailkeep_job: {
    id: Generated<number>
    client_id: number
    kind: string
    /** The record whose rows the job deletes or changes. */
    target_id: number
    /** JSON: parameters and progress. */
    state: string
    status: Generated<'pending' | 'done'>
    /** Time at which its next batch was queued. */
    created_at: string
    /** Time at which the next batch is due. Equal to `created_at` if there is no delay. */
    run_at: string
    /** null while pending */
    finished_at: string | null
    /** Number of batches in a row that failed. */
    failures: Generated<number>
  }
  /**
   * How many attempts ended in a minute, hour or day; `endpoint_id` 0 counts those to all endpoints of the client.
   * `recent`: in a minute of one endpoint, not yet added to the others.
   */
  mailkeep_delivery_count: {
    client_id: number
    endpoint_id: number
    step: 'minute' | 'hour' | 'day' | 'recent'
    at: string
    delivered: number
    retried: number
    failed: number
    // Delivered ones by the time since the event.
    ms_10: number
    ms_50: number
    ms_200: number
    s_1: number
    s_5: number
    s_30: number
    min_5: number
    longer: number
  }
  /** Who changed what: see lib/audit. */
  mailkeep_audit: {
    id: Generated<number>
    client_id: number
    /** null for a change without a token: by the host or on the command line. */
    token_id: number | null
    source: Source
    type: string
    /** The record that was changed. The type says which kind. */
    target_id: number
    created_at: string
  }
  /** The progress of imports: see lib/imports. */
  mailkeep_import: {
    id: Generated<number>
    client_id: number
    /** null if the file names the lists */
    list_id: number | null
    dry_run: StoredBoolean
    status: Import['status']
    row_count: Generated<number>
    created: Generated<number>
    updated: Generated<number>
    skipped: Generated<number>
    refused: Generated<number>
    /** Code of the error that ended it. */
    error: string | null
    started_at: string
    /** Time of the last update. If it is long ago, the process has died. */
    seen_at: string
    finished_at: string | null
  }
  /** The history of the memberships of a contact: see lib/consent. */
  mailkeep_contact_history: {
    id: Generated<number>
    contact_id: number
    type: HistoryType
    source: Source
    list_id: number | null
    topic_id: number | null
    token_id: number | null
    ip: string | null
    user_agent: string | null
    created_at: string
  }
  /** Memberships that begin when the contact confirms them. */
  mailkeep_pending_membership: { contact_id: number; list_id: number; requested_at: string }
  /** When contacts were created or unsubscribed that show it no more: see lib/contacts/past-changes. */
  mailkeep_past_change: { id: Generated<number>; client_id: number; type: 'created' | 'unsubscribed'; at: string }
  /** Contacts that were merged into others: the other one, which has their links now. */
  mailkeep_merged_contact: { contact_id: number; client_id: number; uuid: string; into_id: number }
  /** Addresses that must not be mailed. */
  mailkeep_suppression: {
    id: Generated<number>
    client_id: number
    /** Keyed hash of the address: see lib/consent/address-hash. */
    email_hash: string
    /** null for an erased address. */
    email: string | null
    /** See `foldAddress`; null for an erased address. */
    email_key: string | null
    reason: SuppressionReason
    created_at: string
  }
  /** How a client's pages for contacts look. `settings` is JSON. */
  mailkeep_page_settings: { client_id: number; settings: string }
  mailkeep_setting: { name: string; value: string }
  mailkeep_migration: { name: string; applied_at: string }
}
