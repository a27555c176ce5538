import type { Migration } from '../migrate.ts'
import {
  contactPagesMigration,
  lastMigrations,
  mergedContactsMigration,
  postgresWords,
  recentCounts,
  sendingMigration,
  sequenceMessagesMigration,
  statisticsMigration,
} from './both-databases.ts'

const id = 'id bigint generated always as identity primary key'
const client = 'client_id bigint not null references mailkeep_client (id)'
const stamps = 'uuid text not null, created_at timestamptz not null'
// No foreign key to the client. There are millions of these rows, and their endpoint already implies the client.
const raised = `${id}, client_id bigint not null, ${stamps}`
const record = `${id}, ${client}, ${stamps}`

/** Compares text byte by byte, so that an update of the system's collations cannot corrupt the indexes. */
const key = 'text collate "C" not null'

/** Leaves free space on each page, so that updates stay on the page and need no index change (HOT updates). */
const frequentUpdates = 'with (fillfactor = 70)'

/** Vacuums tables with many inserts and deletes early, before dead rows slow down the query for due rows. */
const queue = 'with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)'

/**
 * As on SQLite, the join tables have no foreign key to the tag, list or topic, nor does a delivery to its endpoint.
 * Such a record is deleted immediately, and its rows are deleted later in batches. Every query joins through the
 * record.
 *
 * Attributes are json and not jsonb, because jsonb changes the order of the keys and responses would differ from
 * SQLite's.
 */
const start: Migration = {
  name: '001-start',
  statements: [
    `create table mailkeep_client (${id}, ${stamps}, name text not null, deleted_at timestamptz)`,
    `create table mailkeep_token (${id}, ${client}, hash ${key} unique, role text not null,
      created_at timestamptz not null, expires_at timestamptz, last_used_at timestamptz, revoked_at timestamptz) ${frequentUpdates}`,
    'create index mailkeep_token_client on mailkeep_token (client_id)',

    `create table mailkeep_tag (${record}, name text not null, name_key ${key}, unique (client_id, name_key))`,
    'create index mailkeep_tag_client on mailkeep_tag (client_id, id)',
    `create table mailkeep_list (${record}, name text not null)`,
    'create index mailkeep_list_client on mailkeep_list (client_id, id)',
    `create table mailkeep_topic (${record}, list_id bigint not null references mailkeep_list (id) on delete cascade,
      name text not null, description text)`,
    'create index mailkeep_topic_client on mailkeep_topic (client_id, id)',
    'create index mailkeep_topic_list on mailkeep_topic (list_id, id)',

    `create table mailkeep_contact (${record}, email text not null, email_key ${key}, name text not null,
      attributes json not null, search ${key}, unsubscribed_at timestamptz, unsubscribed_by_contact boolean not null,
      unique (client_id, email_key)) with (fillfactor = 90)`,
    // Each contact is in exactly one of the two indexes. A listing of all contacts merges them.
    // postgres/search-index creates the search index.
    'create index mailkeep_contact_subscribed on mailkeep_contact (client_id, id) where unsubscribed_at is null',
    'create index mailkeep_contact_unsubscribed on mailkeep_contact (client_id, id) where unsubscribed_at is not null',
    ...['tag', 'list', 'topic'].flatMap((other) => [
      `create table mailkeep_contact_${other} (client_id bigint not null,
        contact_id bigint not null references mailkeep_contact (id) on delete cascade,
        ${other}_id bigint not null, primary key (contact_id, ${other}_id))`,
      `create index mailkeep_contact_${other}_${other} on mailkeep_contact_${other} (${other}_id, contact_id)`,
    ]),

    `create table mailkeep_identity (${record}, email text not null, email_key ${key}, name text not null,
      domain text not null, identity_status text not null, verified_at timestamptz, updated_at timestamptz not null,
      unique (client_id, email_key))`,
    'create index mailkeep_identity_client on mailkeep_identity (client_id, id)',
    'create index mailkeep_identity_status on mailkeep_identity (client_id, identity_status, id)',

    `create table mailkeep_endpoint (${id}, client_id bigint references mailkeep_client (id), ${stamps},
      subscriber text collate "C" unique, url text not null, description text not null, events text not null,
      active boolean not null, disabled_reason text, consecutive_failures integer not null,
      first_failure_at timestamptz, last_triggered_at timestamptz, secret text not null) ${frequentUpdates}`,
    'create index mailkeep_endpoint_client on mailkeep_endpoint (client_id, id)',
    `create table mailkeep_event (${raised}, type text not null, contact_id bigint, body text not null)`,
    'create index mailkeep_event_contact on mailkeep_event (contact_id, id) where contact_id is not null',
    `create table mailkeep_delivery (${raised}, endpoint_id bigint not null,
      event_id bigint not null references mailkeep_event (id), event_type text not null, status text not null,
      attempts integer not null, attempts_before integer not null default 0, retry boolean not null,
      due_at timestamptz not null, claim text, response_status integer, error text, delivered_at timestamptz) ${queue}`,
    'create index mailkeep_delivery_endpoint on mailkeep_delivery (endpoint_id, id)',
    `create index mailkeep_delivery_subscriber on mailkeep_delivery (client_id) where endpoint_id < 0`,
    'create index mailkeep_delivery_event on mailkeep_delivery (event_id)',
    `create index mailkeep_delivery_due on mailkeep_delivery (retry, endpoint_id, due_at) where status = 'pending'`,
    `create index mailkeep_delivery_recoverable on mailkeep_delivery (endpoint_id, due_at)
      where status in ('failed', 'held')`,
    `create table mailkeep_attempt (delivery_id bigint not null references mailkeep_delivery (id) on delete cascade,
      number integer not null, client_id bigint not null, started_at timestamptz not null, duration_ms integer,
      response_status integer, error text, response_body text, primary key (delivery_id, number))`,
    `create table mailkeep_test_delivery (${id}, ${client}, created_at timestamptz not null)`,
    'create index mailkeep_test_delivery_client on mailkeep_test_delivery (client_id, created_at)',

    `create table mailkeep_job (${id}, client_id bigint not null, kind text not null, target_id bigint not null,
      state json not null, created_at timestamptz not null)`,
    'create index mailkeep_job_client on mailkeep_job (client_id)',
    'create table mailkeep_setting (name text primary key, value text not null)',
  ],
}

/** Stored results of idempotency keys: see lib/idempotency. */
const keptAnswers: Migration = {
  name: '002-kept-answers',
  statements: [
    `create table mailkeep_kept_answer (${id}, ${client}, key_hash ${key}, answer text not null,
      created_at timestamptz not null, unique (client_id, key_hash)) ${queue}`,
    // No foreign key to the contact. After the contact's deletion, these rows lead to the results, which are deleted in
    // batches.
    `create table mailkeep_kept_answer_contact (contact_id bigint not null,
      answer_id bigint not null references mailkeep_kept_answer (id) on delete cascade,
      primary key (contact_id, answer_id)) ${queue}`,
    'create index mailkeep_kept_answer_contact_answer on mailkeep_kept_answer_contact (answer_id)',
  ],
}

/** Labels that help people to distinguish tokens. */
const tokenNames: Migration = {
  name: '003-token-names',
  statements: ['alter table mailkeep_token add column name text'],
}

const endpointSequence = `pg_get_serial_sequence('mailkeep_endpoint', 'id')`

/** The last assigned id. Handlers, which had negative ids, get the ids after it. */
const lastEndpointId = `coalesce(pg_sequence_last_value(${endpointSequence}::regclass), 0)`

const lastHandlerId = `coalesce((select -cast(value as bigint) from mailkeep_setting where name = 'last_subscriber_id'), 0)`

/** Gives each column of a delivery one meaning, and makes handlers ordinary endpoints: see lib/webhooks/README.md. */
const deliveryColumns: Migration = {
  name: '004-delivery-columns',
  statements: [
    `alter table mailkeep_endpoint add column kind text not null default 'http'`,
    `alter table mailkeep_delivery add column kind text not null default 'http', add column scheduled_at timestamptz,
      add column claimed_at timestamptz, add column lease_until timestamptz, add column ended_at timestamptz`,
    'drop index mailkeep_delivery_due',
    'drop index mailkeep_delivery_recoverable',
    'drop index mailkeep_delivery_subscriber',
    `update mailkeep_delivery set
      kind = case when endpoint_id < 0 then 'handler' else 'http' end,
      endpoint_id = case when endpoint_id < 0 then ${lastEndpointId} - endpoint_id else endpoint_id end,
      scheduled_at = case when status = 'pending' then created_at end,
      claimed_at = case when claim is not null then created_at end,
      lease_until = case when claim is not null then due_at end,
      ended_at = case when status <> 'pending' then due_at end`,
    `update mailkeep_job set target_id = ${lastEndpointId} - target_id
      where target_id < 0 and kind in ('clear endpoint', 'clear endpoint again')`,
    'alter table mailkeep_endpoint alter column id set generated by default',
    `update mailkeep_endpoint set kind = 'handler', id = ${lastEndpointId} - id where id < 0`,
    'alter table mailkeep_endpoint alter column id set generated always',
    // Ids are never reused, so skip the ids of removed handlers too.
    `select setval(${endpointSequence}, ${lastEndpointId} + ${lastHandlerId}) where ${lastHandlerId} > 0`,
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
    `alter table mailkeep_job add column status text not null default 'pending',
      add column run_at timestamptz not null default now(), add column finished_at timestamptz,
      add column failures integer not null default 0`,
    'update mailkeep_job set run_at = created_at',
    `update mailkeep_job set kind = 'recover', status = 'done', finished_at = created_at where kind = 'recovered'`,
    `update mailkeep_job set kind = replace(kind, ' again', ''), run_at = created_at + interval '120 seconds'
      where kind like '% again'`,
    `update mailkeep_job set state = '{"isWanted":true}' where kind = 'purge searches'`,
    `create index mailkeep_job_due on mailkeep_job (run_at, id) where status = 'pending'`,
    'create index mailkeep_job_finished on mailkeep_job (finished_at) where finished_at is not null',
  ],
}

/** Changes only SQLite's search index. */
const searchRowCount: Migration = { name: '006-search-row-count', statements: [] }

/** Finding contacts: by creation time, by declared attributes and by segments. */
const finding: Migration = {
  name: '007-finding',
  statements: [
    'create index mailkeep_contact_created on mailkeep_contact (client_id, created_at, id)',
    `create table mailkeep_indexed_attribute (${id}, ${client}, name ${key}, ready boolean not null,
      unique (client_id, name))`,
    // No foreign key to the attribute, as in the other join tables.
    `create table mailkeep_contact_attribute (contact_id bigint not null
      references mailkeep_contact (id) on delete cascade, attribute_id bigint not null, value_key ${key},
      primary key (contact_id, attribute_id))`,
    `create index mailkeep_contact_attribute_value
      on mailkeep_contact_attribute (attribute_id, value_key, contact_id)`,
    `create table mailkeep_segment (${record}, name text not null, filters text not null)`,
    'create index mailkeep_segment_client on mailkeep_segment (client_id, id)',
  ],
}

/** The audit log, signing secrets that overlap, filters of deliveries, and the listing of tokens. */
const auditLog: Migration = {
  name: '011-audit-log',
  statements: [
    // No foreign keys: a deleted client's entries are deleted in batches, and entries outlive what they name.
    `create table mailkeep_audit (${id}, client_id bigint not null, token_id bigint, source text not null,
      type text not null, target_id bigint not null, created_at timestamptz not null) ${queue}`,
    'create index mailkeep_audit_client on mailkeep_audit (client_id, id)',
    'create index mailkeep_audit_type on mailkeep_audit (client_id, type, id)',
    'create index mailkeep_audit_token on mailkeep_audit (client_id, token_id, id) where token_id is not null',
    `create index mailkeep_audit_token_type on mailkeep_audit (client_id, token_id, type, id)
      where token_id is not null`,
    'alter table mailkeep_endpoint add column previous_secret text, add column previous_secret_until timestamptz',
    `create index mailkeep_endpoint_previous_secret on mailkeep_endpoint (previous_secret_until)
      where previous_secret_until is not null`,
    // Filters of deliveries. A new delivery enters only the small index: saving a contact should not become slower.
    `create index mailkeep_delivery_pending on mailkeep_delivery (endpoint_id, id) where status = 'pending'`,
    `create index mailkeep_delivery_ended on mailkeep_delivery (endpoint_id, event_type, status, id)
      where status <> 'pending'`,
    'create index mailkeep_token_valid on mailkeep_token (client_id, id) where revoked_at is null',
  ],
}

/** The progress of imports. */
const imports: Migration = {
  name: '014-imports',
  statements: [
    `create table mailkeep_import (${id}, client_id bigint not null, list_id bigint,
      dry_run boolean not null, status text not null, row_count bigint not null default 0,
      created bigint not null default 0, updated bigint not null default 0, skipped bigint not null default 0,
      refused bigint not null default 0, error text, started_at timestamptz not null, seen_at timestamptz not null,
      finished_at timestamptz) ${frequentUpdates}`,
    'create index mailkeep_import_client on mailkeep_import (client_id, id)',
  ],
}

/** The history of contacts, memberships that wait for a confirmation, and addresses that must not be mailed. */
const consent: Migration = {
  name: '012-consent',
  statements: [
    // No foreign key to the contact: a contact may have any number of rows, which are deleted in batches.
    `create table mailkeep_contact_history (${id}, contact_id bigint not null, type text not null, source text not null,
      list_id bigint, topic_id bigint, token_id bigint, ip text, user_agent text, created_at timestamptz not null)`,
    'create index mailkeep_contact_history_contact on mailkeep_contact_history (contact_id, id)',
    'alter table mailkeep_list add column double_opt_in boolean not null default false',
    `create table mailkeep_pending_membership (contact_id bigint not null
      references mailkeep_contact (id) on delete cascade, list_id bigint not null, requested_at timestamptz not null,
      primary key (contact_id, list_id))`,
    'create index mailkeep_pending_membership_list on mailkeep_pending_membership (list_id, contact_id)',
    'create index mailkeep_pending_membership_requested on mailkeep_pending_membership (requested_at)',
    `create table mailkeep_suppression (${id}, ${client}, email_hash ${key}, email text, email_key text collate "C",
      reason text not null, created_at timestamptz not null, unique (client_id, email_hash))`,
    'create index mailkeep_suppression_client on mailkeep_suppression (client_id, id)',
    `create index mailkeep_suppression_erased on mailkeep_suppression (client_id) where reason = 'erased'`,
    `create index mailkeep_suppression_email on mailkeep_suppression (client_id, email_key)
      where email_key is not null`,
  ],
}

/**
 * The index of what a recovery reads, in its order. Deliveries that were held at once have the same time. SQLite's index
 * ends in the id as it is.
 */
const recoverable: Migration = {
  name: '022-recoverable',
  statements: [
    'drop index mailkeep_delivery_recoverable',
    `create index mailkeep_delivery_recoverable on mailkeep_delivery (endpoint_id, ended_at, id)
      where status in ('failed', 'held')`,
  ],
}

export const postgresMigrations: readonly Migration[] = [
  start,
  keptAnswers,
  tokenNames,
  deliveryColumns,
  jobColumns,
  searchRowCount,
  finding,
  auditLog,
  consent,
  contactPagesMigration(postgresWords),
  imports,
  sendingMigration({ id, record, raised, queue: ` ${queue}`, ...postgresWords }),
  statisticsMigration(postgresWords),
  mergedContactsMigration(postgresWords),
  sequenceMessagesMigration(postgresWords),
  recentCounts,
  recoverable,
  ...lastMigrations({ id, ...postgresWords }),
]
