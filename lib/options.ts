/**
 * The options of the library's functions: what hosts pass beside an operation's input. An unknown option is refused by
 * its name, so that `{ webhook: … }` or `timeoutMs` never goes unnoticed.
 */
import * as v from 'valibot'
import type { MailkeepOptions } from './mailkeep.ts'
import { checkOptionValues } from './option-values.ts'
import { closedObject, parse } from './parse.ts'
import type { PostgresOptions } from './storage/postgres.ts'
import type { SqliteOptions } from './storage/sqlite.ts'
import type { ContactPlace, TestOptions } from './testing.ts'
import type { LookupSettings } from './webhooks/http/resolve.ts'
import type { WebhookSettings } from './webhooks/settings.ts'

/** What a process does once it is started. */
export interface StartOptions {
  /** false: only the house-keeping, where another process delivers. Default true. */
  readonly dispatch?: boolean
}

export interface CloseOptions {
  /** Deliveries that take longer are aborted, and sent again later; default 10,000. */
  readonly timeoutMs?: number
}

export interface SubscriberOptions {
  /**
   * The subscriber's own, 1–255 characters: it keeps its place over restarts. Registered again with other types, it gets
   * those from now on.
   */
  readonly name: string
}

/** A schema for each option, as the compiler checks. */
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
    clock: anything,
    sender: anything,
    onEvent: anything,
    lookup,
  } satisfies OptionsOf<MailkeepOptions>),
  start: closedObject({ dispatch: anything } satisfies OptionsOf<StartOptions>),
  close: closedObject({ timeoutMs: anything } satisfies OptionsOf<CloseOptions>),
  on: closedObject({ name: anything } satisfies OptionsOf<SubscriberOptions>),
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
