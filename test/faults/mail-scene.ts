/** Mail that is sent to an SMTP server by processes that a test kills. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { type ClientMailkeep, createMailkeep } from '../../lib/index.ts'
import { type Kind, openPlace, type Place, type Row } from '../support/kinds.ts'
import { Keeper } from './keeper.ts'
import type { MailServerOrder } from './mail-server.ts'
import { type MailServerProcess, sharedMailServer } from './mail-server-process.ts'
import { webhooks } from './scene.ts'
import type { Trap } from './statements.ts'

const hourMs = 3_600_000
const pollIntervalMs = 10
/** Without a change during so many polls, only time is missing. */
const quietPolls = 10
/** Shorter than a lease. */
/** Longer for the full suite, whose newsletters have more recipients. */
const patienceMs = Math.max(60_000, 10 * Number(process.env.FAULT_RECIPIENTS ?? 0))
const connections = 10

export const html = '<a href="{{ unsubscribe_url }}">Unsubscribe</a>'

/** One message as it is stored. */
export interface MessageRow extends Row {
  readonly email: string
  readonly subject: string
  readonly status: string
}

export interface MailCounts {
  readonly sent: number
  readonly failed: number
  readonly uncertain: number
  /** Uncertain messages that the server accepted. */
  readonly acceptedUncertain: number
}

/** Where a process is killed. */
export interface Point {
  readonly name: string
  /** Undefined: while the server holds its answer to a message. */
  readonly trap?: Pick<Trap, 'matching' | 'when'>
  /** At which of the statements or messages. */
  readonly nth: number
  /** Whether messages are uncertain, and whether the server accepted any of them. Undefined: both may be. */
  readonly uncertain?: 'none' | 'accepted' | 'not accepted'
}

let scenes = 0

export abstract class MailScene {
  /** Of the sender and of the recipients. */
  protected readonly domain = `s${++scenes}.example.org`
  protected readonly place: Place
  readonly #key = randomBytes(32).toString('base64')
  readonly #keepers: Keeper[] = []
  #server!: MailServerProcess
  #clientId = 0
  #aheadMs = 0
  /** How long the transport waits for an answer. */
  timeoutMs = 60_000

  protected constructor(place: Place) {
    this.place = place
  }

  /** Creates what is to be sent. */
  protected abstract populate(acme: ClientMailkeep): Promise<void>
  /** Returns a row that changes with each step of the work. `is_done` ends the wait, `leases` is their number. */
  protected abstract progress(): Promise<Row>
  protected abstract messages(): Promise<readonly MessageRow[]>

  /** Opens a database, and creates what is to be sent. */
  static async set<Scene extends MailScene>(
    t: TestContext,
    kind: Kind,
    create: (place: Place) => Scene,
  ): Promise<Scene> {
    const scene = create(await openPlace(kind))
    t.after(() => scene.#clear())
    await scene.#prepare()
    return scene
  }

  async #prepare(): Promise<void> {
    this.#server = await sharedMailServer()
    await using mailkeep = await createMailkeep({ database: this.place.source, encryptionKey: this.#key, webhooks })
    this.#clientId = (await mailkeep.clients.bootstrap())!.client.id
    const acme = mailkeep.forClient(this.#clientId)
    await acme.identities.add({ email: `news@${this.domain}`, name: 'Acme', status: 'verified' })
    await this.populate(acme)
  }

  /** Starts a process that sends. */
  async spawn(): Promise<Keeper> {
    const keeper = await Keeper.begin()
    this.#keepers.push(keeper)
    const { FILE: file, URL: url, SCHEMA: schema } = this.place.env
    await keeper.control.open({
      ...(file === undefined ? { postgres: { url: url!, schema: schema! } } : { file }),
      ...{ key: this.#key, clientId: this.#clientId, aheadMs: this.#aheadMs, webhooks },
      mail: { port: this.#server.port, connections, timeoutMs: this.timeoutMs },
    })
    return keeper
  }

  /** Prepares a kill. Without a trap all processes are killed, because any of them may send the message that is held. */
  async arrange({ trap, nth }: Point, dying: Keeper, ...others: Keeper[]): Promise<() => Promise<void>> {
    if (trap) {
      await dying.control.setTrap({ ...trap, nth, does: 'kill' })
      return () => dying.trapped()
    }
    const held = this.#server.held(this.domain)
    this.order({ holdAt: nth })
    return async () => {
      await held
      await Promise.all([dying, ...others].map((keeper) => keeper.kill()))
    }
  }

  /** Returns whether a message was handed over more than once. */
  async hasRetried(): Promise<boolean> {
    const [row] = await this.place.ask('select max(attempts) as attempts from mailkeep_message')
    return Number(row!.attempts) > 1
  }

  order(next: Omit<MailServerOrder, 'domain'>): void {
    this.#server.order({ ...next, domain: this.domain })
  }

  async #advance(ms: number, running: readonly Keeper[]): Promise<void> {
    this.#aheadMs += ms
    await Promise.all(running.map(({ control }) => control.advance(ms)))
  }

  /** Waits until everything is sent. Moves the clocks when only time is missing. */
  async finish(...running: Keeper[]): Promise<void> {
    let before = ''
    let quiet = 0
    let changedMs = performance.now()
    for (;;) {
      const row = await this.progress()
      if (Number(row.is_done) === 1) return
      const now = JSON.stringify(row)
      quiet = now === before ? quiet + 1 : 0
      if (quiet === 0) changedMs = performance.now()
      before = now
      if (performance.now() - changedMs > patienceMs) assert.fail(`no progress: ${now}`)
      if (quiet >= quietPolls && Number(row.leases) === 0) {
        await this.#advance(hourMs, running)
        quiet = 0
      }
      await new Promise((resolve) => setTimeout(resolve, pollIntervalMs))
    }
  }

  /** Checks the final state: no recipient is missing or got it twice, and what is not known is uncertain. */
  protected async auditMessages(t: TestContext): Promise<MailCounts> {
    const messages = await this.messages()
    const of = (wanted: string) => messages.filter(({ status }) => status === wanted)
    const [sent, failed, uncertain] = [of('sent'), of('failed'), of('uncertain')]
    assert.equal(sent.length + failed.length + uncertain.length + of('skipped').length, messages.length)
    const accepted = await this.#server.report(this.domain)
    const twice = accepted.filter(([, , count]) => count > 1)
    assert.deepEqual(twice, [], 'received twice')
    const received = new Set(accepted.map(([email, subject]) => `${email} ${subject}`))
    const isReceived = ({ email, subject }: MessageRow) => received.has(`${email} ${subject}`)
    const lost = sent.filter((message) => !isReceived(message))
    assert.deepEqual(lost, [], 'recorded as sent, and never received')
    const acceptedUncertain = uncertain.filter(isReceived).length
    assert.equal(received.size, sent.length + acceptedUncertain, 'received, and neither sent nor uncertain')
    const counts = { sent: sent.length, failed: failed.length, uncertain: uncertain.length, acceptedUncertain }
    t.diagnostic(JSON.stringify(counts))
    return counts
  }

  async #clear(): Promise<void> {
    await Promise.all(this.#keepers.map((keeper) => keeper.kill()))
    await this.place.close()
  }
}

/** Checks what a kill at a point makes uncertain. */
export function assertUncertain(point: Point, { failed, uncertain, acceptedUncertain }: MailCounts): void {
  assert.equal(failed, 0)
  if (point.uncertain === 'none') assert.equal(uncertain, 0)
  if (point.uncertain === 'accepted') assert.ok(acceptedUncertain > 0)
  if (point.uncertain === 'not accepted') assert.ok(uncertain > 0 && acceptedUncertain === 0)
}
