import type { KeyObject } from 'node:crypto'
import type { ClientTurns } from './client-turns.ts'
import type { Role } from './clients/schema.ts'
import type { TokenCache } from './clients/token-cache.ts'
import type { AddressHash } from './consent/address-hash.ts'
import type { Change } from './consent/history.ts'
import { invalid } from './errors.ts'
import type { HoldKey } from './idempotency/operations.ts'
import type { IdentityProvider } from './identities/schema.ts'
import type { JobHandlers } from './jobs/operations.ts'
import type { Logger } from './logger.ts'
import type { Sealer } from './sealing/seal.ts'
import type { MailPort } from './sending/settings.ts'
import type { Scope } from './storage/statement.ts'
import type { Within } from './storage/transaction.ts'
import { type Clock, type Timestamp, timestamp } from './time.ts'
import type { WebhookEvent } from './webhooks/receiver.ts'
import type { EventType } from './webhooks/schema.ts'
import type { WebhookPort } from './webhooks/settings.ts'

/** First argument of every operation. Operations read no other global state. */
export interface Context extends Scope {
  /** The client whose records are used; 0 for operations on no particular client. */
  readonly clientId: number
  readonly clock: Clock
  readonly logger: Logger
  readonly sealer: Sealer
  readonly local: Local
  /** Who makes the changes, for the audit log. */
  readonly caller: Caller
}

/** Where a change comes from. `sourceMeanings` says what each means. */
export type Source =
  | 'api'
  | 'library'
  | 'import'
  | 'cli'
  | 'preferences_page'
  | 'unsubscribe_page'
  | 'one_click'
  | 'confirmation_link'
  | 'provider'

/** Every source, with its meaning. */
const sourceMeanings: Readonly<Record<Source, string>> = {
  api: 'a request',
  library: 'the host app',
  import: 'an imported file',
  cli: 'the command line',
  preferences_page: 'the contact, on the page of its preferences',
  unsubscribe_page: 'the contact, on the page to unsubscribe',
  one_click: 'the mail program of the contact (RFC 8058)',
  confirmation_link: 'the contact, by the link of a confirmation mail',
  provider: 'a report of the mail provider',
}
export const sources = Object.keys(sourceMeanings) as Source[]

/** The sources with their meanings, for the description of the API. */
export const sourcesText = `${sources.map((source) => `\`${source}\`: ${sourceMeanings[source]}`).join('. ')}.`

/** Who makes the changes of a client's operations. */
export interface Caller {
  readonly source: Source
  /** Id of the token that authenticated the caller. */
  readonly tokenId?: number | undefined
  /** Role of the token. A caller without a role may do everything. */
  readonly role?: Role | undefined
  /** Address of the contact's device, for what the contact did itself. The history keeps it. */
  readonly ip?: string | undefined
  /** `User-Agent` of the contact's browser, for what the contact did itself. */
  readonly userAgent?: string | undefined
}

/** The slices' ports to this process. `createMailkeep` makes them; their state stays in closures. */
export interface Local {
  readonly tokens: TokenCache
  readonly webhooks: WebhookPort
  readonly mail: MailPort
  readonly identityProvider?: IdentityProvider
  /** Called in the transaction of changes of memberships, after they were recorded. */
  readonly onMemberships: (tx: Tx, changes: readonly Change[]) => Promise<void>
  /** Called in the transaction that deletes a list. */
  readonly onListDeleted: (tx: Tx, listId: number) => Promise<void>
  /** Called in the transaction that deletes a tag. */
  readonly onTagDeleted: (tx: Tx, tagId: number) => Promise<void>
  /** Called in the transaction after which contacts can no longer be filtered by an attribute. */
  readonly onAttributeRemoved: (tx: Tx, name: string) => Promise<void>
  /** Called in the transaction that merges a contact into another one, before it changes anything. */
  readonly onMerge: (tx: Tx, contactId: number) => Promise<void>
  /** Called in the transaction that asks contacts to confirm, before the events are raised. */
  readonly onConfirmationRequests: (tx: Tx) => Promise<void>
  /** The URL before `/c/` in links to the contact pages; undefined when it is not configured. */
  readonly publicUrl: () => string | undefined
  /** The handlers of stored jobs, and a function that wakes the worker because there is a new job. */
  readonly jobs: { readonly handlers: JobHandlers; readonly wake: () => void }
  /**
   * Runs the batches of this process one at a time, so that a single save waits for at most one or two of them. Clients
   * take turns.
   */
  readonly batches: ClientTurns
  readonly holdKey: HoldKey
  readonly addresses: AddressHash
  /** Signs the tokens of links. */
  readonly linkKey: KeyObject
  /** Called with each contact whose data an operation returns. Set where answers are stored for idempotency. */
  readonly onContactRead?: (contactId: number) => void
}

/** A raised event. Its type says which data it has. */
export type RaisedEvent<Type extends EventType = EventType> = {
  [Each in Type]: Omit<Extract<WebhookEvent, { type: Each }>, 'id'> & { readonly clientId: number }
}[Type]

/** A context inside a transaction. */
export type Tx = Within<Context>

export function now(ctx: Context): Timestamp {
  return timestamp(ctx.clock())
}

const noPublicUrl =
  'Links need the URL at which people reach this service: set MAILKEEP_PUBLIC_URL, or the option publicUrl of createMailkeep.'

/** Returns the URL of this service without a slash at its end. @throws MailkeepError `validation_failed` on `public_url` */
export function requirePublicUrl(ctx: Context): string {
  const url = ctx.local.publicUrl()
  if (url === undefined) throw invalid('public_url', noPublicUrl)
  // Headers of mails need ASCII, and the scheme in lower case decides about the header for one click.
  return new URL(url).href.replace(/\/+$/, '')
}

/** Whether the caller may do what needs the role admin. The library's own callers have no role and may do everything. */
export function isAdmin({ caller }: Context): boolean {
  return caller.role === undefined || caller.role === 'admin'
}
