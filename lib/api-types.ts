/** Types of the library's API, with the documentation that editors show. */
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
   * Creates a client (a tenant). Its records are separate from those of other clients.
   *
   * @throws MailkeepError `validation_failed`
   */
  create(input: inputs.ClientInput): Promise<Client>
  /** Returns all clients, by ascending id. */
  list(): Promise<Client[]>
  /** @throws MailkeepError `not_found` */
  get(id: number): Promise<Client>
  /** Renames a client. @throws MailkeepError `not_found`, `validation_failed` */
  rename(id: number, input: inputs.ClientInput): Promise<Client>
  /**
   * Deletes a client with all its records. From the commit on its tokens are invalid, and its deliveries in flight are
   * aborted. A stored job deletes large numbers of rows in batches.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
  /**
   * Creates the first client, "default", with an admin token. Does nothing if a client exists.
   *
   * @param input `token`: a token to use instead of a random one.
   * @throws MailkeepError `validation_failed`
   */
  bootstrap(input?: { readonly token?: string | undefined }): Promise<{ client: Client; token: NewToken } | undefined>
}

/** The bearer tokens of the HTTP API: `mailkeep.tokens`. */
export interface TokensApi {
  /**
   * Creates a token. The token is shown only here; the database stores its SHA-256.
   *
   * @throws MailkeepError `validation_failed`, `not_found`: no such client.
   */
  create(input: inputs.TokenInput): Promise<NewToken>
  /**
   * Returns the tokens of one client, or of all clients.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(filter?: { clientId?: number }): Promise<Token[]>
  /**
   * Revokes a token, which becomes invalid.
   *
   * @throws MailkeepError `not_found`
   */
  revoke(id: number): Promise<void>
  /** @returns The token's client and role; undefined when it is unknown, revoked or expired, or its client is deleted. */
  authenticate(token: string): Promise<Principal | undefined>
}

/** The operations on one client's records. An id of another client's record is `not_found`. */
export interface ClientOperations {
  readonly contacts: ContactsApi
  readonly lists: ListsApi
  readonly tags: TagsApi
  readonly topics: TopicsApi
  readonly webhooks: WebhooksApi
  readonly events: EventsApi
  readonly identities: IdentitiesApi
}

/** `mailkeep.forClient(id)`: a client's operations, and `withIdempotencyKey` to run several of them at most once. */
export interface ClientMailkeep extends ClientOperations, IdempotencyApi {}

/** `mailkeep.forClient(id).contacts` */
export interface ContactsApi {
  /**
   * Returns one page of the client's contacts, by ascending id. A contact matches a filter if it matches any of its values. It
   * must match all filters.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: inputs.ContactQueryInput): Promise<Page<Contact>>
  /** @throws MailkeepError `not_found` */
  get(id: number): Promise<Contact>
  /** Counts the client's contacts, including unsubscribed ones. A million contacts take about a tenth of a second. */
  count(): Promise<number>
  /**
   * Same as `list`, but each contact is JSON text built by the database. Half the cost for callers that forward the JSON.
   *
   * @throws MailkeepError `validation_failed`
   */
  listJson(query?: inputs.ContactQueryInput): Promise<Page<string>>
  /**
   * Same as `get`, but returns JSON text.
   *
   * @throws MailkeepError `not_found`
   */
  getJson(id: number): Promise<string>
  /**
   * Adds a contact to a list. Creates the contact if the client has none with this e-mail address. Adds tags, and merges
   * attributes by key. An unsubscribed contact stays unsubscribed. Raises `contact.subscribed` if the contact was not on
   * the list. A repeated call changes nothing and raises no event.
   *
   * @param input Fields besides `email`, `name` and `tags` are attributes.
   * @returns The contact as stored after the change, and whether it is new.
   * @throws MailkeepError `not_found`: no such list; `validation_failed`: `input` breaks a rule.
   */
  addToList(listId: number, input: inputs.ContactInput): Promise<{ contact: Contact; created: boolean }>
  /**
   * Same as `addToList` for each contact, at a fraction of the cost. Invalid contacts are refused, and the others are
   * saved. Each transaction saves some hundreds of contacts. After an error the contacts saved before it stay, and the
   * call can be repeated safely.
   *
   * @param inputs At most 10,000. A repeated e-mail address is saved once per occurrence, in order.
   * @returns The result of each contact, in the order of `inputs`.
   * @throws MailkeepError `not_found`: no such list; `validation_failed`: not an array, or too many contacts.
   */
  addManyToList(listId: number, inputs: readonly inputs.ContactInput[]): Promise<BulkResult[]>
  /**
   * Adds the contacts of a file to a list, each row as `addToList` does. Invalid rows are refused, and the others are
   * saved. After an error the rows saved before it stay, and the import can be repeated safely.
   *
   * @param source A stream of bytes or text, of any length, read with back-pressure. NDJSON: each line is an input of
   *   `addToList`. CSV: the first line names the columns `email`, `name`, `tags`, and attributes. Tags are names separated
   *   by semicolons or commas, or a JSON array. An empty cell changes nothing.
   * @throws MailkeepError `not_found`: no such list; `invalid_json`: not UTF-8, or not CSV; `validation_failed`: wrong
   *   columns or format.
   */
  import(listId: number, source: Chunks, options: inputs.ImportInput): Promise<ImportReport>
  /**
   * Exports the client's contacts as a file, with the filters of `list`. NDJSON has one contact per line. CSV has the
   * fields as columns, attributes as JSON, and the names of tags, lists and topics.
   *
   * @returns Chunks of text, each of whole lines, read page by page.
   * @throws MailkeepError `validation_failed`, when the first chunk is read.
   */
  export(query: inputs.ExportInput): AsyncGenerator<string, void, undefined>
  /**
   * Changes a contact's name, tags and attributes. The e-mail address cannot be changed.
   *
   * @param input `tags` replaces the set, attributes merge by key.
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  update(id: number, input: inputs.ContactChangeInput): Promise<Contact>
  /**
   * Unsubscribes a contact from everything, and raises `contact.unsubscribed`. A repeated call keeps the first time and
   * raises no event.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  unsubscribe(id: number, options?: inputs.UnsubscribeInput): Promise<Contact>
  /**
   * Subscribes a contact again, and raises `contact.resubscribed`. Does nothing if the contact is subscribed.
   *
   * @throws MailkeepError `not_found`
   */
  resubscribe(id: number): Promise<Contact>
  /**
   * Removes a contact from a list and from the list's topics. The contact itself stays.
   *
   * @throws MailkeepError `not_found`: no such list or contact. It is no error if the contact is not on the list.
   */
  removeFromList(listId: number, contactId: number): Promise<Contact>
  /**
   * Subscribes a contact to a topic. The contact must be on the topic's list.
   *
   * @throws MailkeepError `not_found`: no such contact or topic; `validation_failed`: the contact is not on the
   *   topic's list.
   */
  subscribeToTopic(contactId: number, topicId: number): Promise<Contact>
  /**
   * Unsubscribes a contact from a topic. It is no error if the contact is not subscribed.
   *
   * @throws MailkeepError `not_found`: no such contact or topic.
   */
  unsubscribeFromTopic(contactId: number, topicId: number): Promise<Contact>
  /**
   * Erases a contact, and every copy of its data in stored events and deliveries. On SQLite, a stored job then removes
   * the contact's text from the search index in the file. It starts after the commit, and pauses after each run.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}

/** `mailkeep.forClient(id).lists` */
export interface ListsApi {
  /**
   * Returns one page of the client's lists, by ascending id.
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
   * Deletes a list with its topics and memberships. The contacts stay.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}

/** `mailkeep.forClient(id).tags` */
export interface TagsApi {
  /**
   * Returns one page of the client's tags, by ascending id.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: inputs.PageInput): Promise<Page<Tag>>
  /** @throws MailkeepError `validation_failed`: also when the name is taken. */
  create(input: inputs.TagInput): Promise<Tag>
  /**
   * Renames a tag.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: also when the name is taken.
   */
  update(id: number, input: inputs.TagInput): Promise<Tag>
  /**
   * Deletes a tag, and removes it from all contacts.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}

/** `mailkeep.forClient(id).topics` */
export interface TopicsApi {
  /**
   * Returns one page of a list's topics, by ascending id.
   *
   * @throws MailkeepError `not_found`: no such list; `validation_failed`.
   */
  list(listId: number, query?: inputs.PageInput): Promise<Page<Topic>>
  /** @throws MailkeepError `not_found`: no such list; `validation_failed`. */
  create(listId: number, input: inputs.TopicInput): Promise<Topic>
  /**
   * Changes a topic's name or description.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  update(id: number, input: inputs.TopicChangeInput): Promise<Topic>
  /**
   * Deletes a topic with its subscriptions.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}

/** The client's sender addresses: `mailkeep.forClient(id).identities` */
export interface IdentitiesApi {
  /**
   * Returns one page of the client's sender identities, by ascending id.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: inputs.IdentityQueryInput): Promise<Page<Identity>>
  /** @throws MailkeepError `not_found` */
  get(id: number): Promise<Identity>
  /**
   * Registers a sender address.
   *
   * @throws MailkeepError `validation_failed`: also when the client already has the address.
   */
  add(input: inputs.IdentityInput): Promise<Identity>
  /** @throws MailkeepError `not_found` */
  remove(id: number): Promise<void>
}

/** An API whose inputs have the type `unknown`, except ids. Every operation validates its input. */
export type Unchecked<Api> = {
  readonly [Name in keyof Api]: Api[Name] extends (...args: infer Args) => infer Result
    ? (...args: { [At in keyof Args]: NonNullable<Args[At]> extends number ? Args[At] : unknown }) => Result
    : Unchecked<Api[Name]>
}

/** Returns the same client, typed for input that is not validated yet, such as decoded JSON and query strings. */
export function unchecked(client: ClientOperations): Unchecked<ClientOperations> {
  return client as Unchecked<ClientOperations>
}
