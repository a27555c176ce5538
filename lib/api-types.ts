/** The types of the API that a host calls, with the documentation that editors show. */
import type { Client, NewToken, Principal, Token } from './clients/schema.ts'
import type { BulkResult } from './contacts/merge.ts'
import type { Contact } from './contacts/schema.ts'
import type { Chunks, ImportReport } from './contacts/transfer/import.ts'
import type { IdempotencyApi } from './idempotency/api-types.ts'
import type { Identity } from './identities/schema.ts'
import type * as inputs from './inputs.ts'
import type { List } from './lists/schema.ts'
import type { Page } from './page.ts'
import type { Tag } from './tags/schema.ts'
import type { Topic } from './topics/schema.ts'
import type { EventsApi, WebhooksApi } from './webhooks/api-types.ts'

/** The tenants: `mailkeep.clients`. */
export interface ClientsApi {
  /**
   * Makes a client: a tenant with records of its own.
   *
   * @throws MailkeepError `validation_failed`
   */
  create(input: inputs.ClientInput): Promise<Client>
  /** All clients, by ascending id. */
  list(): Promise<Client[]>
  /** @throws MailkeepError `not_found` */
  get(id: number): Promise<Client>
  /** Renames a client. @throws MailkeepError `not_found`, `validation_failed` */
  rename(id: number, input: inputs.ClientInput): Promise<Client>
  /**
   * Deletes a client with all its records. Its tokens open nothing from the commit on, and its deliveries in flight are
   * aborted. Many rows are deleted in batches, by a stored job.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
  /**
   * Makes a first client, "default", with an admin token; nothing where there is a client already.
   *
   * @param input `token`: one of the caller's own instead of a random one.
   * @throws MailkeepError `validation_failed`
   */
  bootstrap(input?: { readonly token?: string | undefined }): Promise<{ client: Client; token: NewToken } | undefined>
}

/** The bearer tokens of the HTTP API: `mailkeep.tokens`. */
export interface TokensApi {
  /**
   * Makes a token; it is shown this once and stored as its SHA-256.
   *
   * @throws MailkeepError `validation_failed`, `not_found`: no such client.
   */
  create(input: inputs.TokenInput): Promise<NewToken>
  /**
   * The tokens of one client, or of all.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(filter?: { clientId?: number }): Promise<Token[]>
  /**
   * Revokes a token; from then on it opens nothing.
   *
   * @throws MailkeepError `not_found`
   */
  revoke(id: number): Promise<void>
  /** @returns whom the token stands for; undefined when it is unknown, revoked or expired, or its client is gone. */
  authenticate(token: string): Promise<Principal | undefined>
}

/** All that belongs to one client. An id of another client's is `not_found`. */
export interface ClientOperations {
  readonly contacts: ContactsApi
  readonly lists: ListsApi
  readonly tags: TagsApi
  readonly topics: TopicsApi
  readonly webhooks: WebhooksApi
  readonly events: EventsApi
  readonly identities: IdentitiesApi
}

/** `mailkeep.forClient(id)`: a client's operations, each by itself, or several at most once. */
export interface ClientMailkeep extends ClientOperations, IdempotencyApi {}

/** `mailkeep.forClient(id).contacts` */
export interface ContactsApi {
  /**
   * One page of the client's contacts, by ascending id. Inside one filter any value may match; different filters must
   * all match.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: inputs.ContactQueryInput): Promise<Page<Contact>>
  /** @throws MailkeepError `not_found` */
  get(id: number): Promise<Contact>
  /** How many contacts the client has, unsubscribed ones too. The database counts them: of a million for a tenth of a second. */
  count(): Promise<number>
  /**
   * As `list`, each contact as the JSON text that the database made: for those who pass it on, at half the cost.
   *
   * @throws MailkeepError `validation_failed`
   */
  listJson(query?: inputs.ContactQueryInput): Promise<Page<string>>
  /**
   * As `get`, as JSON text.
   *
   * @throws MailkeepError `not_found`
   */
  getJson(id: number): Promise<string>
  /**
   * Puts a contact on a list, creating the contact when its e-mail is new to the client. Tags are added, attributes
   * merge by key; someone unsubscribed stays so. Doing it again changes nothing and raises nothing. Raises
   * `contact.subscribed` for one that was not on the list.
   *
   * @param input Fields besides `email`, `name` and `tags` are attributes.
   * @returns The contact as stored after the change, and whether it is new.
   * @throws MailkeepError `not_found`: no such list; `validation_failed`: `input` breaks a rule.
   */
  addToList(listId: number, input: inputs.ContactInput): Promise<{ contact: Contact; created: boolean }>
  /**
   * As `addToList` for each, at a fraction of the cost. Each stands for itself: one that is refused leaves nothing
   * behind, and the others are saved. They are saved in transactions of some hundreds: what was saved before an error
   * stays, and doing it again changes nothing.
   *
   * @param inputs At most 10,000; an e-mail that comes twice is saved twice, in their order.
   * @returns What became of each, in the order of `inputs`.
   * @throws MailkeepError `not_found`: no such list; `validation_failed`: no array, or too many.
   */
  addManyToList(listId: number, inputs: readonly inputs.ContactInput[]): Promise<BulkResult[]>
  /**
   * Puts the contacts of a file on a list: each row as `addToList` does. A row that breaks a rule leaves nothing behind,
   * and the others are saved. What was saved before an error stays; doing it again changes nothing.
   *
   * @param source A stream of bytes or text, of any length: it is read no faster than its rows are saved. NDJSON has what
   *   `addToList` takes in each line; CSV names its columns in the first: `email`, `name`, `tags` (names between
   *   semicolons or commas, or a JSON array), and attributes. An empty cell says nothing.
   * @throws MailkeepError `not_found`: no such list; `invalid_json`: no UTF-8, or no CSV; `validation_failed`: the columns
   *   or the format.
   */
  import(listId: number, source: Chunks, options: inputs.ImportInput): Promise<ImportReport>
  /**
   * The client's contacts as a file: all that `list` has with the same filters, page by page. NDJSON has a contact in each
   * line; CSV has its fields as columns, the attributes as JSON, and of tags, lists and topics the names.
   *
   * @returns Pieces of text, of whole lines.
   * @throws MailkeepError `validation_failed`, when the first piece is asked for.
   */
  export(query: inputs.ExportInput): AsyncGenerator<string, void, undefined>
  /**
   * Changes a contact's name, tags and attributes; the e-mail address stays.
   *
   * @param input `tags` replaces the set, attributes merge by key.
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  update(id: number, input: inputs.ContactChangeInput): Promise<Contact>
  /**
   * Unsubscribes a contact from everything, and raises `contact.unsubscribed`; a second time keeps the first and
   * raises nothing.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  unsubscribe(id: number, options?: inputs.UnsubscribeInput): Promise<Contact>
  /**
   * Subscribes a contact again, and raises `contact.resubscribed`; one that is subscribed stays as it is.
   *
   * @throws MailkeepError `not_found`
   */
  resubscribe(id: number): Promise<Contact>
  /**
   * Takes a contact off one list, and so out of that list's topics; the contact itself stays.
   *
   * @throws MailkeepError `not_found`: no such list or contact. That the contact was not on the list is no error.
   */
  removeFromList(listId: number, contactId: number): Promise<Contact>
  /**
   * Subscribes a contact to a topic of a list it is on.
   *
   * @throws MailkeepError `not_found`: no such contact or topic; `validation_failed`: the contact is not on the
   *   topic's list.
   */
  subscribeToTopic(contactId: number, topicId: number): Promise<Contact>
  /**
   * Unsubscribes a contact from a topic; that it was not subscribed is no error.
   *
   * @throws MailkeepError `not_found`: no such contact or topic.
   */
  unsubscribeFromTopic(contactId: number, topicId: number): Promise<Contact>
  /**
   * Erases a contact, and with it every copy of its data in stored events and deliveries.
   * What searches had of it leaves SQLite's file by a stored job, which begins at once and rests after it has run.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}

/** `mailkeep.forClient(id).lists` */
export interface ListsApi {
  /**
   * One page of the client's lists, by ascending id.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: inputs.PageInput): Promise<Page<List>>
  /** @throws MailkeepError `validation_failed` */
  create(input: inputs.ListInput): Promise<List>
  /** @throws MailkeepError `not_found` */
  get(id: number): Promise<List>
  /**
   * Renames a list.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  update(id: number, input: inputs.ListInput): Promise<List>
  /**
   * Deletes a list with its topics and memberships; the contacts stay.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}

/** `mailkeep.forClient(id).tags` */
export interface TagsApi {
  /**
   * One page of the client's tags, by ascending id.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: inputs.PageInput): Promise<Page<Tag>>
  /** @throws MailkeepError `validation_failed`: also when the name is taken. */
  create(input: inputs.TagInput): Promise<Tag>
  /**
   * Renames a tag.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: also when another tag has the name.
   */
  update(id: number, input: inputs.TagInput): Promise<Tag>
  /**
   * Deletes a tag; contacts lose it at once.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}

/** `mailkeep.forClient(id).topics` */
export interface TopicsApi {
  /**
   * One page of a list's topics, by ascending id.
   *
   * @throws MailkeepError `not_found`: no such list; `validation_failed`.
   */
  list(listId: number, query?: inputs.PageInput): Promise<Page<Topic>>
  /** @throws MailkeepError `not_found`: no such list; `validation_failed`. */
  create(listId: number, input: inputs.TopicInput): Promise<Topic>
  /**
   * Renames or redescribes a topic.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  update(id: number, input: inputs.TopicChangeInput): Promise<Topic>
  /**
   * Deletes a topic; its subscribers lose it at once.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}

/** The client's sender addresses: `mailkeep.forClient(id).identities` */
export interface IdentitiesApi {
  /**
   * One page of the client's sender identities, by ascending id.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: inputs.IdentityQueryInput): Promise<Page<Identity>>
  /** @throws MailkeepError `not_found` */
  get(id: number): Promise<Identity>
  /**
   * Registers a sender address.
   *
   * @throws MailkeepError `validation_failed`: also when the client has the address already.
   */
  add(input: inputs.IdentityInput): Promise<Identity>
  /** @throws MailkeepError `not_found` */
  remove(id: number): Promise<void>
}

/** A door that takes whatever a caller sent, its ids excepted: every operation validates its input itself. */
export type Unchecked<Api> = {
  readonly [Name in keyof Api]: Api[Name] extends (...args: infer Args) => infer Result
    ? (...args: { [At in keyof Args]: NonNullable<Args[At]> extends number ? Args[At] : unknown }) => Result
    : Unchecked<Api[Name]>
}

/** The same client for input that nobody has looked at, as a server has it: decoded JSON, decoded query strings. */
export function unchecked(client: ClientOperations): Unchecked<ClientOperations> {
  return client as Unchecked<ClientOperations>
}
