import * as v from 'valibot'
import { closedObject, Name } from '../parse.ts'
import { described, Id, type RecordFields, recordFrom, Time } from '../record.ts'
import type { Timestamp } from '../time.ts'

/** A tenant. */
export interface Client {
  id: number
  uuid: string
  name: string
  created_at: Timestamp
}

export const roles = ['admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

/** What the roles may do, for the description of the API. */
export const rolesText =
  '`viewer` reads, `member` also writes contacts, tags, lists, topics, segments, suppressions and drafts of newsletters, `admin` may do everything.'

/** A token as listings show it. The token itself is not stored. */
export interface Token extends ClientToken {
  client_id: number
  /** Null when it is not revoked. */
  revoked_at: Timestamp | null
}

/** A new token, shown only when it is created. */
export interface NewToken extends Pick<Token, 'id' | 'client_id' | 'name' | 'role' | 'created_at' | 'expires_at'> {
  /** The bearer token itself, which only this record shows. */
  token: string
}

/** The client and role that a request acts for. */
export interface Principal {
  clientId: number
  role: Role
  /** Limits the request to the routes of the portal: webhook endpoints and their deliveries. */
  scope?: 'webhooks' | undefined
  /** Id of the token, for logs; absent when the host authenticates in another way. */
  tokenId?: number | undefined
}

/** A new client. */
export interface ClientInput {
  /** 1–255 characters. */
  readonly name: string
}

export const NewClient = closedObject({ name: Name })

const PositiveInteger = v.pipe(
  v.number('This must be a number.'),
  v.safeInteger('This must be an integer.'),
  v.minValue(1, 'This must be positive.'),
)

export interface TokenInput {
  /** The client whose records the token gives access to. */
  readonly clientId: number
  /**
   * `viewer` reads, `member` also writes contacts, tags, lists, topics, segments, suppressions and drafts of newsletters,
   * `admin` may do everything.
   */
  readonly role: Role
  /** Milliseconds from now. Without it the token is valid until it is revoked. */
  readonly expiresInMs?: number | undefined
  /** A label for people, 1–255 characters. */
  readonly name?: string | undefined
}

const RoleName = v.picklist(roles, 'This must be admin, member or viewer.')

export const NewTokenInput = closedObject({
  clientId: PositiveInteger,
  role: RoleName,
  expiresInMs: v.optional(PositiveInteger),
  name: v.optional(Name),
})

/** A token of the client, as `forClient(id).tokens` and the HTTP API show it. */
export interface ClientToken {
  id: number
  /** A label for people; null when none was given. */
  name: string | null
  role: Role
  created_at: Timestamp
  /** null when it is valid until it is revoked. */
  expires_at: Timestamp | null
  /** To the minute; null before the first use. */
  last_used_at: Timestamp | null
}

/** The token of a request. */
export interface CurrentToken extends ClientToken {
  /** The client that the token opens. */
  client_id: number
}

/** A new token of the client. Only this record shows the token itself. */
export interface NewClientToken extends ClientToken {
  token: string
}

export const clientTokenFields: RecordFields<ClientToken> = {
  id: Id,
  name: described(v.nullable(v.string()), 'A label for people; null when none was given.'),
  role: v.picklist(roles),
  created_at: Time,
  expires_at: described(v.nullable(Time), 'null when it is valid until it is revoked.'),
  last_used_at: described(v.nullable(Time), 'To the minute; null before the first use.'),
}

export const currentTokenFields: RecordFields<CurrentToken> = {
  ...clientTokenFields,
  client_id: described(Id, 'The client that the token opens.'),
}

export const clientTokenFrom = recordFrom(clientTokenFields)

export interface ClientTokenInput {
  /** A label for people, 1–255 characters. */
  readonly name: string
  /**
   * `viewer` reads, `member` also writes contacts, tags, lists, topics, segments, suppressions and drafts of newsletters,
   * `admin` may do everything.
   */
  readonly role: Role
  /** Seconds from now. Without it the token is valid until it is revoked. */
  readonly expires_in?: number | undefined
}

export const NewClientToken = closedObject({
  name: Name,
  role: RoleName,
  expires_in: v.optional(PositiveInteger),
})

/** The filter of the token listing. */
export const TokenFilter = closedObject({ clientId: v.optional(PositiveInteger) })

/** A bearer token in the syntax `b64token` of RFC 6750. */
const BearerToken = v.pipe(
  v.string('This must be a string.'),
  v.regex(/^[A-Za-z0-9\-._~+/]{1,512}=*$/, 'This must be made of letters, digits and -._~+/ (RFC 6750).'),
)

export const Bootstrap = closedObject({ token: v.optional(BearerToken) })
