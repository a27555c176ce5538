/** What callers hand in, as the editor shows it. Operations validate it all the same: types are gone at run time. */
import type { Role } from './clients/schema.ts'
import type { Format } from './contacts/transfer/format.ts'
import type { IdentityStatus } from './identities/schema.ts'
import type { EventType } from './webhooks/schema.ts'

/** A tenant to be. */
export interface ClientInput {
  /** 1–255 characters. */
  readonly name: string
}

export interface TokenInput {
  /** Whose records the token opens. */
  readonly clientId: number
  /** `member` cannot touch webhook endpoints and events. */
  readonly role: Role
  /** Milliseconds from now; without it the token lasts until it is revoked. */
  readonly expiresInMs?: number | undefined
  /** For people, to tell tokens apart: 1–255 characters. */
  readonly name?: string | undefined
}

/** A place in a listing. */
export interface PageInput {
  /** 1–100, default 25. */
  readonly per_page?: number | string | undefined
  /** `next_cursor` or `prev_cursor` of a page of the same listing. */
  readonly cursor?: string | undefined
}

/** One id or several; digits too, as query strings have them. */
export type IdsInput = number | string | readonly (number | string)[]

/** Inside one filter any value may match; different filters must all match. */
export interface ContactFiltersInput {
  /** Ids of lists, at most 100. */
  readonly lists?: IdsInput | undefined
  /** Ids of tags, at most 100. */
  readonly tags?: IdsInput | undefined
  /** Ids of topics, at most 100. */
  readonly topics?: IdsInput | undefined
  /** A substring of name or e-mail, taken literally, without regard to case. */
  readonly search?: string | undefined
  /** Default false. */
  readonly include_unsubscribed?: boolean | '1' | '0' | 'true' | 'false' | undefined
}

export interface ContactQueryInput extends ContactFiltersInput, PageInput {}

export interface ImportInput {
  readonly format: Format
  /** Called after each batch of rows, with the counts so far. */
  readonly onProgress?: ((counts: ImportCounts) => void) | undefined
}

/** How far an import has come. */
export interface ImportCounts {
  /** Rows that were read. */
  readonly total: number
  readonly created: number
  readonly updated: number
  readonly refused: number
}

export interface ExportInput extends ContactFiltersInput {
  readonly format: Format
}

/** The known fields of a contact; every other field is an attribute. */
export interface ContactFieldsInput {
  /** At most 255 characters. */
  readonly name?: string | undefined
  /** Names of tags; those that do not exist are made. */
  readonly tags?: readonly string[] | undefined
  /** An attribute: a string of at most 10,000 characters; null deletes it, undefined says nothing. */
  readonly [attribute: string]: string | null | undefined | readonly string[]
}

export interface ContactInput extends ContactFieldsInput {
  /** At most 254 characters; it finds the contact, without regard to case. */
  readonly email: string
}

/** What is absent stays; `tags` replaces the set. */
export interface ContactChangeInput extends ContactFieldsInput {
  /** The e-mail address of a contact cannot be changed. */
  readonly email?: undefined
}

export interface UnsubscribeInput {
  /** Whether the contact did it, as opposed to the client; default false. */
  readonly byContact?: boolean | undefined
}

export interface ListInput {
  /** 1–255 characters; two lists may have one name. */
  readonly name: string
}

export interface TagInput {
  /** 1–255 characters, unique in the client without regard to case. */
  readonly name: string
}

export interface TopicInput {
  /** 1–255 characters. */
  readonly name: string
  /** At most 1,000 characters. */
  readonly description?: string | null | undefined
}

/** What is absent stays. */
export type TopicChangeInput = Partial<TopicInput>

export interface IdentityInput {
  readonly email: string
  /** The sender's name, at most 255 characters; default `''`. */
  readonly name?: string | undefined
  /** Default `pending`. */
  readonly status?: IdentityStatus | undefined
}

export interface IdentityQueryInput extends PageInput {
  readonly identity_status?: IdentityStatus | undefined
}

export interface EndpointInput {
  /** `https`, a public host, port 443 or 8443, at most 2,048 characters. */
  readonly url: string
  /** At least one; repeats are dropped. */
  readonly events: readonly EventType[]
  /** At most 1,000 characters; default `''`. */
  readonly description?: string | undefined
}

/** What is absent stays. URL and events stay in any case: delete the endpoint and create another. */
export interface EndpointChangeInput {
  readonly active?: boolean | undefined
  readonly description?: string | undefined
}

export interface EventInput {
  /** The events that only the host app can know of. */
  readonly type: 'newsletter.sent' | 'sequence_step.sent' | 'sequence.completed'
  /** What its receivers shall know: JSON, with the rest of the body at most 64 KiB. */
  readonly data: object
}

export interface RecoverInput {
  /** ISO 8601 with its offset: `2026-01-02T03:04:05Z`. */
  readonly since: string
}
