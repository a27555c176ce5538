import type PQueue from 'p-queue'
import type { TokenCache } from './clients/token-cache.ts'
import type { JobHandlers } from './jobs/operations.ts'
import type { Logger } from './logger.ts'
import type { Sealer } from './sealing/seal.ts'
import type { Scope } from './storage/statement.ts'
import type { Within } from './storage/transaction.ts'
import { type Clock, type Timestamp, timestamp } from './time.ts'
import type { EventType } from './webhooks/schema.ts'
import type { WebhookSettings } from './webhooks/settings.ts'

/** First argument of every operation. Operations read no other global state. */
export interface Context extends Scope {
  /** The client whose records are used; 0 for operations on no particular client. */
  readonly clientId: number
  readonly clock: Clock
  readonly logger: Logger
  readonly sealer: Sealer
  readonly tokens: TokenCache
  readonly webhooks: WebhookSettings
  /** Wakes the dispatcher, because deliveries are due. */
  readonly wakeDispatcher: () => void
  /** Aborts the deliveries in flight for which `matches` returns true. */
  readonly abortDeliveries: (matches: (claimed: { endpointId: number; clientId: number }) => boolean) => void
  /** For tests: called with every event after its commit, even if no endpoint subscribes to it. */
  readonly onEvent?: ((event: RaisedEvent) => void) | undefined
  /** Runs batches of contacts one at a time, so that a single save waits for at most one or two batches of imports. */
  readonly batches: PQueue
  /** Idempotency keys whose first request is running in this process. */
  readonly idempotencyKeysInUse: Set<string>
  /** Called with each contact whose data an operation returns. Set where answers are stored for idempotency. */
  readonly onContactRead?: ((contactId: number) => void) | undefined
  /** The handlers of stored jobs, and a function that wakes the worker because there is a new job. */
  readonly jobs: { readonly handlers: JobHandlers; readonly wake: () => void }
}

/** A raised event. */
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
