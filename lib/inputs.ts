/** Types of the operations' inputs, with the documentation that editors show. Operations also validate at run time. */
import type { Role } from './clients/schema.ts'
import type { Format } from './contacts/transfer/format.ts'
import type { IdentityStatus } from './identities/schema.ts'
import type { EventType } from './webhooks/schema.ts'

/** A new client. */
export interface ClientInput {
  /** 1–255 characters. */
  readonly name: string
}

export interface TokenInput {
  /** The client whose records the token gives access to. */
  readonly clientId: number
  /** `member` has no access to webhook endpoints and events. */
  readonly role: Role
  /** Milliseconds from now. Without it the token is valid until it is revoked. */
  readonly expiresInMs?: number | undefined
  /** A label for people, 1–255 characters. */
  readonly name?: string | undefined
}

/** Selects a page of a listing. */
export interface PageInput {
  /** 1–100, default 25. */
  readonly per_page?: number | string | undefined
  /** `next_cursor` or `prev_cursor` of a page of the same listing. */
  readonly cursor?: string | undefined
}

/** One id or several, as numbers or as digits of a query string. */
export type IdsInput = number | string | readonly (number | string)[]

/** A contact matches a filter if it matches any of its values. It must match all filters. */
export interface ContactFiltersInput {
  /** Ids of lists, at most 100. */
  readonly lists?: IdsInput | undefined
  /** Ids of tags, at most 100. */
  readonly tags?: IdsInput | undefined
  /** Ids of topics, at most 100. */
  readonly topics?: IdsInput | undefined
  /** A substring of name or e-mail. It is matched literally and case-insensitively. */
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

/** Progress of an import. */
export interface ImportCounts {
  /** Rows read so far. */
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
  /** Tag names. Missing tags are created. */
  readonly tags?: readonly string[] | undefined
  /** An attribute: a string of at most 10,000 characters. Null deletes it; undefined changes nothing. */
  readonly [attribute: string]: string | null | undefined | readonly string[]
}

export interface ContactInput extends ContactFieldsInput {
  /** At most 254 characters. Identifies the contact, case-insensitively. */
  readonly email: string
}

/** Absent fields stay unchanged. `tags` replaces the set. */
export interface ContactChangeInput extends ContactFieldsInput {
  /** The e-mail address of a contact cannot be changed. */
  readonly email?: undefined
}

export interface UnsubscribeInput {
  /** Whether the contact unsubscribed, rather than the client; default false. */
  readonly byContact?: boolean | undefined
}

export interface ListInput {
  /** 1–255 characters. Two lists may have the same name. */
  readonly name: string
}

export interface TagInput {
  /** 1–255 characters, unique within the client, case-insensitively. */
  readonly name: string
}

export interface TopicInput {
  /** 1–255 characters. */
  readonly name: string
  /** At most 1,000 characters. */
  readonly description?: string | null | undefined
}

/** Absent fields stay unchanged. */
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
  /** At least one. Duplicates are removed. */
  readonly events: readonly EventType[]
  /** At most 1,000 characters; default `''`. */
  readonly description?: string | undefined
}

/** Absent fields stay unchanged. URL and events cannot be changed: delete the endpoint and create another. */
export interface EndpointChangeInput {
  readonly active?: boolean | undefined
  readonly description?: string | undefined
}

export interface EventInput {
  /** Event types that only the host app knows about. */
  readonly type: 'newsletter.sent' | 'sequence_step.sent' | 'sequence.completed'
  /** The event's content, written as JSON. The whole body may have at most 64 KiB. */
  readonly data: object
}

export interface RecoverInput {
  /** ISO 8601 with an offset, as in `2026-01-02T03:04:05Z`. */
  readonly since: string
}
