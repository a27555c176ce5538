/**
 * Types of the operations, with the documentation that editors show. Written by `npm run reference` from lib/bind.ts and
 * the docstrings of the operations: change them, not this file.
 */
import type { AbortInput } from '../abort.ts'
import type { LinkPurpose } from '../consent/links.ts'
import type { HistoryEntry } from '../consent/schema.ts'
import type { Page, PageInput } from '../page.ts'
import type { Message } from '../sending/message-schema.ts'
import type { BatchInput, BatchOperationInput, BatchOperationResult } from './batch-schema.ts'
import type { BulkResult } from './bulk-merge.ts'
import type { EmailInput, TagsInput } from './changing.ts'
import type { ContactKey } from './contact-key.ts'
import type { IterateInput } from './iterate.ts'
import type { ContactLinks, OpenedLink } from './links.ts'
import type { MergeInput } from './merging.ts'
import type { Preferences, PreferencesInput } from './preferences.ts'
import type {
  AddedContact,
  Contact,
  ContactChangeInput,
  ContactFiltersInput,
  ContactInput,
  ContactQueryInput,
  EraseInput,
  UnsubscribeInput,
} from './schema.ts'
import type { ExportInput } from './transfer/export.ts'
import type { Chunks, ImportInput, ImportReport } from './transfer/import-schema.ts'

/** Links to the pages for contacts: `mailkeep.links` */
export interface LinksApi {
  /**
   * Verifies the token of a link, `…/c/TOKEN/PURPOSE`, and returns its contact: after a merge, the one that stays.
   *
   * @param purpose `unsubscribe`, `preferences` or `confirm`.
   * @throws MailkeepError `not_found`, always the same: not valid for the purpose, erased contact, or nothing to confirm.
   */
  open(token: string, purpose: LinkPurpose): Promise<OpenedLink>
}

/** `mailkeep.forClient(id).contacts` */
export interface ContactsApi {
  /**
   * Returns one page of the client's contacts, by ascending id. A contact matches a filter if it matches any of its values. It
   * must match all filters.
   *
   * @throws MailkeepError `validation_failed`; `not_found`: no such segment; `unavailable`: also while the index of an
   *   attribute is being filled.
   */
  list(query?: ContactQueryInput): Promise<Page<Contact>>
  /**
   * Returns the client's contacts one after another, by ascending id, with the filters of `list`: the records that `export`
   * writes as text. Reads page by page, so that neither the contacts nor their number are limited by memory.
   *
   * @throws MailkeepError `validation_failed`, when the first contact is read; the signal's reason once it is aborted.
   * @example
   * for await (const contact of acme.contacts.iterate({ tags: [3] })) greet(contact.email)
   */
  iterate(query?: IterateInput): AsyncGenerator<Contact, void, undefined>
  /** @throws MailkeepError `not_found` */
  get(id: ContactKey): Promise<Contact>
  /**
   * Counts the client's contacts that match the filters of `list`. Without a query it counts all contacts, including
   * unsubscribed ones. Counts in batches, so that other requests need not wait.
   *
   * @throws MailkeepError Same as `list`.
   */
  count(query?: ContactFiltersInput): Promise<number>
  /**
   * Same as `list`, but each contact is JSON text built by the database. Half the cost for callers that forward the JSON.
   *
   * @throws MailkeepError Same as `list`.
   */
  listJson(query?: ContactQueryInput): Promise<Page<string>>
  /**
   * Same as `get`, but returns JSON text.
   *
   * @throws MailkeepError `not_found`
   */
  getJson(id: ContactKey): Promise<string>
  /**
   * Adds a contact to a list. Creates the contact if the client has none with this e-mail address. Adds tags, and merges
   * attributes by key. An unsubscribed contact stays unsubscribed. Raises `contact.subscribed` if the contact was not on
   * the list. A repeated call changes nothing and raises no event.
   *
   * A list with double opt-in asks the contact to confirm, at most once in 10 minutes, and raises
   * `contact.confirmation_requested` with the link. The contact joins the list when it follows the link, within 30 days.
   *
   * @param input Fields besides `email`, `name`, `tags` and `confirmed` are attributes.
   * @returns The contact as stored after the change, and whether it is new.
   * @throws MailkeepError `not_found`: no such list; `validation_failed`: `input` breaks a rule, or a link is needed and no
   *   public URL is configured; `forbidden`: only an admin may confirm.
   */
  addToList(listId: number, input: ContactInput): Promise<AddedContact>
  /**
   * Same as `addToList` for each contact, at a fraction of the cost. Invalid contacts are refused, and the others are
   * saved. Each transaction saves some hundreds of contacts. After an error the contacts saved before it stay, and the
   * call can be repeated safely.
   *
   * @param inputs At most 10,000. Contacts with the same e-mail address are merged in order and raise one event. The
   *   stored result is the same as from saving them one by one.
   * @param options `signal` stops the call between two transactions. It then throws the signal's reason.
   * @returns The result of each contact, in the order of `inputs`.
   * @throws MailkeepError `not_found`: no such list; `validation_failed`: not an array, or too many contacts.
   */
  addManyToList(listId: number, inputs: readonly ContactInput[], options?: AbortInput): Promise<BulkResult[]>
  /**
   * Adds the contacts of a file to a list, each row as `addToList` does. Invalid rows are refused, and the others are
   * saved. After an error the rows saved before it stay, and the import can be repeated safely.
   *
   * People who have unsubscribed elsewhere, by a column `unsubscribed_at` or `status`, are stored as unsubscribed, and
   * raise no event. No one is subscribed again. A file of `export` restores names, tags, attributes, lists and topics by
   * their names, the subscription and `created_at`; not ids. Lists and topics that are missing are created.
   *
   * @param listId Null: the contacts get only the lists that an export names.
   * @param source A stream of bytes or text, of any length, read with back-pressure. NDJSON: each line is an input of
   *   `addToList`. CSV: the first line names the columns `email`, `name`, `tags`, and attributes, in any case, or as
   *   Mailchimp, Brevo, listmonk and Mailcoach name them. Tags are names separated by semicolons or commas, or a JSON
   *   array. An empty cell changes nothing.
   * @param options `map` names the columns. `dry_run` only checks the rows. `signal` stops the import, also while it waits
   *   for the source. The rows saved before stay.
   * @throws MailkeepError `not_found`: no such list; `invalid_json`: not UTF-8, or not CSV; `validation_failed`: wrong
   *   columns or options, or the list has double opt-in and no public URL is configured; `forbidden`: only an admin may
   *   confirm.
   */
  import(listId: number | null, source: Chunks, options: ImportInput): Promise<ImportReport>
  /**
   * Exports the client's contacts as a file, with the filters of `list`. NDJSON has one contact per line. CSV has the
   * fields as columns, attributes as JSON, and the names of tags, lists and topics. Cells that begin with `=`, `+`, `-`,
   * `@` or a tab get a leading apostrophe, so that spreadsheets do not run them; `import` removes it.
   *
   * @returns Chunks of text, each of whole lines, read page by page.
   * @throws MailkeepError `validation_failed`, when the first chunk is read.
   */
  export(query: ExportInput): AsyncGenerator<string, void, undefined>
  /**
   * Creates a contact without a list, or updates the contact with this e-mail address. Adds tags, and merges attributes by
   * key. An unsubscribed contact stays unsubscribed.
   *
   * @param input Fields besides `email`, `name` and `tags` are attributes.
   * @returns The contact as stored after the change, and whether it is new.
   * @throws MailkeepError `validation_failed`
   */
  upsert(input: ContactInput): Promise<{ contact: Contact; created: boolean }>
  /**
   * Changes a contact's name, tags and attributes. `changeEmail` changes the e-mail address.
   *
   * @param input `tags` replaces the set, attributes merge by key.
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  update(id: ContactKey, input: ContactChangeInput): Promise<Contact>
  /**
   * Changes the e-mail address of a contact. Its id, lists, tags and history stay, but no open request to confirm.
   *
   * @throws MailkeepError `not_found`; `validation_failed` on `email`: also when another contact has the address.
   */
  changeEmail(key: ContactKey, input: EmailInput): Promise<Contact>
  /**
   * Adds tags to a contact. Creates missing tags. It is no error if the contact has a tag already.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: also when the contact would have more than 500 tags.
   */
  tag(key: ContactKey, input: TagsInput): Promise<Contact>
  /**
   * Removes tags from a contact. The tags themselves stay. It is no error if the contact does not have a tag.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  untag(key: ContactKey, input: TagsInput): Promise<Contact>
  /**
   * Merges a contact into another contact of the same person, and deletes it. The other contact gets its tags, lists,
   * topics and stored events, and the values that it does not have itself. If one of the two has unsubscribed, the merged
   * contact is unsubscribed, because a merge subscribes no one. Raises `contact.deleted` for the merged contact; for the
   * other `contact.updated`, and the events of what it joins. Links in mails to the merged contact work for the other.
   *
   * @returns The contact that stays.
   * @throws MailkeepError `not_found`: no such contact; `validation_failed`: `into` is the same contact, or the contact
   *   would have too many tags, lists, topics or attributes.
   */
  merge(key: ContactKey, input: MergeInput): Promise<Contact>
  /**
   * Runs up to 1,000 operations on contacts, in order. An operation that is refused changes nothing and does not stop the
   * others. Each transaction runs some hundreds of operations. After an error the operations before it stay done, and the
   * call can be repeated safely.
   *
   * @param input The operations, or an object with them.
   * @param options `signal` stops the call between two transactions. It then throws the signal's reason.
   * @returns The result of each operation, in their order.
   * @throws MailkeepError `validation_failed` on `operations`: not an array, or too many operations.
   * @example
   * await acme.contacts.batch([
   *   { op: 'upsert', email: 'ada@example.org', tags: ['vip'], lists: [1] },
   *   { op: 'unsubscribe', email: 'bob@example.org' },
   * ])
   */
  batch(input: BatchInput | readonly BatchOperationInput[], options?: AbortInput): Promise<BatchOperationResult[]>
  /**
   * Unsubscribes a contact from everything, and raises `contact.unsubscribed`. A repeated call keeps the first time and
   * raises no event.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  unsubscribe(key: ContactKey, options?: UnsubscribeInput): Promise<Contact>
  /**
   * Subscribes a contact again, and raises `contact.resubscribed`. Does nothing if the contact is subscribed.
   *
   * @throws MailkeepError `not_found`
   */
  resubscribe(key: ContactKey): Promise<Contact>
  /**
   * Confirms that a contact joins a list with double opt-in, as its link does. A contact that had unsubscribed is subscribed
   * again, because it asked for mail itself. A repeated call changes nothing. Raises `contact.subscribed`.
   *
   * @throws MailkeepError `not_found`: no such contact or list, or the contact was not asked in the last 30 days.
   */
  confirm(listId: number, contactId: ContactKey): Promise<Contact>
  /**
   * Removes a contact from a list and from the list's topics. The contact itself stays.
   *
   * @throws MailkeepError `not_found`: no such list or contact. It is no error if the contact is not on the list.
   */
  removeFromList(listId: number, contactId: ContactKey): Promise<Contact>
  /**
   * Subscribes a contact to a topic. The contact must be on the topic's list.
   *
   * @throws MailkeepError `not_found`: no such contact or topic; `validation_failed`: the contact is not on the
   *   topic's list.
   */
  subscribeToTopic(contactId: ContactKey, topicId: number): Promise<Contact>
  /**
   * Unsubscribes a contact from a topic. It is no error if the contact is not subscribed.
   *
   * @throws MailkeepError `not_found`: no such contact or topic.
   */
  unsubscribeFromTopic(contactId: ContactKey, topicId: number): Promise<Contact>
  /**
   * Returns the links to a contact's pages, and the mail headers for unsubscribing with one click (RFC 8058). They never
   * expire, and stop working when the contact is erased. `createContactPages` of mailkeep/http and the daemon serve them.
   *
   * @throws MailkeepError `not_found`; `validation_failed` on `public_url`: the public URL is not configured.
   */
  links(id: ContactKey): Promise<ContactLinks>
  /**
   * Returns one page of the messages to a contact, newest first.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  messages(contact: ContactKey, query?: PageInput): Promise<Page<Message>>
  /**
   * Returns the contact's lists and topics, as the preferences page shows them, and the lists that it left there.
   *
   * @throws MailkeepError `not_found`
   */
  preferences(key: ContactKey): Promise<Preferences>
  /**
   * Changes lists and topics of a contact in one transaction, and raises their events.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: also when the contact would have too many lists or topics.
   */
  updatePreferences(key: ContactKey, input: PreferencesInput): Promise<Preferences>
  /**
   * Erases a contact, and every copy of its data in stored events and deliveries. On SQLite, a stored job then removes
   * the contact's text from the search index in the file. It starts after the commit, and pauses after each run.
   *
   * @param options `suppress` leaves a keyed hash of the address, so that it cannot be stored again.
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  delete(key: ContactKey, options?: EraseInput): Promise<void>
  /**
   * Returns one page of a contact's history, newest first: what changed its lists, topics and subscription, and where the
   * change came from. Entries are never changed, and are erased with the contact.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  history(id: ContactKey, query?: PageInput): Promise<Page<HistoryEntry>>
  /**
   * Returns everything that is stored about a contact as one JSON document (GDPR, article 15): a `PersonalData`. Links of
   * confirmations are left out.
   *
   * @returns Chunks of text. Whatever the length of the document, some records are in memory at a time.
   * @throws MailkeepError `not_found`, `validation_failed`, when the first chunk is read.
   */
  data(id: ContactKey): AsyncGenerator<string, void, undefined>
  /**
   * Records that the mailbox of a contact does not exist, as a mail provider reports it: suppresses the address, and adds
   * `bounced` to the history. Does nothing if the address is suppressed already.
   *
   * @throws MailkeepError `not_found`
   */
  recordBounce(key: ContactKey): Promise<void>
  /**
   * Records that a contact reported a mail as spam: suppresses its address, and adds `complained` to the history. Does
   * nothing if the address is suppressed already.
   *
   * @throws MailkeepError `not_found`
   */
  recordComplaint(key: ContactKey): Promise<void>
}
