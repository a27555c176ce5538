import type PQueue from 'p-queue'
import type { TokenCache } from './clients/token-cache.ts'
import type { Logger } from './logger.ts'
import type { Sealer } from './sealing/seal.ts'
import type { Scope } from './storage/statement.ts'
import type { Within } from './storage/transaction.ts'
import { type Clock, type Timestamp, timestamp } from './time.ts'
import type { EventType } from './webhooks/schema.ts'
import type { WebhookSettings } from './webhooks/settings.ts'

/** What every operation gets first: nothing else is read from outside. */
export interface Context extends Scope {
  /** Whose records these are; 0 where no client is meant. */
  readonly clientId: number
  readonly clock: Clock
  readonly logger: Logger
  readonly sealer: Sealer
  readonly tokens: TokenCache
  readonly webhooks: WebhookSettings
  /** Tells the dispatcher that deliveries are due. */
  readonly wakeDispatcher: () => void
  /** Aborts the deliveries in flight that it selects. */
  readonly abortDeliveries: (matches: (claimed: { endpointId: number; clientId: number }) => boolean) => void
  /** For tests: hears of every event once it is committed, also of those that nobody takes. */
  readonly onEvent?: ((event: RaisedEvent) => void) | undefined
  /** Batches of many contacts, one at a time: however many imports there are, a save waits for no more than one or two. */
  readonly batches: PQueue
  /** The keys of idempotency whose first request runs in this process. */
  readonly idempotencyKeysInUse: Set<string>
  /** Hears of each contact whose personal data an operation gives out; where answers are kept. */
  readonly onContactRead?: ((contactId: number) => void) | undefined
  /** Tells the house-keeping that there is a stored job. */
  readonly wakeJobs: () => void
}

/** An event as it was raised. */
export interface RaisedEvent {
  readonly clientId: number
  readonly type: EventType
  readonly created_at: Timestamp
  readonly data: object
}

/** A context inside a transaction. */
export type Tx = Within<Context>

export function now(ctx: Context): Timestamp {
  return timestamp(ctx.clock())
}
