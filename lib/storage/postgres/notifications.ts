import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '../../logger.ts'
import type { Notification, SignalClient } from './driver.ts'
import { SharedClock } from './shared-clock.ts'
import { rowTypes } from './values.ts'

/** Notifications of all schemas of a database share the channel; each carries its schema's name. */
const channel = 'mailkeep'
/** Commits of so many milliseconds are told in one notification. */
const gatherMs = 20
/** Where notifications do not arrive, somebody may have committed so often. */
const pollMs = 200
/** How often the clock is compared, and the connection tried. */
const checkMs = 1000
const answerMs = 5000
const firstRetryMs = 100
const longestRetryMs = 2000

/**
 * A connection of its own, beside the pool: on it other processes are told of commits, and listened to, and the
 * database's clock is read. Notifications inside the transactions themselves would queue up all commits of the database
 * behind one lock. While the connection is lost, polling takes its place.
 */
export class Notifications {
  readonly clock = new SharedClock()
  readonly #connect: () => SignalClient
  readonly #logger: Logger
  readonly #listens: boolean
  readonly #listeners = new Set<() => void>()
  readonly #check: NodeJS.Timeout
  #client: SignalClient | undefined
  #schema = ''
  #notifications = 0
  /** Until the last notification has been taken, and some time has passed. */
  #gathering: Promise<void> | undefined
  #owed = false
  /** Whatever is asked on the connection, one after another. */
  #asked: Promise<unknown> = Promise.resolve()
  #comparing = false
  #closed = false

  /** @param listens Not behind a pooler that hands its connections to others: then there is only the poll. */
  constructor(connect: () => SignalClient, logger: Logger, listens: boolean) {
    this.#connect = connect
    this.#logger = logger
    this.#listens = listens
    this.#check = setInterval(() => void this.#compareClock(), checkMs)
    this.#check.unref()
  }

  /** Connects for the first time, and does `prepare` there before anything else; it gives the schema's name. */
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

  /** Another number when another process may have committed. */
  version(): number {
    return this.#notifications * 1e9 + Math.floor(performance.now() / pollMs)
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Tells the other processes of a commit: the first at once, those that follow together. */
  announce(): void {
    this.#owed = true
    this.#gathering ??= this.#notifyAndGather()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#check)
    const client = this.#client
    this.#client = undefined
    if (!client) return
    client.ref() // or nothing might keep the process until it has ended
    if (this.#owed) await this.#notify(client)
    await this.#asked
    await client.end().catch(nothing)
  }

  async #begin(prepare: (client: SignalClient) => Promise<void>): Promise<void> {
    const client = this.#connect()
    client.on('error', nothing) // what is lost has ended, too
    client.on('end', () => this.#lost(client))
    client.on('notification', (message) => this.#heard(client, message))
    try {
      await client.connect()
      await prepare(client)
      if (this.#listens) await this.#ask(client, `listen ${channel}`)
      for (let sample = 0; sample < 3; sample++) await this.clock.compare((text) => this.#ask(client, text))
    } catch (error) {
      await client.end().catch(nothing)
      throw error
    }
    client.unref() // a host that forgets to close can end all the same
    this.#client = client
  }

  #heard(client: SignalClient, { channel: heard, payload, processId }: Notification): void {
    // Our own commits are known here already.
    if (heard === channel && payload === this.#schema && processId !== client.processID) this.#changed()
  }

  #ask(client: SignalClient, text: string, values: unknown[] = []): Promise<unknown[]> {
    const answer = this.#asked.then(async () => {
      return (await client.query({ text, values, types: rowTypes, query_timeout: answerMs })).rows
    })
    // No answer in time: then there is no connection to speak of.
    this.#asked = answer.catch(() => void client.end().catch(nothing))
    return answer
  }

  #changed(): void {
    this.#notifications += 1
    for (const listener of this.#listeners) listener()
  }

  async #notifyAndGather(): Promise<void> {
    while (this.#owed && this.#client && !this.#closed) {
      await this.#notify(this.#client)
      await pause(gatherMs, undefined, { ref: false })
    }
    this.#gathering = undefined
  }

  /** Whom it does not reach has the poll. */
  async #notify(client: SignalClient): Promise<void> {
    this.#owed = false
    await this.#ask(client, notification, [channel, this.#schema]).catch(nothing)
  }

  async #compareClock(): Promise<void> {
    const client = this.#client
    if (!client || this.#comparing) return
    this.#comparing = true
    try {
      await this.clock.compare((text) => this.#ask(client, text))
    } catch {
      // It is being replaced.
    } finally {
      this.#comparing = false
    }
  }

  #lost(client: SignalClient): void {
    if (this.#closed || this.#client !== client) return
    this.#client = undefined
    this.#logger.warn({}, 'the database connection for notifications was lost')
    void this.#reconnect()
  }

  async #reconnect(): Promise<void> {
    for (let waitMs = firstRetryMs; !this.#closed; waitMs = Math.min(waitMs * 2, longestRetryMs)) {
      await pause(waitMs, undefined, { ref: false })
      if (this.#closed) return
      try {
        await this.#begin(async () => {})
      } catch {
        continue
      }
      if (this.#closed) return await this.close()
      this.#logger.info({}, 'the database connection for notifications is back')
      return this.#changed()
    }
  }
}

const notification = 'select pg_notify($1, $2)'

function nothing(): void {}
