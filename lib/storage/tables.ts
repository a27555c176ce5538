import type { Generated } from 'kysely'

/** A boolean as the database has it: SQLite knows only 0 and 1. */
export type StoredBoolean = boolean

interface Owned {
  id: Generated<number>
  client_id: number
  uuid: string
  created_at: string
}

/** What the tables hold; each carries its client. Moments are text on SQLite, as `timestamp()` renders them. */
export interface Tables {
  mailkeep_client: { id: Generated<number>; uuid: string; name: string; created_at: string; deleted_at: string | null }
  mailkeep_token: {
    id: Generated<number>
    client_id: number
    /** Hex SHA-256: the token itself is stored nowhere. */
    hash: string
    /** For people, to tell tokens apart. */
    name: string | null
    role: 'admin' | 'member'
    created_at: string
    expires_at: string | null
    last_used_at: string | null
    revoked_at: string | null
  }
  mailkeep_tag: Owned & { name: string /** folded */; name_key: string }
  mailkeep_list: Owned & { name: string }
  mailkeep_topic: Owned & { list_id: number; name: string; description: string | null }
  mailkeep_contact: Owned & {
    email: string
    /** folded */
    email_key: string
    name: string
    /** JSON object of strings */
    attributes: string
    /** folded name and e-mail, what searches look at */
    search: string
    unsubscribed_at: string | null
    unsubscribed_by_contact: StoredBoolean
  }
  mailkeep_contact_tag: { client_id: number; contact_id: number; tag_id: number }
  mailkeep_contact_list: { client_id: number; contact_id: number; list_id: number }
  mailkeep_contact_topic: { client_id: number; contact_id: number; topic_id: number }
  mailkeep_identity: Owned & {
    email: string
    email_key: string
    name: string
    domain: string
    identity_status: 'pending' | 'verifying' | 'verified' | 'failed'
    verified_at: string | null
    updated_at: string
  }
  mailkeep_endpoint: Omit<Owned, 'client_id'> & {
    /** null: a handler of the host, which gets the events of all clients. */
    client_id: number | null
    /** `http`: deliveries are requests to `url`. `handler`: they are calls of a function in the host's process. */
    kind: 'http' | 'handler'
    /** The name of a handler. */
    subscriber: string | null
    url: string
    description: string
    /** JSON array of event types */
    events: string
    active: StoredBoolean
    disabled_reason: 'manual' | 'auto_failures' | null
    consecutive_failures: number
    /** Of the failures counted, the first. */
    first_failure_at: string | null
    last_triggered_at: string | null
    /** Sealed: see webhooks/seal. */
    secret: string
  }
  mailkeep_event: Owned & {
    type: string
    /** Whose personal data the body holds. */
    contact_id: number | null
    /** The JSON that is sent, to the byte. */
    body: string
  }
  mailkeep_delivery: Owned & {
    endpoint_id: number
    /** As its endpoint has it. */
    kind: 'http' | 'handler'
    event_id: number
    event_type: string
    status: 'pending' | 'success' | 'failed' | 'held'
    attempts: number
    /** Attempts of earlier rounds: a redelivery starts the schedule again. */
    attempts_before: Generated<number>
    /** When the next attempt is due; the last one was, when there is none. */
    due_at: string
    /** When `due_at` was computed; null unless pending. In the future: the clock was set back since. */
    scheduled_at: string | null
    /** Identifies the claim of the attempt under way; null when there is none. */
    claim: string | null
    claimed_at: string | null
    /** When the claim ends if its process dies; null when there is no claim. */
    lease_until: string | null
    /** When it succeeded, failed or was held; null while pending. */
    ended_at: string | null
    response_status: number | null
    /** Why the last attempt failed, or why there was none. */
    error: string | null
    delivered_at: string | null
  }
  mailkeep_attempt: {
    delivery_id: number
    number: number
    client_id: number
    started_at: string
    /** null: it was interrupted */
    duration_ms: number | null
    response_status: number | null
    error: string | null
    /** The first 4 KiB of the answer. */
    response_body: string | null
  }
  mailkeep_test_delivery: { id: Generated<number>; client_id: number; created_at: string }
  /** The first answers of requests with an idempotency key. */
  mailkeep_kept_answer: {
    id: Generated<number>
    client_id: number
    /** Hex SHA-256 of the key: what a caller put into it is nobody's to read. */
    key_hash: string
    /** Sealed: see idempotency/operations. */
    answer: string
    created_at: string
  }
  /** Whose personal data an answer holds. */
  mailkeep_kept_answer_contact: { contact_id: number; answer_id: number }
  /** Work too large for one transaction, done in chunks. */
  mailkeep_job: {
    id: Generated<number>
    client_id: number
    kind: string
    /** The record that is being cleared, or worked upon. */
    target_id: number
    /** JSON: what has been done. */
    state: string
    created_at: string
  }
  mailkeep_setting: { name: string; value: string }
  mailkeep_migration: { name: string; applied_at: string }
}
