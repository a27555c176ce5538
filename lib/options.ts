/**
 * Schemas of the options of the library's functions. Unknown options are rejected by name, so that a misspelt option
 * such as `{ webhook: … }` is noticed.
 */
import * as v from 'valibot'
import type { MailkeepOptions } from './mailkeep.ts'
import { checkOptionValues } from './option-values.ts'
import { closedObject, parse } from './parse.ts'
import type { KyselyOptions } from './storage/kysely.ts'
import type { PostgresOptions } from './storage/postgres.ts'
import type { SqliteOptions } from './storage/sqlite.ts'
import type { ContactPlace, TestOptions } from './testing.ts'
import type { LookupSettings } from './webhooks/http/resolve.ts'
import type { WebhookSettings } from './webhooks/settings.ts'

/** Options of `mailkeep.start`. */
export interface StartOptions {
  /** False: run only the housekeeping, because another process delivers. Default true. */
  readonly dispatch?: boolean
}

export interface CloseOptions {
  /** How long to wait for deliveries in flight. After that they are aborted and retried later. Default 10,000. */
  readonly timeoutMs?: number
}

export interface SubscriberOptions {
  /**
   * Unique name of the subscriber, 1–255 characters. After a restart, the same name continues with the waiting events.
   * Registering it with other event types changes its types from then on.
   */
  readonly name: string
}

/** Makes the compiler check that every option has a schema. */
type OptionsOf<Options> = Readonly<Record<keyof Options, v.GenericSchema>>

const anything = v.optional(v.unknown())

const webhooks = v.optional(
  closedObject({
    allowPrivate: anything,
    ports: anything,
    retryScheduleSeconds: anything,
    timeoutSeconds: anything,
    concurrency: anything,
    endpointsPerClient: anything,
    endpointConcurrency: anything,
    disableAfterFailures: anything,
    disableAfterHours: anything,
    testDeliveriesPerMinute: anything,
    retentionDays: anything,
  } satisfies OptionsOf<WebhookSettings>),
)

const lookup = v.optional(
  closedObject({
    resolver: anything,
    timeoutMs: anything,
    cacheMs: anything,
    now: anything,
  } satisfies OptionsOf<LookupSettings>),
)

const schemas = {
  createMailkeep: closedObject({
    database: anything,
    encryptionKey: anything,
    previousEncryptionKeys: anything,
    logger: anything,
    webhooks,
    identityProvider: anything,
    source: anything,
    clock: anything,
    sender: anything,
    migrate: anything,
    onEvent: anything,
    lookup,
  } satisfies OptionsOf<MailkeepOptions>),
  start: closedObject({ dispatch: anything } satisfies OptionsOf<StartOptions>),
  close: closedObject({ timeoutMs: anything } satisfies OptionsOf<CloseOptions>),
  on: closedObject({ name: anything } satisfies OptionsOf<SubscriberOptions>),
  kysely: closedObject({ dialect: anything } satisfies OptionsOf<KyselyOptions>),
  sqlite: closedObject({ nativeBinding: anything } satisfies OptionsOf<SqliteOptions>),
  postgres: closedObject({
    schema: anything,
    connections: anything,
    pooler: anything,
  } satisfies OptionsOf<PostgresOptions>),
  testMailkeep: closedObject({
    now: anything,
    webhooks,
    logger: anything,
    identityProvider: anything,
  } satisfies OptionsOf<TestOptions>),
  kitContact: closedObject({ list: anything } satisfies OptionsOf<ContactPlace>),
}

/**
 * Checks the options of one of the library's functions.
 *
 * @throws MailkeepError `validation_failed`, with paths such as `webhooks.timeoutMs`.
 */
export function checkOptions(of: keyof typeof schemas, options: unknown): void {
  parse(schemas[of], options, 'options')
  checkOptionValues(of, options)
}
