import PQueue from 'p-queue'
import type { ClientMailkeep, ClientsApi, TokensApi } from './api-types.ts'
import { bindClient, bindClients, bindTokens } from './bind.ts'
import { BoundedCache } from './bounded-cache.ts'
import { TokenCache } from './clients/token-cache.ts'
import type { Context, RaisedEvent } from './context.ts'
import { invalid, MailkeepError } from './errors.ts'
import { Housekeeping } from './housekeeping.ts'
import { sealedAnswers } from './idempotency/operations.ts'
import * as identities from './identities/operations.ts'
import type { IdentityProvider } from './identities/provider.ts'
import type { Identity } from './identities/schema.ts'
import { type Logger, silent } from './logger.ts'
import { type CloseOptions, checkOptions, type StartOptions, type SubscriberOptions } from './options.ts'
import { checkEncryptionKey } from './sealing/encryption-key.ts'
import { reseal } from './sealing/reseal.ts'
import { createSealer, type EncryptionKey } from './sealing/seal.ts'
import { closedMessage } from './storage/closed.ts'
import type { DatabaseSource, Storage } from './storage/connection.ts'
import { refuseIncompleteCopy } from './storage/copy-marker.ts'
import { type HostDatabase, sourceOf } from './storage/host/database.ts'
import { withinHostTransaction } from './storage/host/transaction.ts'
import { migrate } from './storage/migrate.ts'
import type { Clock } from './time.ts'
import { Dispatcher } from './webhooks/dispatch/dispatcher.ts'
import type { EventHandler } from './webhooks/handlers/handlers.ts'
import { type Subscriber, subscribe } from './webhooks/handlers/subscribers.ts'
import { Health, type Readiness, type Stats } from './webhooks/health.ts'
import type { LookupSettings } from './webhooks/http/resolve.ts'
import { createSender, type Sender } from './webhooks/http/send.ts'
import type { EventType } from './webhooks/schema.ts'
import { sealedSecrets } from './webhooks/secrets.ts'
import { defaultWebhookSettings, type WebhookSettings } from './webhooks/settings.ts'

export interface MailkeepOptions {
  /** `sqlite(file)`; its schema is brought up to date. */
  readonly database: HostDatabase
  /** Seals secrets at rest: 32 bytes, or base64 of them. Keep it: without it they cannot be read again. */
  readonly encryptionKey: EncryptionKey
  /** Keys used before: they open what they sealed, until `resealSecrets()` is done. */
  readonly previousEncryptionKeys?: readonly EncryptionKey[]
  readonly logger?: Logger
  /** What differs from `defaultWebhookSettings`. */
  readonly webhooks?: Partial<WebhookSettings>
  /** Asked by `refreshIdentities()`: `ses()` of mailkeep/ses, or your own. */
  readonly identityProvider?: IdentityProvider
  /** For tests: milliseconds since 1970; default: the database's clock where machines share it, else this one's. */
  readonly clock?: Clock
  /** For tests: what sends the deliveries, instead of guarded connections. */
  readonly sender?: Sender
  /** For tests: hears of every event once it is committed. */
  readonly onEvent?: (event: RaisedEvent) => void
  /** For tests: how host names of webhooks are looked up. */
  readonly lookup?: LookupSettings
}

/** How often other processes' commits are looked for. */
const pollMs = 50

/**
 * Opens a database and brings its schema up to date.
 *
 * @throws MailkeepError `unavailable`: it cannot be opened; `conflict`: another encryption key, or a newer version's
 *   database; `validation_failed` on each option that is wrong or unknown.
 */
export async function createMailkeep(options: MailkeepOptions): Promise<Mailkeep> {
  checkOptions('createMailkeep', options)
  const { database, encryptionKey, previousEncryptionKeys, logger = silent } = options
  const sealer = createSealer(encryptionKey, previousEncryptionKeys)
  const source = sourceOf(database)
  const storage = await source.open(logger)
  const clock = options.clock ?? storage.shared?.clock ?? Date.now
  try {
    await migrate(storage, source.migrations, clock)
    await refuseIncompleteCopy({ storage })
    await storage.migrated?.()
    const mailkeep = new Mailkeep(
      storage,
      { ...options, logger, hostLogger: options.logger, clock },
      sealer,
      source.migrations,
    )
    await mailkeep.check()
    return mailkeep
  } catch (error) {
    await storage.close()
    throw error
  }
}

type Wired = MailkeepOptions & { logger: Logger; hostLogger: Logger | undefined; clock: Clock }

/** A running mailkeep: `createMailkeep` makes one. */
export class Mailkeep {
  /** Where it reports what it does; undefined when the host gave no logger. */
  readonly logger: Logger | undefined
  readonly clients: ClientsApi
  readonly tokens: TokensApi
  readonly #ctx: Context
  readonly #storage: Storage
  readonly #dispatcher: Dispatcher
  readonly #housekeeping: Housekeeping
  readonly #health: Health
  readonly #identityProvider: IdentityProvider | undefined
  /** Made once: servers ask for one at every request. */
  readonly #clientApis = new BoundedCache<number, ClientMailkeep>(10_000)
  #poll: NodeJS.Timeout | undefined
  #closed: Promise<void> | undefined

  /** @internal Use `createMailkeep`. */
  constructor(
    storage: Storage,
    { logger, hostLogger, clock, lookup, webhooks, identityProvider, sender, onEvent }: Wired,
    sealer: Context['sealer'],
    migrations: DatabaseSource['migrations'],
  ) {
    this.logger = hostLogger
    const settings = { ...defaultWebhookSettings, ...webhooks }
    const ctx: Context = {
      storage,
      clientId: 0,
      clock,
      logger,
      sealer,
      tokens: new TokenCache(),
      webhooks: settings,
      onEvent,
      wakeDispatcher: () => {
        this.#dispatcher.wake()
        storage.shared?.notify()
      },
      abortDeliveries: (matches) => this.#dispatcher.abort(matches),
      batches: new PQueue({ concurrency: 1 }),
      idempotencyKeysInUse: new Set(),
      wakeJobs: () => this.#housekeeping.wake(),
    }
    this.#ctx = ctx
    this.#storage = storage
    this.#identityProvider = identityProvider
    this.#dispatcher = new Dispatcher(ctx, sender ?? createSender(settings, clock, lookup))
    this.#housekeeping = new Housekeeping(ctx)
    this.#health = new Health(ctx, this.#dispatcher, migrations)
    this.clients = bindClients(ctx)
    this.tokens = bindTokens(ctx)
  }

  /** @internal Holds the encryption key against the database. */
  check(): Promise<void> {
    return checkEncryptionKey(this.#ctx)
  }

  /**
   * All that belongs to one client.
   *
   * @throws MailkeepError `validation_failed`: no id. An unknown client's operations give `not_found`, or nothing.
   */
  forClient(clientId: number): ClientMailkeep {
    return this.#clientApis.get(clientId, () => bindClient({ ...this.#ctx, clientId }))
  }

  /**
   * The same inside a transaction of the host's own: its rows, the contact and its webhook event commit or vanish
   * together. Await every call before the transaction ends: a synchronous `db.transaction(fn)` of better-sqlite3 or
   * Drizzle cannot be used. Deliveries start within 250 ms of the commit.
   *
   * @param transaction Kysely's transaction, or the driver's handle with a transaction open: better-sqlite3's
   *   `Database` after BEGIN IMMEDIATE, a `pg` client after BEGIN.
   * @throws MailkeepError `validation_failed`: it is neither, has no transaction open, or is on another database. Calls
   *   after its end are refused so, too.
   */
  using(transaction: unknown): Pick<Mailkeep, 'clients' | 'tokens' | 'forClient'> {
    this.#refuseClosed()
    const storage = withinHostTransaction(this.#storage, this.#storage.adopt(transaction))
    const ctx = { ...this.#ctx, storage, tokens: new TokenCache(this.#ctx.tokens) }
    const forClient = (clientId: number) => bindClient({ ...ctx, clientId })
    return { clients: bindClients(ctx), tokens: bindTokens(ctx), forClient }
  }

  /**
   * Handles events in this process, of all clients: as durably as an endpoint over HTTP does, with the same log and
   * retries. Each event comes at least once; a handler that throws is called again on the schedule. While it runs, its
   * claim is renewed. Events are handled by processes that registered the name and were started; they wait meanwhile.
   *
   * @param types One event type, or several.
   * @param handler Called with the event and `{ deliveryId, attempt, signal }`. It must not await `deliverDue()`, which
   *   waits for the handlers.
   * @throws MailkeepError `validation_failed`: also when this process handles that name already.
   * @example
   * await mailkeep.on('contact.subscribed', ({ data }) => greet(data.contact.email), { name: 'greeter' })
   */
  async on<Type extends EventType>(
    types: Type | readonly Type[],
    handler: EventHandler<Type>,
    options: SubscriberOptions,
  ): Promise<Subscriber> {
    const events = typeof types === 'string' ? [types] : types
    checkOptions('on', options)
    return await subscribe(
      this.#ctx,
      this.#dispatcher.handlers,
      { name: options.name, events },
      handler as unknown as EventHandler,
    )
  }

  /**
   * Starts delivering webhooks, and the house-keeping; not needed where data is only written.
   *
   * @throws MailkeepError `validation_failed` on an option that is wrong; `unavailable`: it was closed.
   */
  start(options: StartOptions = {}): void {
    checkOptions('start', options)
    this.#refuseClosed()
    if (this.#poll) return
    this.#housekeeping.start()
    if (options.dispatch === false) return
    this.#dispatcher.start()
    this.#watch()
  }

  /** Whether it can do its work now: the database takes writes, its schema is ours, and deliveries are looked for. */
  ready(): Promise<Readiness> {
    return this.#health.ready()
  }

  /** Plain numbers about the work done by this process, and about what waits. */
  stats(): Promise<Stats> {
    return this.#health.stats()
  }

  /**
   * Does the stored jobs, delivers what is due now, and resolves when every attempt is recorded: for scheduled
   * functions and tests, where nothing was started.
   *
   * @returns when more will be due, in milliseconds since 1970; undefined: nothing waits.
   * @throws MailkeepError `unavailable`
   */
  async deliverDue(): Promise<number | undefined> {
    this.#refuseClosed()
    await this.#housekeeping.finish()
    return await this.#dispatcher.deliverDue()
  }

  /**
   * Seals every stored secret and kept answer with the current encryption key: after it the previous keys are not needed any more.
   *
   * @returns how many were sealed anew.
   */
  resealSecrets(): Promise<number> {
    return reseal(this.#ctx, [sealedSecrets, sealedAnswers])
  }

  /**
   * Asks the identity provider about every identity, of all clients, that is pending or verifying. Call it every few
   * minutes. What the provider cannot tell now stays as it is.
   *
   * @returns those whose status changed.
   * @throws MailkeepError `validation_failed`: there is no provider, or it is set up wrongly.
   */
  async refreshIdentities(): Promise<Identity[]> {
    if (!this.#identityProvider) throw invalid('identityProvider', 'No identity provider is configured.')
    return await identities.refreshIdentities(this.#ctx, this.#identityProvider)
  }

  /**
   * Finishes what is under way and closes the database.
   *
   * @throws MailkeepError `validation_failed` on an option that is wrong; then nothing is closed.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    checkOptions('close', options)
    this.#closed ??= this.#close(options.timeoutMs ?? 10_000)
    await this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #refuseClosed(): void {
    if (this.#closed) throw new MailkeepError('unavailable', closedMessage)
  }
  async #close(timeoutMs: number): Promise<void> {
    clearInterval(this.#poll)
    await Promise.all([this.#dispatcher.stop(timeoutMs), this.#housekeeping.stop()])
    await this.#storage.close()
  }

  /** Nothing in memory tells of a commit by another process, the command line or a host's own handle. */
  #watch(): void {
    this.#storage.shared?.onNotification(() => this.#dispatcher.wake())
    let seen = Number.NaN
    this.#poll = setInterval(async () => {
      const version = await this.#storage.version().catch(() => seen)
      if (version !== seen) this.#dispatcher.wake()
      seen = version
    }, pollMs)
  }
}
