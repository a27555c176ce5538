/**
 * Types of the operations, with the documentation that editors show. Written by `npm run reference` from lib/bind.ts and
 * the docstrings of the operations: change them, not this file.
 */
import type { AttributeSettings, AttributeSettingsInput } from './attributes/schema.ts'
import type { AuditEntry, AuditQueryInput } from './audit/schema.ts'
import type { Suppression, SuppressionInput } from './consent/schema.ts'
import type { Counted, GroupQueryInput } from './contacts/group-counts.ts'
import type { ContactSeries, ContactSeriesQueryInput } from './contacts/series.ts'
import type { Identity, IdentityInput, IdentityQueryInput } from './identities/schema.ts'
import type { Import } from './imports/schema.ts'
import type { List, ListChangeInput, ListInput } from './lists/schema.ts'
import type { Page, PageInput } from './page.ts'
import type { PageSettings, PageSettingsInput } from './pages/schema.ts'
import type { Segment, SegmentChangeInput, SegmentInput } from './segments/schema.ts'
import type { DeliverySeries, DeliverySeriesQueryInput } from './statistics/schema.ts'
import type { Tag, TagInput } from './tags/schema.ts'
import type { Topic, TopicChangeInput, TopicInput } from './topics/schema.ts'

/** `mailkeep.forClient(id).auditLog` */
export interface AuditLogApi {
  /**
   * Returns one page of the client's audit log, newest first: who changed what, and when. Entries are kept for 90 days.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: AuditQueryInput): Promise<Page<AuditEntry>>
}

/** `mailkeep.forClient(id).lists` */
export interface ListsApi {
  /**
   * Returns one page of the client's lists, by ascending id. With `counts` each has `contacts_count`.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: GroupQueryInput): Promise<Page<List & Counted>>
  /** @throws MailkeepError `validation_failed` */
  create(input: ListInput): Promise<List>
  /** @throws MailkeepError `not_found` */
  get(id: number): Promise<List>
  /**
   * Changes a list's name, or whether it has double opt-in. Members and requests stay as they are.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  update(id: number, input: ListChangeInput): Promise<List>
  /**
   * Deletes a list with its topics and memberships. The contacts stay. Sequences of the list stay without one, and the
   * contacts whom the list had enrolled are stopped.
   *
   * @throws MailkeepError `not_found`; `conflict`: a newsletter that excludes the list is choosing its recipients, for some
   *   seconds after its start.
   */
  delete(id: number): Promise<void>
}

/** `mailkeep.forClient(id).tags` */
export interface TagsApi {
  /**
   * Returns one page of the client's tags, by ascending id. With `counts` each has `contacts_count`.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: GroupQueryInput): Promise<Page<Tag & Counted>>
  /** @throws MailkeepError `validation_failed`: also when the name is taken. */
  create(input: TagInput): Promise<Tag>
  /**
   * Renames a tag.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: also when the name is taken.
   */
  update(id: number, input: TagInput): Promise<Tag>
  /**
   * Deletes a tag, and removes it from all contacts.
   *
   * @throws MailkeepError `not_found`; `conflict`: a newsletter with the tag in its audience is choosing its recipients, for
   *   some seconds after its start.
   */
  delete(id: number): Promise<void>
}

/** `mailkeep.forClient(id).topics` */
export interface TopicsApi {
  /**
   * Returns one page of a list's topics, by ascending id. With `counts` each has `contacts_count`.
   *
   * @throws MailkeepError `not_found`: no such list; `validation_failed`.
   */
  list(listId: number, query?: GroupQueryInput): Promise<Page<Topic & Counted>>
  /** @throws MailkeepError `not_found`: no such list; `validation_failed`. */
  create(listId: number, input: TopicInput): Promise<Topic>
  /**
   * Changes a topic's name or description.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  update(id: number, input: TopicChangeInput): Promise<Topic>
  /**
   * Deletes a topic with its subscriptions.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}

/** Named filters of contacts: `mailkeep.forClient(id).segments` */
export interface SegmentsApi {
  /**
   * Returns one page of the client's segments, by ascending id.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: PageInput): Promise<Page<Segment>>
  /**
   * Creates a segment: a named set of filters. `contacts.list({ segment: id })` returns its contacts.
   *
   * @throws MailkeepError `validation_failed`: also when an attribute of the filters is not indexed.
   */
  create(input: SegmentInput): Promise<Segment>
  /** @throws MailkeepError `not_found` */
  get(id: number): Promise<Segment>
  /**
   * Changes a segment's name or filters.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: also when an attribute of the filters is not indexed.
   */
  update(id: number, input: SegmentChangeInput): Promise<Segment>
  /**
   * Deletes a segment. Its contacts stay.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}

/** Addresses that must not be mailed: `mailkeep.forClient(id).suppressions` */
export interface SuppressionsApi {
  /**
   * Returns one page of the client's suppressions, by ascending id.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: PageInput): Promise<Page<Suppression>>
  /**
   * Suppresses an address: it is not mailed, whether or not a contact has it. A contact with it can still be stored. An
   * address that is suppressed already keeps its reason.
   *
   * @returns The suppression, and whether it is new.
   * @throws MailkeepError `validation_failed` on `email`
   */
  create(input: SuppressionInput): Promise<{ suppression: Suppression; created: boolean }>
  /**
   * Removes a suppression, so that the address can be mailed, and stored if it was erased.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}

/** The attributes by which contacts can be filtered: `mailkeep.forClient(id).settings.attributes` */
export interface AttributeSettingsApi {
  /** Returns the attributes by which contacts can be filtered. */
  get(): Promise<AttributeSettings>
  /**
   * Replaces the attributes by which contacts can be filtered. A stored job indexes the stored contacts. Until it has,
   * filtering by a new attribute fails with `unavailable`. Up to 500 contacts are indexed immediately.
   *
   * @throws MailkeepError `validation_failed`: more than 10 names, or not an attribute's name; `conflict`: a newsletter whose
   *   segment filters by an attribute that is removed is choosing its recipients, for some seconds after its start.
   */
  update(input: AttributeSettingsInput): Promise<AttributeSettings>
}

/** How the client's pages for contacts look: `mailkeep.forClient(id).settings.pages` */
export interface PageSettingsApi {
  /** Returns how the client's pages for contacts look. */
  get(): Promise<PageSettings>
  /**
   * Replaces the settings of the client's pages for contacts. Absent fields are reset.
   *
   * @throws MailkeepError `validation_failed`
   */
  update(input: PageSettingsInput): Promise<PageSettings>
}

/** The client's sender addresses: `mailkeep.forClient(id).identities` */
export interface IdentitiesApi {
  /**
   * Returns one page of the client's sender identities, by ascending id.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: IdentityQueryInput): Promise<Page<Identity>>
  /** @throws MailkeepError `not_found` */
  get(id: number): Promise<Identity>
  /**
   * Registers a sender address.
   *
   * @throws MailkeepError `validation_failed`: also when the client already has the address.
   */
  add(input: IdentityInput): Promise<Identity>
  /**
   * Asks the provider about an identity that is pending or verifying. Starts the verification of a pending one. Without a
   * provider, and if the provider does not answer, the status stays.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: the provider is misconfigured.
   */
  refresh(id: number): Promise<Identity>
  /** @throws MailkeepError `not_found` */
  remove(id: number): Promise<void>
}

/** The progress of imports: `mailkeep.forClient(id).imports` */
export interface ImportsApi {
  /**
   * Returns one page of the client's imports, newest first. Imports are kept for 30 days.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: PageInput): Promise<Page<Import>>
  /**
   * Returns an import with its progress, which is updated once a second.
   *
   * @throws MailkeepError `not_found`
   */
  get(id: number): Promise<Import>
}

/** `mailkeep.forClient(id).stats` */
export interface StatsApi {
  /**
   * Returns how many deliveries succeeded and failed in each step of a range, since when the oldest due one waits, and the
   * endpoints by state. Counts are kept for 90 days, also after the deliveries are deleted.
   *
   * @throws MailkeepError `validation_failed`: also when the range has more than 1,500 steps.
   */
  deliveries(query?: DeliverySeriesQueryInput): Promise<DeliverySeries>
  /**
   * Returns how many contacts were created, unsubscribed and erased in each step of a range.
   *
   * @throws MailkeepError `validation_failed`: also when the range has more than 1,500 steps.
   */
  contacts(query?: ContactSeriesQueryInput): Promise<ContactSeries>
}
