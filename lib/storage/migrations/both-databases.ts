/** Migrations that differ between the databases in a few words, or not at all. */
import type { Migration } from '../migrate.ts'
import { addressKeys } from './address-keys.ts'

/** The words that differ. */
interface Words {
  /** Columns that every record has. */
  readonly id: string
  readonly record: string
  readonly raised: string
  readonly int: string
  readonly time: string
  readonly bool: string
  readonly no: string
  /** Options at the end of a table, and of a table with many inserts and deletes. */
  readonly end: string
  readonly queue: string
  /** The columns of an index whose rows are read in the order of their ids. */
  readonly inOrder: (columns: string) => string
}

/** The words of SQLite. */
export const sqliteWords = {
  ...{ int: 'integer', time: 'text', bool: 'integer', no: '0', end: ' strict', queue: ' strict' },
  inOrder: (columns: string) => columns,
}

/** The words of PostgreSQL. */
export const postgresWords = {
  ...{ int: 'bigint', time: 'timestamptz', bool: 'boolean', no: 'false', end: '' },
  inOrder: (columns: string) => `${columns}, id`,
}

/** How the pages for contacts look. */
export function contactPagesMigration({ int, end }: Pick<Words, 'int' | 'end'>): Migration {
  return {
    name: '013-contact-pages',
    statements: [
      `create table mailkeep_page_settings (client_id ${int} primary key references mailkeep_client (id),
      settings text not null)${end}`,
    ],
  }
}

/** Newsletters, sequences, and the messages to their recipients. */
export function sendingMigration({ id, record, raised, int, time, bool, no, end, queue, inOrder }: Words): Migration {
  return {
    name: '015-sending',
    statements: [
      `create table mailkeep_newsletter (${record}, name text not null, subject text not null, preheader text,
      from_identity_id ${int}, reply_to text, html text not null, text text, audience text not null, status text not null,
      error text, scheduled_at ${time}, updated_at ${time} not null, started_at ${time}, finished_at ${time},
      recipients ${int} not null default 0, sent ${int} not null default 0, failed ${int} not null default 0,
      skipped ${int} not null default 0, uncertain ${int} not null default 0, is_prepared ${bool} not null default ${no},
      is_announced ${bool} not null default ${no})${end}`,
      `create index mailkeep_newsletter_client on mailkeep_newsletter (${inOrder('client_id')})`,
      `create index mailkeep_newsletter_sending on mailkeep_newsletter (${inOrder('status')}) where status = 'sending'`,
      `create table mailkeep_sequence (${record}, name text not null, list_id ${int}, from_identity_id ${int}, reply_to text,
      status text not null, updated_at ${time} not null)${end}`,
      `create index mailkeep_sequence_client on mailkeep_sequence (${inOrder('client_id')})`,
      'create index mailkeep_sequence_list on mailkeep_sequence (list_id) where list_id is not null',
      `create index mailkeep_sequence_active on mailkeep_sequence (${inOrder('status')}) where status = 'active'`,
      // A removed step stays: enrolments whose last step it was must find their place.
      `create table mailkeep_step (${id}, sequence_id ${int} not null references mailkeep_sequence (id) on delete cascade,
      position ${int} not null, is_removed ${bool} not null default ${no}, version ${int} not null default 1,
      delay_seconds ${int} not null, subject text not null, preheader text, html text not null, text text)${end}`,
      'create index mailkeep_step_sequence on mailkeep_step (sequence_id, position)',
      // No foreign keys to the contact, the newsletter and the sequence: their rows are deleted in batches.
      `create table mailkeep_enrolment (${id}, client_id ${int} not null, sequence_id ${int} not null,
      contact_id ${int} not null, status text not null, reason text, is_member ${bool} not null, last_step_id ${int},
      since ${time} not null, due_at ${time}, created_at ${time} not null, unique (sequence_id, contact_id))${queue}`,
      `create index mailkeep_enrolment_due on mailkeep_enrolment (sequence_id, due_at)
      where status = 'active' and due_at is not null`,
      `create index mailkeep_enrolment_sequence on mailkeep_enrolment (${inOrder('sequence_id')})`,
      'create index mailkeep_enrolment_contact on mailkeep_enrolment (contact_id)',
      `create table mailkeep_message (${raised}, contact_id ${int}, newsletter_id ${int}, sequence_id ${int},
      step_id ${int}, status text not null, reason text, attempts ${int} not null, due_at ${time} not null, claim text,
      claimed_at ${time}, lease_until ${time}, error text, provider_message_id text, sent_at ${time})${queue}`,
      `create unique index mailkeep_message_recipient on mailkeep_message (newsletter_id, contact_id)
      where newsletter_id is not null`,
      `create index mailkeep_message_contact on mailkeep_message (${inOrder('contact_id')}) where contact_id is not null`,
      `create index mailkeep_message_status on mailkeep_message (${inOrder('newsletter_id, status')})
      where newsletter_id is not null`,
      `create index mailkeep_message_sequence on mailkeep_message (${inOrder('sequence_id')}) where sequence_id is not null`,
      `create index mailkeep_message_due on mailkeep_message (newsletter_id, due_at)
      where newsletter_id is not null and status = 'pending' and lease_until is null`,
      `create index mailkeep_message_due_step on mailkeep_message (sequence_id, due_at)
      where sequence_id is not null and status = 'pending' and lease_until is null`,
      `create index mailkeep_message_retry on mailkeep_message (due_at)
      where status = 'pending' and lease_until is null and attempts > 0`,
      'create index mailkeep_message_lease on mailkeep_message (lease_until) where lease_until is not null',
    ],
  }
}

/** Counts of outcomes for the series of statistics, and indexes for those of contacts. */
export function statisticsMigration({ int, time, end }: Pick<Words, 'int' | 'time' | 'end'>): Migration {
  return {
    name: '016-statistics',
    statements: [
      `create table mailkeep_delivery_count (client_id ${int} not null, endpoint_id ${int} not null, step text not null,
      at ${time} not null, delivered integer not null, retried integer not null, failed integer not null,
      ms_10 integer not null, ms_50 integer not null, ms_200 integer not null, s_1 integer not null, s_5 integer not null,
      s_30 integer not null, min_5 integer not null, longer integer not null,
      primary key (client_id, endpoint_id, step, at))${end}`,
      'create index mailkeep_delivery_count_at on mailkeep_delivery_count (at)',
      `create index mailkeep_contact_left on mailkeep_contact (client_id, unsubscribed_at)
      where unsubscribed_at is not null`,
      `create index mailkeep_audit_deleted on mailkeep_audit (client_id, created_at) where type = 'contact.deleted'`,
    ],
  }
}

/** The contacts that were merged into others, so that their links in sent mails work. */
export function mergedContactsMigration({ int, end }: Pick<Words, 'int' | 'end'>): Migration {
  return {
    name: '019-merged-contacts',
    statements: [
      `create table mailkeep_merged_contact (contact_id ${int} primary key, client_id ${int} not null, uuid text not null,
      into_id ${int} not null references mailkeep_contact (id) on delete cascade)${end}`,
      'create index mailkeep_merged_contact_into on mailkeep_merged_contact (into_id)',
    ],
  }
}

/** The messages of sequences by their status. */
export function sequenceMessagesMigration({ inOrder }: Pick<Words, 'inOrder'>): Migration {
  return {
    name: '020-sequence-messages',
    statements: [
      `create index mailkeep_message_step_status on mailkeep_message (${inOrder('sequence_id, status')})
      where sequence_id is not null`,
      'drop index mailkeep_message_sequence',
    ],
  }
}

/** The filters of a newsletter's segment, as they were when it started. JSON. */
const segmentFilters: Migration = {
  name: '023-segment-filters',
  statements: ['alter table mailkeep_newsletter add column segment_filters text'],
}

/** Changes that contacts no longer show: see lib/contacts/past-changes. */
function pastChangesMigration({ id, int, time, end }: Pick<Words, 'id' | 'int' | 'time' | 'end'>): Migration {
  return {
    name: '024-past-changes',
    statements: [
      `create table mailkeep_past_change (${id}, client_id ${int} not null, type text not null, at ${time} not null)${end}`,
      'create index mailkeep_past_change_client on mailkeep_past_change (client_id, type, at)',
      'create index mailkeep_past_change_at on mailkeep_past_change (at)',
    ],
  }
}

/** What contacts are past when the steps of their sequence are moved past each other. */
const movedSteps: Migration = {
  name: '025-moved-steps',
  statements: [
    'alter table mailkeep_step add column moved_rank integer',
    'alter table mailkeep_enrolment add column passed_ids text',
  ],
}

/** Which enrolments depend on the list of their sequence. */
const listVersions: Migration = {
  name: '026-list-versions',
  statements: [
    'alter table mailkeep_sequence add column list_version integer not null default 0',
    'alter table mailkeep_enrolment add column list_version integer',
    'update mailkeep_enrolment set list_version = 0 where is_member',
    'alter table mailkeep_enrolment drop column is_member',
  ],
}

/** How an import finds lists and topics by their names. */
const names: Migration = {
  name: '028-names',
  statements: [
    'create index mailkeep_list_name on mailkeep_list (client_id, name)',
    'create index mailkeep_topic_name on mailkeep_topic (list_id, name)',
  ],
}

/** The contact of many events, stored once. */
function sharedContactsMigration({ id, int, end }: Pick<Words, 'id' | 'int' | 'end'>): Migration {
  return {
    name: '029-shared-contacts',
    statements: [
      `create table mailkeep_shared_contact (${id}, document text not null)${end}`,
      `alter table mailkeep_event add column shared_contact_id ${int}`,
      `create index mailkeep_event_shared on mailkeep_event (shared_contact_id) where shared_contact_id is not null`,
    ],
  }
}

/** The last migrations, which differ in their words only. */
export function lastMigrations(words: Pick<Words, 'id' | 'int' | 'time' | 'end'>): readonly Migration[] {
  return [
    segmentFilters,
    pastChangesMigration(words),
    movedSteps,
    listVersions,
    addressKeys,
    names,
    sharedContactsMigration(words),
  ]
}

/** The counts of deliveries that no series contains yet. */
export const recentCounts: Migration = {
  name: '021-recent-counts',
  statements: [
    `create index mailkeep_delivery_count_recent on mailkeep_delivery_count (client_id, at) where step = 'recent'`,
  ],
}
