import { type AbortInput, AbortOptions } from './abort.ts'
import { Background } from './background.ts'
import { bindClient, checkCaller, clientsApi, linksApi, tokensApi } from './bind.ts'
import { bind } from './bind-context.ts'
import { BoundedCache } from './bounded-cache.ts'
import type { ClientMailkeep } from './client-api.ts'
import { ClientTurns } from './client-turns.ts'
import type { ClientsApi, TokensApi } from './clients/api-types.ts'
import { TokenCache } from './clients/token-cache.ts'
import { loadAddressHash } from './consent/address-hash.ts'
import { loadLinkKey } from './consent/links.ts'
import type { LinksApi } from './contacts/api-types.ts'
import type { Caller, Context, Local } from './context.ts'
import { closed } from './errors.ts'
import { jobHandlersOf } from './housekeeping.ts'
import { holdKeys, sealedResults } from './idempotency/operations.ts'
import * as identities from './identities/operations.ts'
import type { Identity } from './identities/schema.ts'
import { type Logger, neverThrowing, silent } from './logger.ts'
import { checkedClock, checkedPublicUrl, checkOptions } from './option-schemas.ts'
import {
  type CloseOptions,
  type MailkeepOptions,
  type StartOptions,
  type SubscriberOptions,
  withDefaults,
} from './options.ts'
import { parse, requireId } from './parse.ts'
import { checkEncryptionKey } from './sealing/encryption-key.ts'
import { reseal } from './sealing/reseal.ts'
import { createSealer } from './sealing/seal.ts'
import { Outage } from './sending/dispatch/outage.ts'
import { sendingHooks } from './sending/jobs.ts'
import { defaultMailSettings } from './sending/settings.ts'
import type { Database, DatabaseSource } from './storage/database.ts'
import { checkSource } from './storage/kysely.ts'
import { openSchema } from './storage/migrate.ts'
import type { Clock } from './time.ts'
import type { EventHandler } from './webhooks/handlers/handlers.ts'
import { type Subscriber, subscribe } from './webhooks/handlers/subscribers.ts'
import { Health, type Readiness, type Stats } from './webhooks/health.ts'
import { createSender } from './webhooks/http/send.ts'
import type { EventType } from './webhooks/schema.ts'
import { sealedPreviousSecrets, sealedSecrets } from './webhooks/secrets.ts'
import { defaultWebhookSettings } from './webhooks/settings.ts'

/** Maximum cached client APIs. Each takes 11 KB. Creating one takes 16 µs. */
const maxCachedClientApis = 1000

/**
 * Opens a database and migrates its schema to this version.
 *
 * @throws MailkeepError `unavailable`: it cannot be opened; `internal`: the SQLite file is damaged, or is no database;
 *   `conflict`: another encryption key, the database of a newer version, or a missing migration with `migrate: false`;
 *   `validation_failed` on each option that is wrong or unknown.
 * @example
 * const mailkeep = await createMailkeep({ database: sqlite('mail.db'), encryptionKey })
 * mailkeep.start()
 * const acme = mailkeep.forClient(1) // the id that clients.create returned
 */
export async function createMailkeep(options: MailkeepOptions): Promise<Mailkeep> {
  checkOptions('createMailkeep', options)
  const { database, encryptionKey, previousEncryptionKeys } = options
  const logger = neverThrowing(options.logger ?? silent)
  const sealer = createSealer(encryptionKey, previousEncryptionKeys)
  const source = checkSource(database)
  const storage = await source.open(logger, options.migrate !== false)
  const clock = options.clock ? checkedClock(options.clock) : storage.clock
  try {
    await openSchema(storage, source.migrations, clock, options.migrate)
    await checkEncryptionKey({ storage, sealer })
    const addresses = await loadAddressHash({ storage, sealer })
    const keys = { sealer, addresses, linkKey: await loadLinkKey({ storage, sealer }) }
    return new Mailkeep(storage, { ...options, logger, hostLogger: options.logger, clock }, keys, source.migrations)
  } catch (error) {
    await storage.close()
    throw error
  }
}

/** An open mailkeep. `createMailkeep` returns one. */
export class Mailkeep {
  /** The host's logger; undefined when the host passed none. */
  readonly logger: Logger | undefined
  readonly clients: ClientsApi
  readonly tokens: TokensApi
  readonly links: LinksApi
  readonly #ctx: Context
  readonly #background: Background
  readonly #health: Health
  /** Cached, because servers need one at every request. */
  readonly #clientApis = new BoundedCache<number | string, ClientMailkeep>(maxCachedClientApis)
  #closed: Promise<void> | undefined

  /** @internal Use `createMailkeep`. */
  constructor(
    storage: Database,
    options: MailkeepOptions & { logger: Logger; hostLogger: Logger | undefined; clock: Clock },
    { sealer, addresses, linkKey }: Pick<Context, 'sealer'> & Pick<Local, 'addresses' | 'linkKey'>,
    migrations: DatabaseSource['migrations'],
  ) {
    const { logger, clock, publicUrl } = options
    this.logger = options.hostLogger
    const settings = withDefaults(defaultWebhookSettings, options.webhooks)
    const ctx: Context = {
      storage,
      clientId: 0,
      clock,
      logger,
      sealer,
      caller: { source: options.source ?? 'library' },
      local: {
        tokens: new TokenCache(),
        publicUrl: typeof publicUrl === 'function' ? checkedPublicUrl(publicUrl) : () => publicUrl,
        webhooks: {
          settings,
          onEvent: options.onEvent,
          wake: () => {
            this.#background.dispatcher.loop.wake()
            storage.changes.notify()
          },
          abort: (matches) => this.#background.dispatcher.loop.abort(matches),
        },
        mail: {
          settings: withDefaults(defaultMailSettings, options.mail),
          outage: new Outage(clock, logger),
          wake: () => {
            this.#background.mailer.loop.wake()
            storage.changes.notify()
          },
        },
        ...(options.identityProvider && { identityProvider: options.identityProvider }),
        ...sendingHooks,
        jobs: { handlers: jobHandlersOf(options.mail), wake: () => this.#background.housekeeping.wake() },
        batches: new ClientTurns({ ofClient: 1, inAll: 1 }),
        holdKey: holdKeys(),
        addresses,
        linkKey,
      },
    }
    this.#ctx = ctx
    this.#background = new Background(ctx, options.sender ?? createSender(settings, clock, options.lookup))
    this.#health = new Health(ctx, this.#background.dispatcher, this.#background.mailer, migrations)
    this.clients = bind(ctx, clientsApi)
    this.tokens = bind(ctx, tokensApi)
    this.links = bind(ctx, linksApi)
  }

  /**
   * Returns the operations on one client's records. For an unknown client they throw `not_found` or return nothing.
   *
   * @param caller Who makes the changes, for the audit log and the history of contacts. Default: this app.
   * @throws MailkeepError `validation_failed`: not an id.
   */
  forClient(clientId: number, caller?: Caller): ClientMailkeep {
    if (caller === undefined) return this.#clientApis.get(clientId, () => bindClient({ ...this.#ctx, clientId }))
    requireId('clientId', clientId) // before the lookup, where the text '1' is the same key as the number
    const own = checkCaller(caller)
    const api = () => bindClient({ ...this.#ctx, clientId, caller: own })
    const { source, tokenId, role, ip, userAgent } = own
    if (ip !== undefined || userAgent !== undefined) return api() // of one request
    return this.#clientApis.get(`${clientId} ${source} ${tokenId} ${role}`, api)
  }

  /**
   * Runs operations inside the host's transaction, so that the host's rows and mailkeep's changes and events commit or
   * roll back together. Await every call before the next statement of your own and before the end. A synchronous
   * `db.transaction(fn)` of better-sqlite3 or Drizzle cannot be used. Deliveries start within 250 ms of the commit.
   *
   * @param transaction Kysely's transaction, or a driver's handle with an open transaction: better-sqlite3's `Database`
   *   after BEGIN IMMEDIATE, or a `pg` client after BEGIN.
   * @throws MailkeepError `validation_failed`: it is neither, has no open transaction, or is on another database. Calls
   *   after the transaction's end throw the same error.
   */
  using(transaction: unknown): Pick<Mailkeep, 'clients' | 'tokens' | 'forClient'> {
    this.#refuseClosed()
    const { local } = this.#ctx
    const storage = this.#ctx.storage.within(transaction)
    const ctx = { ...this.#ctx, storage, local: { ...local, tokens: new TokenCache(local.tokens) } }
    const forClient = (clientId: number, caller = ctx.caller) =>
      bindClient({ ...ctx, clientId, caller: checkCaller(caller) })
    return { clients: bind(ctx, clientsApi), tokens: bind(ctx, tokensApi), forClient }
  }

  /**
   * Handles events of all clients in this process, with the durability, log and retries of a webhook endpoint. Each
   * event is handled at least once. When the handler throws, it is called again on the retry schedule. Its lease is
   * renewed while it runs. Only started processes that registered the name handle its events; until then events wait.
   *
   * @param types One event type, or several; `'*'` for every type.
   * @param handler Called with the event and `{ deliveryId, attempt, signal }`. It must not await `deliverDue()`, which
   *   waits for the handlers.
   * @throws MailkeepError `validation_failed`: also when this process already has a handler of that name.
   * @example
   * await mailkeep.on('contact.subscribed', ({ data }) => greet(data.contact.email), { name: 'greeter' })
   */
  async on<Type extends EventType | '*'>(
    types: Type | readonly Type[],
    handler: EventHandler<Type>,
    options: SubscriberOptions,
  ): Promise<Subscriber> {
    const events = typeof types === 'string' ? [types] : types
    checkOptions('on', options)
    return await subscribe(
      this.#ctx,
      this.#background.dispatcher.handlers,
      { name: options.name, events },
      handler as unknown as EventHandler,
    )
  }

  /**
   * Starts the delivery of webhooks and mail, and the background work. A process that only reads and writes data need not call it.
   *
   * @throws MailkeepError `validation_failed` on a wrong option; `unavailable`: already closed.
   */
  start(options: StartOptions = {}): void {
    checkOptions('start', options)
    this.#refuseClosed()
    this.#background.start(options.dispatch !== false)
  }

  /** Checks that the database accepts writes, its schema is up to date, and the dispatcher is running. */
  ready(): Promise<Readiness> {
    return this.#health.ready()
  }

  /** Returns metrics of this process and of the waiting deliveries. */
  stats(): Promise<Stats> {
    return this.#health.stats()
  }

  /**
   * Runs the stored jobs, sends all due deliveries and mails, and resolves when every attempt is recorded. Deletes expired
   * rows, at most once an hour. Works without `start`.
   *
   * @param options `signal` stops the call. It then aborts the event handlers that it runs, whose events are handled
   *   again, waits for the other attempts in flight, and throws the signal's reason.
   * @returns When the next delivery or mail is due, in milliseconds since 1970; undefined when none waits.
   * @throws MailkeepError `unavailable`
   */
  async deliverDue(options: AbortInput = {}): Promise<number | undefined> {
    const { signal } = parse(AbortOptions, options, 'options')
    this.#refuseClosed()
    signal?.throwIfAborted()
    return await this.#background.finishDue(signal)
  }

  /**
   * Re-encrypts all stored secrets and results with the current key, and returns how many. After that the previous keys
   * are not needed.
   */
  async resealSecrets(options: AbortInput = {}): Promise<number> {
    const { signal } = parse(AbortOptions, options, 'options')
    return await reseal(this.#ctx, [sealedSecrets, sealedPreviousSecrets, sealedResults], signal)
  }

  /**
   * Updates the status of every pending or verifying identity of all clients from the identity provider. Call it every
   * few minutes. A status that the provider cannot report now stays unchanged.
   *
   * @returns The identities whose status changed.
   * @throws MailkeepError `validation_failed`: there is no provider, or it is misconfigured.
   */
  async refreshIdentities(options: AbortInput = {}): Promise<Identity[]> {
    const { signal } = parse(AbortOptions, options, 'options')
    return await identities.refreshIdentities(this.#ctx, signal)
  }

  /**
   * Waits for the work in progress and closes the database.
   *
   * @throws MailkeepError `validation_failed` on a wrong option. Then nothing is closed. Else what the mail transport
   *   or the sender threw while it was closed. Then the database is closed, too.
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
    if (this.#closed) throw closed()
  }

  async #close(timeoutMs: number): Promise<void> {
    try {
      await this.#background.stop(timeoutMs)
    } finally {
      await this.#ctx.storage.close()
    }
  }
}
