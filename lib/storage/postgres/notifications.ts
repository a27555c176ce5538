import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '../../logger.ts'
import { type ChangeFeed, pollingFeed } from '../change-feed.ts'
import type { Notification, SignalClient } from './driver.ts'
import { SessionLocks } from './liveness.ts'
import { SharedClock } from './shared-clock.ts'
import { rowTypes } from './values.ts'

/** All schemas of a database share this channel. Each notification carries its schema's name. */
const channel = 'mailkeep'
/** Minimum interval between notifications. Commits within it share one notification. */
const notifyIntervalMs = 20
/** Poll interval. `version()` changes this often, because a notification may not have arrived. */
const pollIntervalMs = 200
/** Interval of the clock comparison, which also tests the connection. */
const clockCheckIntervalMs = 1000
const queryTimeoutMs = 5000
const firstRetryMs = 100
const maxRetryMs = 2000

/**
 * Sends and receives notifications of commits, and reads the database's clock. It uses its own connection outside the
 * pool. NOTIFY inside the write transactions would serialise all commits of the database behind one lock. While the
 * connection is lost, polling replaces notifications.
 */
export class Notifications implements ChangeFeed {
  readonly clock = new SharedClock()
  /** Held by the same connection. */
  readonly locks = new SessionLocks()
  readonly #connect: () => SignalClient
  readonly #logger: Logger
  readonly #listens: boolean
  readonly #listeners = new Set<() => void>()
  readonly #check: NodeJS.Timeout
  #client: SignalClient | undefined
  #schema = ''
  #notifications = 0
  /** Set while a notification is being sent, and during the interval after it. */
  #notifying: Promise<void> | undefined
  /** Whether there was a commit since the last notification. */
  #isNotificationDue = false
  /** The last query on the connection. Queries run one after another. */
  #lastQuery: Promise<unknown> = Promise.resolve()
  #comparing = false
  #closed = false

  /**
   * @param listens Whether to use LISTEN and session locks. They do not work behind a pooler in transaction mode, so
   * polling is used there.
   */
  constructor(connect: () => SignalClient, logger: Logger, listens: boolean) {
    this.#connect = connect
    this.#logger = logger
    this.#listens = listens
    this.#check = setInterval(() => void this.#compareClock(), clockCheckIntervalMs)
    this.#check.unref()
  }

  /**
   * Connects for the first time.
   *
   * @param prepare Runs first on the connection, and returns the schema's name.
   */
  async open(prepare: (client: SignalClient) => Promise<string>): Promise<void> {
    try {
      await this.#begin(async (client) => {
        this.#schema = await prepare(client)
      })
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async version(): Promise<number> {
    return this.#notifications * 1e9 + Math.floor(performance.now() / pollIntervalMs)
  }

  subscribe(listener: () => void): () => void {
    const stopPolling = pollingFeed(() => this.version()).subscribe(listener)
    this.#listeners.add(listener)
    return () => {
      stopPolling()
      this.#listeners.delete(listener)
    }
  }

  /**
   * Reports a commit to the other processes. The first is sent immediately; those soon after it share a notification.
   */
  notify(): void {
    this.#isNotificationDue = true
    this.#notifying ??= this.#notifyAtIntervals()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#check)
    const client = this.#client
    this.#client = undefined
    if (!client) return
    client.ref() // keeps the process alive until the connection is closed
    if (this.#isNotificationDue) await this.#send(client)
    await this.#lastQuery
    await client.end().catch(nothing)
  }

  async #begin(prepare: (client: SignalClient) => Promise<void>): Promise<void> {
    const client = this.#connect()
    client.on('error', nothing) // a lost connection also emits `end`
    client.on('end', () => this.#onDisconnect(client))
    client.on('notification', (message) => this.#onNotification(client, message))
    try {
      await client.connect()
      await prepare(client)
      for (let sample = 0; sample < 3; sample++) await this.clock.compare((text) => this.#ask(client, text))
      if (this.#listens) {
        await this.#ask(client, `listen ${channel}`)
        // Last, because claims name the lock from here on: nothing after it may fail.
        await this.locks.take((text, values) => this.#ask(client, text, values))
      }
    } catch (error) {
      await client.end().catch(nothing)
      throw error
    }
    client.unref() // lets the process exit even if the host forgets to close mailkeep
    this.#client = client
  }

  #onNotification(client: SignalClient, { channel: sentOn, payload, processId }: Notification): void {
    // Ignore notifications of this process, which knows its own commits.
    if (sentOn === channel && payload === this.#schema && processId !== client.processID) this.#callListeners()
  }

  #ask(client: SignalClient, text: string, values: unknown[] = []): Promise<unknown[]> {
    const answer = this.#lastQuery.then(async () => {
      return (await client.query({ text, values, types: rowTypes, query_timeout: queryTimeoutMs })).rows
    })
    // Treat a query that failed or timed out as a lost connection.
    this.#lastQuery = answer.catch(() => void client.end().catch(nothing))
    return answer
  }

  #callListeners(): void {
    this.#notifications += 1
    for (const listener of this.#listeners) listener()
  }

  async #notifyAtIntervals(): Promise<void> {
    while (this.#isNotificationDue && this.#client && !this.#closed) {
      await this.#send(this.#client)
      await pause(notifyIntervalMs, undefined, { ref: false })
    }
    this.#notifying = undefined
  }

  /** Ignores errors, because processes that do not get the notification poll. */
  async #send(client: SignalClient): Promise<void> {
    this.#isNotificationDue = false
    await this.#ask(client, notification, [channel, this.#schema]).catch(nothing)
  }

  async #compareClock(): Promise<void> {
    const client = this.#client
    if (!client || this.#comparing) return
    this.#comparing = true
    try {
      await this.clock.compare((text) => this.#ask(client, text))
    } catch {
      // The connection is lost and will be replaced.
    } finally {
      this.#comparing = false
    }
  }

  #onDisconnect(client: SignalClient): void {
    if (this.#closed || this.#client !== client) return
    this.#client = undefined
    this.locks.onDisconnect()
    this.#logger.warn({}, 'the database connection for notifications was lost')
    void this.#reconnect()
  }

  async #reconnect(): Promise<void> {
    for (let waitMs = firstRetryMs; !this.#closed; waitMs = Math.min(waitMs * 2, maxRetryMs)) {
      await pause(waitMs, undefined, { ref: false })
      if (this.#closed) return
      try {
        await this.#begin(async () => {})
      } catch {
        continue
      }
      if (this.#closed) return await this.close()
      this.#logger.info({}, 'the database connection for notifications is back')
      return this.#callListeners()
    }
  }
}

const notification = 'select pg_notify($1, $2)'

function nothing(): void {}
