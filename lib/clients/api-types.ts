/**
 * Types of the operations, with the documentation that editors show. Written by `npm run reference` from lib/bind.ts and
 * the docstrings of the operations: change them, not this file.
 */
import type { Page, PageInput } from '../page.ts'
import type { PortalLink, PortalLinkInput } from './portal.ts'
import type {
  Client,
  ClientInput,
  ClientToken,
  ClientTokenInput,
  CurrentToken,
  NewClientToken,
  NewToken,
  Principal,
  Token,
  TokenInput,
} from './schema.ts'

/** The tenants: `mailkeep.clients`. */
export interface ClientsApi {
  /**
   * Creates a client (a tenant). Its records are separate from those of other clients.
   *
   * @throws MailkeepError `validation_failed`
   */
  create(input: ClientInput): Promise<Client>
  /** Returns all clients, by ascending id. */
  list(): Promise<Client[]>
  /** @throws MailkeepError `not_found` */
  get(id: number): Promise<Client>
  /** Renames a client. @throws MailkeepError `not_found`, `validation_failed` */
  rename(id: number, input: ClientInput): Promise<Client>
  /**
   * Deletes a client with all its records. From the commit on its tokens are invalid, and its deliveries in flight are
   * aborted. A stored job deletes its rows in batches. On SQLite the first batch is deleted immediately.
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
  create(input: TokenInput): Promise<NewToken>
  /**
   * Returns the tokens of one client, or of all clients.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(filter?: { readonly clientId?: number | undefined }): Promise<Token[]>
  /**
   * Revokes a token, which becomes invalid. Doing it again changes nothing.
   *
   * @throws MailkeepError `not_found`
   */
  revoke(id: number): Promise<void>
  /** @returns The token's client and role; undefined when it is unknown, revoked or expired, or its client is deleted. */
  authenticate(token: string): Promise<Principal | undefined>
}

/** The client's bearer tokens of the HTTP API: `mailkeep.forClient(id).tokens` */
export interface ClientTokensApi {
  /**
   * Returns one page of the client's tokens, by ascending id, without the secret values. Revoked tokens are not listed.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: PageInput): Promise<Page<ClientToken>>
  /**
   * Returns the token that authenticates the caller, which `forClient` was given as `tokenId`.
   *
   * @throws MailkeepError `not_found`: the caller has no token.
   */
  current(): Promise<CurrentToken>
  /**
   * Creates a token of the client. The token is shown only here; the database stores its SHA-256.
   *
   * @throws MailkeepError `validation_failed`; `not_found`: no such client.
   */
  create(input: ClientTokenInput): Promise<NewClientToken>
  /**
   * Revokes a token of the client, which becomes invalid.
   *
   * @throws MailkeepError `not_found`: no such token, or it is revoked already.
   */
  revoke(id: number): Promise<void>
}

/** `mailkeep.forClient(id).portal` */
export interface PortalApi {
  /**
   * Creates a link that opens the console's webhook pages for this client only. It cannot be revoked before it expires.
   *
   * @throws MailkeepError `validation_failed`: also on `public_url`, when no public URL is set; `not_found`: no such client.
   */
  createLink(input?: PortalLinkInput): Promise<PortalLink>
}
