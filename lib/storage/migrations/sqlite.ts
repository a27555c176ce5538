import type { Migration } from '../migrate.ts'
import {
  contactPagesMigration,
  lastMigrations,
  mergedContactsMigration,
  recentCounts,
  sendingMigration,
  sequenceMessagesMigration,
  sqliteWords,
  statisticsMigration,
} from './both-databases.ts'

const id = 'id integer primary key autoincrement' // autoincrement: ids of deleted rows are never reused
const client = 'client_id integer not null references mailkeep_client (id)'
// No foreign key to the client. There are millions of these rows, and their endpoint already implies the client.
const raised = `${id}, client_id integer not null, uuid text not null, created_at text not null`
const record = `${id}, ${client}, uuid text not null, created_at text not null`

/**
 * The join tables have no foreign key to the tag, list or topic. Such a record is deleted immediately, and its join
 * rows, perhaps a million, are deleted later in batches. Every query joins through the record, which hides the
 * remaining rows. The same applies to an endpoint and its deliveries.
 */
const start: Migration = {
  name: '001-start',
  statements: [
    `create table mailkeep_client (${id}, uuid text not null, name text not null, created_at text not null, deleted_at text) strict`,
    `create table mailkeep_token (${id}, ${client}, hash text not null unique, role text not null,
      created_at text not null, expires_at text, last_used_at text, revoked_at text) strict`,
    'create index mailkeep_token_client on mailkeep_token (client_id)',

    `create table mailkeep_tag (${record}, name text not null, name_key text not null, unique (client_id, name_key)) strict`,
    'create index mailkeep_tag_client on mailkeep_tag (client_id)',
    `create table mailkeep_list (${record}, name text not null) strict`,
    'create index mailkeep_list_client on mailkeep_list (client_id)',
    `create table mailkeep_topic (${record}, list_id integer not null references mailkeep_list (id) on delete cascade,
      name text not null, description text) strict`,
    'create index mailkeep_topic_client on mailkeep_topic (client_id)',
    'create index mailkeep_topic_list on mailkeep_topic (list_id)',

    `create table mailkeep_contact (${record}, email text not null, email_key text not null, name text not null,
      attributes text not null, search text not null, unsubscribed_at text, unsubscribed_by_contact integer not null,
      unique (client_id, email_key)) strict`,
    // Each contact is in exactly one of the two indexes. A listing of all contacts merges them.
    'create index mailkeep_contact_subscribed on mailkeep_contact (client_id) where unsubscribed_at is null',
    'create index mailkeep_contact_unsubscribed on mailkeep_contact (client_id) where unsubscribed_at is not null',
    // All clients share one search index: see searchClientSpan. The texts are already folded.
    `create view mailkeep_contact_search as select client_id * ${2 ** 40} + id as id, search from mailkeep_contact`,
    `create virtual table mailkeep_search using fts5 (search, content = 'mailkeep_contact_search', content_rowid = 'id',
      tokenize = 'trigram case_sensitive 1', detail = full, columnsize = 0)`,
    // storage/sqlite/search-index merges segments in small batches, and storage/sqlite/search-purge removes erased
    // texts.
    `insert into mailkeep_search (mailkeep_search, rank) values ('automerge', 0), ('usermerge', 8)`,
    ...['tag', 'list', 'topic'].flatMap((other) => [
      `create table mailkeep_contact_${other} (client_id integer not null,
        contact_id integer not null references mailkeep_contact (id) on delete cascade,
        ${other}_id integer not null, primary key (contact_id, ${other}_id)) strict, without rowid`,
      `create index mailkeep_contact_${other}_${other} on mailkeep_contact_${other} (${other}_id, contact_id)`,
    ]),

    `create table mailkeep_identity (${record}, email text not null, email_key text not null, name text not null,
      domain text not null, identity_status text not null, verified_at text, updated_at text not null,
      unique (client_id, email_key)) strict`,
    'create index mailkeep_identity_client on mailkeep_identity (client_id)',
    'create index mailkeep_identity_status on mailkeep_identity (client_id, identity_status)',

    `create table mailkeep_endpoint (${id}, client_id integer references mailkeep_client (id), uuid text not null,
      created_at text not null, subscriber text unique, url text not null, description text not null, events text not null,
      active integer not null, disabled_reason text, consecutive_failures integer not null, first_failure_at text,
      last_triggered_at text, secret text not null) strict`,
    'create index mailkeep_endpoint_client on mailkeep_endpoint (client_id)',
    `create table mailkeep_event (${raised}, type text not null, contact_id integer, body text not null) strict`,
    'create index mailkeep_event_contact on mailkeep_event (contact_id) where contact_id is not null',
    `create table mailkeep_delivery (${raised}, endpoint_id integer not null,
      event_id integer not null references mailkeep_event (id), event_type text not null, status text not null,
      attempts integer not null, attempts_before integer not null default 0, retry integer not null,
      due_at text not null, claim text, response_status integer, error text, delivered_at text) strict`,
    'create index mailkeep_delivery_endpoint on mailkeep_delivery (endpoint_id)',
    `create index mailkeep_delivery_subscriber on mailkeep_delivery (client_id) where endpoint_id < 0`,
    'create index mailkeep_delivery_event on mailkeep_delivery (event_id)',
    `create index mailkeep_delivery_due on mailkeep_delivery (retry, endpoint_id, due_at) where status = 'pending'`,
    `create index mailkeep_delivery_recoverable on mailkeep_delivery (endpoint_id, due_at)
      where status in ('failed', 'held')`,
    `create table mailkeep_attempt (delivery_id integer not null references mailkeep_delivery (id) on delete cascade,
      number integer not null, client_id integer not null, started_at text not null, duration_ms integer,
      response_status integer, error text, response_body text, primary key (delivery_id, number)) strict, without rowid`,
    `create table mailkeep_test_delivery (${id}, ${client}, created_at text not null) strict`,
    'create index mailkeep_test_delivery_client on mailkeep_test_delivery (client_id, created_at)',

    `create table mailkeep_job (${id}, client_id integer not null, kind text not null, target_id integer not null, state text not null,
      created_at text not null) strict`,
    'create index mailkeep_job_client on mailkeep_job (client_id)',
    'create table mailkeep_setting (name text primary key, value text not null) strict, without rowid',
  ],
}

/** Stored results of idempotency keys: see lib/idempotency. */
const keptAnswers: Migration = {
  name: '002-kept-answers',
  statements: [
    `create table mailkeep_kept_answer (${id}, ${client}, key_hash text not null, answer text not null,
      created_at text not null, unique (client_id, key_hash)) strict`,
    // No foreign key to the contact: after its deletion, these rows lead to the results, which are deleted in batches.
    `create table mailkeep_kept_answer_contact (contact_id integer not null,
      answer_id integer not null references mailkeep_kept_answer (id) on delete cascade,
      primary key (contact_id, answer_id)) strict, without rowid`,
    'create index mailkeep_kept_answer_contact_answer on mailkeep_kept_answer_contact (answer_id)',
  ],
}

/** Labels that help people to distinguish tokens. */
const tokenNames: Migration = {
  name: '003-token-names',
  statements: ['alter table mailkeep_token add column name text'],
}

/** The last assigned id. Handlers, which had negative ids, get the ids after it. */
const lastEndpointId = `(select coalesce(max(seq), 0) from sqlite_sequence where name = 'mailkeep_endpoint')`

/** Gives each column of a delivery one meaning, and makes handlers ordinary endpoints: see lib/webhooks/README.md. */
const deliveryColumns: Migration = {
  name: '004-delivery-columns',
  statements: [
    `alter table mailkeep_endpoint add column kind text not null default 'http'`,
    `alter table mailkeep_delivery add column kind text not null default 'http'`,
    'alter table mailkeep_delivery add column scheduled_at text',
    'alter table mailkeep_delivery add column claimed_at text',
    'alter table mailkeep_delivery add column lease_until text',
    'alter table mailkeep_delivery add column ended_at text',
    'drop index mailkeep_delivery_due',
    'drop index mailkeep_delivery_recoverable',
    'drop index mailkeep_delivery_subscriber',
    `update mailkeep_delivery set
      kind = iif(endpoint_id < 0, 'handler', 'http'),
      endpoint_id = iif(endpoint_id < 0, ${lastEndpointId} - endpoint_id, endpoint_id),
      scheduled_at = iif(status = 'pending', created_at, null),
      claimed_at = iif(claim is null, null, created_at),
      lease_until = iif(claim is null, null, due_at),
      ended_at = iif(status = 'pending', null, due_at)`,
    `update mailkeep_job set target_id = ${lastEndpointId} - target_id
      where target_id < 0 and kind in ('clear endpoint', 'clear endpoint again')`,
    `update mailkeep_endpoint set kind = 'handler', id = ${lastEndpointId} - id where id < 0`,
    // Ids are never reused, so skip the ids of removed handlers too.
    `update sqlite_sequence set seq = seq - min(0, coalesce((select cast(value as integer) from mailkeep_setting
      where name = 'last_subscriber_id'), 0)) where name = 'mailkeep_endpoint'`,
    `delete from mailkeep_setting where name = 'last_subscriber_id'`,
    'alter table mailkeep_delivery drop column retry',
    `create index mailkeep_delivery_due on mailkeep_delivery (endpoint_id, due_at)
      where status = 'pending' and lease_until is null`,
    'create index mailkeep_delivery_lease on mailkeep_delivery (lease_until) where lease_until is not null',
    `create index mailkeep_delivery_recoverable on mailkeep_delivery (endpoint_id, ended_at)
      where status in ('failed', 'held')`,
    `create index mailkeep_delivery_handler on mailkeep_delivery (client_id) where kind = 'handler'`,
  ],
}

/** Gives jobs a time, a status and an end. Before, the kind of a delayed or finished job said so. */
const jobColumns: Migration = {
  name: '005-job-columns',
  statements: [
    `alter table mailkeep_job add column status text not null default 'pending'`,
    `alter table mailkeep_job add column run_at text not null default '1970-01-01T00:00:00.000000Z'`,
    'alter table mailkeep_job add column finished_at text',
    'alter table mailkeep_job add column failures integer not null default 0',
    'update mailkeep_job set run_at = created_at',
    `update mailkeep_job set kind = 'recover', status = 'done', finished_at = created_at where kind = 'recovered'`,
    `update mailkeep_job set kind = replace(kind, ' again', ''),
      run_at = strftime('%Y-%m-%dT%H:%M:%f', created_at, '+120 seconds') || '000Z' where kind like '% again'`,
    `update mailkeep_job set state = '{"isWanted":true}' where kind = 'purge searches'`,
    `create index mailkeep_job_due on mailkeep_job (run_at) where status = 'pending'`,
    'create index mailkeep_job_finished on mailkeep_job (finished_at) where finished_at is not null',
  ],
}

/**
 * Repairs FTS5's number of rows, which version 0.1.0 could make too low in small indexes. Then FTS5 reported a damaged
 * database when contacts were deleted. A larger index, of more than about 8,000 contacts, has rows to spare.
 */
const searchRowCount: Migration = {
  name: '006-search-row-count',
  statements: [
    `insert into mailkeep_search (mailkeep_search) select 'rebuild'
      where (select count(*) from mailkeep_search_idx) <= 256`,
  ],
}

/** Finding contacts: by creation time, by declared attributes and by segments. */
const finding: Migration = {
  name: '007-finding',
  statements: [
    'create index mailkeep_contact_created on mailkeep_contact (client_id, created_at)',
    `create table mailkeep_indexed_attribute (${id}, ${client}, name text not null, ready integer not null,
      unique (client_id, name)) strict`,
    // No foreign key to the attribute, as in the other join tables.
    `create table mailkeep_contact_attribute (contact_id integer not null
      references mailkeep_contact (id) on delete cascade, attribute_id integer not null, value_key text not null,
      primary key (contact_id, attribute_id)) strict, without rowid`,
    `create index mailkeep_contact_attribute_value
      on mailkeep_contact_attribute (attribute_id, value_key, contact_id)`,
    `create table mailkeep_segment (${record}, name text not null, filters text not null) strict`,
    'create index mailkeep_segment_client on mailkeep_segment (client_id)',
  ],
}

/** The audit log, signing secrets that overlap, filters of deliveries, and the listing of tokens. */
const auditLog: Migration = {
  name: '011-audit-log',
  statements: [
    // No foreign keys: a deleted client's entries are deleted in batches, and entries outlive what they name.
    `create table mailkeep_audit (${id}, client_id integer not null, token_id integer, source text not null,
      type text not null, target_id integer not null, created_at text not null) strict`,
    'create index mailkeep_audit_client on mailkeep_audit (client_id)',
    'create index mailkeep_audit_type on mailkeep_audit (client_id, type)',
    'create index mailkeep_audit_token on mailkeep_audit (client_id, token_id) where token_id is not null',
    'create index mailkeep_audit_token_type on mailkeep_audit (client_id, token_id, type) where token_id is not null',
    'alter table mailkeep_endpoint add column previous_secret text',
    'alter table mailkeep_endpoint add column previous_secret_until text',
    `create index mailkeep_endpoint_previous_secret on mailkeep_endpoint (previous_secret_until)
      where previous_secret_until is not null`,
    // Filters of deliveries. A new delivery enters only the small index: saving a contact should not become slower.
    `create index mailkeep_delivery_pending on mailkeep_delivery (endpoint_id) where status = 'pending'`,
    `create index mailkeep_delivery_ended on mailkeep_delivery (endpoint_id, event_type, status)
      where status <> 'pending'`,
    'create index mailkeep_token_valid on mailkeep_token (client_id) where revoked_at is null',
  ],
}

/** The progress of imports. */
const imports: Migration = {
  name: '014-imports',
  statements: [
    `create table mailkeep_import (${id}, client_id integer not null, list_id integer,
      dry_run integer not null, status text not null, row_count integer not null default 0,
      created integer not null default 0, updated integer not null default 0, skipped integer not null default 0,
      refused integer not null default 0, error text, started_at text not null, seen_at text not null,
      finished_at text) strict`,
    'create index mailkeep_import_client on mailkeep_import (client_id)',
  ],
}

/** The history of contacts, memberships that wait for a confirmation, and addresses that must not be mailed. */
const consent: Migration = {
  name: '012-consent',
  statements: [
    // No foreign key to the contact: a contact may have any number of rows, which are deleted in batches.
    `create table mailkeep_contact_history (${id}, contact_id integer not null, type text not null, source text not null,
      list_id integer, topic_id integer, token_id integer, ip text, user_agent text, created_at text not null) strict`,
    'create index mailkeep_contact_history_contact on mailkeep_contact_history (contact_id)',
    'alter table mailkeep_list add column double_opt_in integer not null default 0',
    `create table mailkeep_pending_membership (contact_id integer not null
      references mailkeep_contact (id) on delete cascade, list_id integer not null, requested_at text not null,
      primary key (contact_id, list_id)) strict, without rowid`,
    'create index mailkeep_pending_membership_list on mailkeep_pending_membership (list_id, contact_id)',
    'create index mailkeep_pending_membership_requested on mailkeep_pending_membership (requested_at)',
    `create table mailkeep_suppression (${id}, ${client}, email_hash text not null, email text, email_key text,
      reason text not null, created_at text not null, unique (client_id, email_hash)) strict`,
    'create index mailkeep_suppression_client on mailkeep_suppression (client_id)',
    `create index mailkeep_suppression_erased on mailkeep_suppression (client_id) where reason = 'erased'`,
    `create index mailkeep_suppression_email on mailkeep_suppression (client_id, email_key)
      where email_key is not null`,
  ],
}

export const sqliteMigrations: readonly Migration[] = [
  start,
  keptAnswers,
  tokenNames,
  deliveryColumns,
  jobColumns,
  searchRowCount,
  finding,
  auditLog,
  consent,
  contactPagesMigration(sqliteWords),
  imports,
  sendingMigration({ id, record, raised, ...sqliteWords }),
  statisticsMigration({ ...sqliteWords, end: ' strict, without rowid' }),
  mergedContactsMigration(sqliteWords),
  sequenceMessagesMigration(sqliteWords),
  recentCounts,
  ...lastMigrations({ id, ...sqliteWords }),
]
