import { defined, type Optional } from './collections.ts'
import type { RaisedEvent, Source } from './context.ts'
import type { IdentityProvider } from './identities/schema.ts'
import type { Logger } from './logger.ts'
import type { EncryptionKey } from './sealing/seal.ts'
import type { MailSettings } from './sending/settings.ts'
import type { DatabaseSource } from './storage/database.ts'
import type { Clock } from './time.ts'
import type { LookupSettings } from './webhooks/http/resolve.ts'
import type { Sender } from './webhooks/http/send.ts'
import type { WebhookSettings } from './webhooks/settings.ts'

export interface MailkeepOptions {
  /** `sqlite(…)`, `postgres(…)` or `kysely(…)`. Its schema is migrated to this version. */
  readonly database: DatabaseSource
  /** Encrypts stored secrets: 32 bytes, or base64 of them. Back it up: without it the secrets cannot be decrypted. */
  readonly encryptionKey: EncryptionKey
  /** Earlier keys, to decrypt secrets until `resealSecrets()` has re-encrypted them. */
  readonly previousEncryptionKeys?: readonly EncryptionKey[] | undefined
  /** Receives mailkeep's log, also errors of background work. `console` fits. Default: nothing is logged. */
  readonly logger?: Logger | undefined
  /** Settings that differ from `defaultWebhookSettings`. */
  readonly webhooks?: Optional<WebhookSettings> | undefined
  /** How mail is sent, and settings that differ from `defaultMailSettings`. Without a transport nothing is sent. */
  readonly mail?: Optional<MailSettings> | undefined
  /** Used by `refreshIdentities()`: `ses()` of mailkeep/ses, or your own. */
  readonly identityProvider?: IdentityProvider | undefined
  /**
   * The URL before `/c/` in links to the contact pages, such as `https://mail.example.com`; a function if it is known
   * only later. Without it, links fail with `validation_failed`.
   */
  readonly publicUrl?: string | (() => string | undefined) | undefined
  /** What the audit log shows as the source of changes. Default `library`; `cli` for a command-line program. */
  readonly source?: Source | undefined
  /** For tests: returns milliseconds since 1970. Default: the clock of a shared database server, else this machine's. */
  readonly clock?: Clock | undefined
  /** For tests: sends the deliveries instead of the built-in sender, which checks addresses. */
  readonly sender?: Sender | undefined
  /** False: checks the schema and never changes it, for a database role without that right. Default true. */
  readonly migrate?: boolean | undefined
  /**
   * Called in this process with every event of its changes, after the commit and before any delivery. Nothing is stored or
   * repeated for it: use `mailkeep.on` for work that must happen. Its errors are logged. Of a call with `using()` it is
   * called after the call, also if the host then rolls back.
   */
  readonly onEvent?: ((event: RaisedEvent) => void) | undefined
  /** For tests: how host names of webhooks are resolved. */
  readonly lookup?: LookupSettings | undefined
}

/** Options of `mailkeep.start`. */
export interface StartOptions {
  /** False: do only the background work, because another process delivers and sends. Default true. */
  readonly dispatch?: boolean | undefined
}

export interface CloseOptions {
  /** How long to wait for deliveries in flight. After that they are aborted and retried later. Default 10,000. */
  readonly timeoutMs?: number | undefined
}

export interface SubscriberOptions {
  /**
   * Unique name of the subscriber, 1–255 characters. After a restart, the same name continues with the waiting events.
   * Registering it with other event types changes its types from then on.
   */
  readonly name: string
}

/** Returns the defaults, with the given settings in their place. A setting that is undefined keeps its default. */
export function withDefaults<Settings extends object>(defaults: Settings, given: Optional<Settings> = {}): Settings {
  return { ...defaults, ...defined(given) }
}
