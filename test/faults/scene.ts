/** The environment of a fault test: a database file, a receiver, and processes to kill. Removed after the test. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import Database from 'better-sqlite3'
import { type ClientMailkeep, createMailkeep, type Mailkeep, type WebhookSettings } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { databaseFolder } from '../support/folders.ts'
import { audit, auditContacts, type Counts, type Expected } from './audit.ts'
import type { OpenOptions } from './child.ts'
import { Keeper, type Running } from './keeper.ts'
import { type Load, Loader } from './load.ts'
import { Receiver } from './receiver.ts'

/** Ten attempts without delay; no endpoint is switched off for failing. */
export const webhooks: Partial<WebhookSettings> = {
  allowPrivate: true,
  retryScheduleSeconds: [0, 0, 0, 0, 0, 0, 0, 0, 0],
  disableAfterFailures: 1_000_000,
  timeoutSeconds: 60, // requests that a test holds open must not time out on a slow machine
}

/** The time-out of an attempt plus the margin of its lease. After this time the claims of a dead process expire. */
export const leaseMs = 60_000 + 30_000

const patienceMs = 60_000

interface SceneOptions {
  /** One endpoint for each path, subscribed to every event type. */
  readonly paths?: readonly string[]
  readonly webhooks?: Partial<WebhookSettings>
  /** Used instead of a file; then everything runs in this process. */
  readonly handle?: Database.Database
  /** Size of a separate disk for the file, in bytes; requires root. */
  readonly diskBytes?: number
}

interface TestEndpoint {
  readonly id: number
  readonly path: string
  readonly secret: string
}

const events = ['contact.subscribed', 'contact.unsubscribed', 'newsletter.sent'] as const

export async function setScene(t: TestContext, options: SceneOptions = {}): Promise<Scene> {
  const scene = new Scene({ ...webhooks, ...options.webhooks }, options)
  t.after(() => scene.clear())
  await scene.receiver.listen()
  await scene.createRecords(options.paths ?? ['/hook'])
  return scene
}

export class Scene {
  readonly receiver = new Receiver()
  readonly key = randomBytes(32).toString('base64')
  readonly webhooks: Partial<WebhookSettings>
  readonly file: string
  readonly endpoints: TestEndpoint[] = []
  clientId = 0
  listId = 0
  /** Clock offset of the processes started from now on. */
  aheadMs = 0
  readonly #directory: string
  readonly #handle: Database.Database | undefined
  readonly #disk: string | undefined
  readonly #keepers: Keeper[] = []
  readonly #local: Mailkeep[] = []

  constructor(settings: Partial<WebhookSettings>, { handle, diskBytes }: SceneOptions) {
    this.webhooks = settings
    this.#handle = handle
    this.#directory = mkdtempSync(join(databaseFolder, 'mailkeep-faults-'))
    this.#disk = diskBytes === undefined ? undefined : mount(join(this.#directory, 'disk'), diskBytes)
    this.file = join(this.#disk ?? this.#directory, 'mailkeep.db')
  }

  /** Creates a client with a list and endpoints. */
  async createRecords(paths: readonly string[]): Promise<void> {
    await using mailkeep = await this.#open(() => 0)
    const { client } = (await mailkeep.clients.bootstrap())!
    this.clientId = client.id
    const acme = mailkeep.forClient(client.id)
    this.listId = (await acme.lists.create({ name: 'News' })).id
    for (const path of paths) await this.addEndpoint(acme, path)
  }

  async addEndpoint({ webhooks }: Running['client'], path: string): Promise<TestEndpoint> {
    const { id, secret } = await webhooks.createEndpoint({ url: this.receiver.url(path), events: [...events] })
    this.receiver.trust(path, secret)
    const endpoint = { id, path, secret }
    this.endpoints.push(endpoint)
    return endpoint
  }

  openOptions(): OpenOptions {
    const { file, key, clientId, aheadMs, webhooks } = this
    return { file, key, clientId, aheadMs, webhooks }
  }

  /** Creates a mailkeep in a child process, not started yet. */
  async spawn(options: Partial<OpenOptions> = {}): Promise<Keeper> {
    const keeper = await this.begin()
    await keeper.control.open({ ...this.openOptions(), ...options })
    return keeper
  }

  /** Creates a child process that has not opened its database. */
  async begin(): Promise<Keeper> {
    const keeper = await Keeper.begin()
    this.#keepers.push(keeper)
    return keeper
  }

  /** From now on clocks are so far ahead that every existing claim has expired. */
  passLease(): void {
    this.aheadMs += leaseMs + 1000
  }

  /** Restarts after a fault: in this process, on the same file. */
  async restart({ dispatch = true }: { dispatch?: boolean } = {}): Promise<Local> {
    let aheadMs = this.aheadMs
    const mailkeep = await this.#open(() => aheadMs)
    this.#local.push(mailkeep)
    if (dispatch) mailkeep.start()
    const advance = async (ms: number) => {
      aheadMs += ms
      this.wakeDispatchers()
    }
    return new Local(mailkeep, mailkeep.forClient(this.clientId), advance)
  }

  /** Opens the file for a direct query. */
  look<T>(into: (handle: Database.Database) => T): T {
    if (this.#handle) return into(this.#handle)
    const handle = new Database(this.file, { timeout: 5000 })
    try {
      return into(handle)
    } finally {
      handle.close()
    }
  }

  /** Commits from another connection, which wakes the dispatchers. */
  wakeDispatchers(): void {
    this.look((handle) => {
      const version = handle.pragma('user_version', { simple: true }) as number
      handle.pragma(`user_version = ${version + 1}`)
    })
  }

  /** Counts rows in the file: `count('mailkeep_delivery where status = ?', 'pending')`. */
  count(from: string, ...parameters: unknown[]): number {
    return this.look((handle) =>
      handle
        .prepare(`select count(*) from ${from}`)
        .pluck()
        .get(...parameters),
    ) as number
  }

  /** Resolves once the condition holds; for changes that are recorded just after they happen. */
  async until(wanted: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const ends = performance.now() + patienceMs
    while (!(await wanted())) {
      if (performance.now() > ends) assert.fail(`timed out after ${patienceMs} ms: ${what}`)
      await pause()
    }
  }

  /** Waits until nothing is pending, as long as there is progress. Moves the clock when only time is missing. */
  async drain(running: Running): Promise<void> {
    let before = ''
    let quiet = 0
    let changedMs = performance.now()
    for (;;) {
      const { pending, ...state } = this.#progress()
      if (pending === 0) return
      const now = JSON.stringify([pending, state, this.receiver.arrivals.length])
      if (now !== before) changedMs = performance.now()
      quiet = now === before && this.receiver.open.size === 0 ? quiet + 1 : 0
      before = now
      if (quiet === 40) {
        await running.advance(leaseMs + 1000)
        quiet = 0
      }
      if (performance.now() - changedMs > patienceMs) assert.fail(`${pending} deliveries are pending without progress`)
      await pause()
    }
  }

  #progress(): { pending: number; attempts: number } {
    const text = `select count(*) as pending, (select count(*) from mailkeep_attempt) as attempts
      from mailkeep_delivery where status = 'pending'`
    return this.look((handle) => handle.prepare(text).get()) as { pending: number; attempts: number }
  }

  /** Audits the complete state after the drain. */
  audit({ acked, ...more }: Partial<Expected> & Pick<Expected, 'acked'>): Counts {
    const paths = this.endpoints.map(({ path }) => path)
    const schedule = this.webhooks.retryScheduleSeconds!.length + 1
    return this.look((handle) => audit(handle, this.receiver, { acked, paths, schedule, ...more }))
  }

  /** Audits the state right after a kill. */
  auditContacts(acked: Iterable<string>): void {
    this.look((handle) => auditContacts(handle, acked))
  }

  /** Cleans up, also after a failure. */
  async clear(): Promise<void> {
    this.receiver.close()
    await Promise.all(this.#keepers.map((keeper) => keeper.kill()))
    await Promise.allSettled(this.#local.map((mailkeep) => mailkeep.close({ timeoutMs: 0 })))
    if (this.#disk && existsSync(this.#disk)) execFileSync('umount', [this.#disk])
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #open(aheadMs: () => number): Promise<Mailkeep> {
    const { file, key, webhooks } = this
    return createMailkeep({
      database: sqlite(this.#handle ?? file),
      encryptionKey: key,
      webhooks,
      clock: () => Date.now() + aheadMs(),
    })
  }
}

/** Pauses between two polls of the file. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5))
}

/** A mailkeep in this process. */
class Local implements Running {
  readonly acked = new Set<string>()
  readonly refused = new Set<string>()
  readonly broken: string[] = []
  readonly mailkeep: Mailkeep
  readonly client: ClientMailkeep
  readonly advance: (ms: number) => Promise<void>
  readonly #loader = new Loader((answer) => {
    if ('acked' in answer) this.acked.add(answer.acked)
    else if ('refused' in answer) this.refused.add(answer.refused)
    else this.broken.push(answer.broken)
  })

  constructor(mailkeep: Mailkeep, client: ClientMailkeep, advance: (ms: number) => Promise<void>) {
    this.mailkeep = mailkeep
    this.client = client
    this.advance = advance
  }

  load(load: Load): Promise<void> {
    return this.#loader.run(this.client, load)
  }

  stopLoad(): void {
    this.#loader.stop()
  }
}

/** Mounts a separate disk in memory; throws where the machine does not allow it. */
function mount(directory: string, bytes: number): string {
  mkdirSync(directory)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', directory], { stdio: 'pipe' })
  return directory
}

/** @returns The reason why this machine does not allow a mount; undefined when it does. */
export function mountFailure(): string | undefined {
  const directory = mkdtempSync(join(databaseFolder, 'mailkeep-faults-'))
  try {
    execFileSync('umount', [mount(join(directory, 'disk'), 2 ** 16)], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/**
 * Has the event with the key `first` delivered to all endpoints. Until an endpoint has answered, the dispatcher has one request
 * in flight there.
 */
export async function deliverFirst(scene: Scene, keeper: Running): Promise<void> {
  scene.receiver.behave('/hook', (arrival) => arrival.answer(200))
  await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'first' } })
  const unfinished = "mailkeep_delivery where status <> 'success'"
  await scene.until(() => scene.count(unfinished) === 0, 'the first is delivered')
}

/** Writes the counts to the test's report. */
export function reportCounts(t: TestContext, counts: Counts): void {
  t.diagnostic(
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', '),
  )
}
