/**
 * mailkeep/testing: a complete mailkeep in memory. Tests set its clock and its receivers' answers. It uses no sockets,
 * files or global state, so that tests can run in parallel. Works with node:test, Vitest and Jest.
 */
import { randomBytes } from 'node:crypto'
import type { ClientMailkeep } from './client-api.ts'
import { defined } from './collections.ts'
import type { Contact, ContactFieldsInput, ContactInput } from './contacts/schema.ts'
import type { RaisedEvent } from './context.ts'
import { invalid } from './errors.ts'
import { readJson } from './json.ts'
import type { List } from './lists/schema.ts'
import { createMailkeep, type Mailkeep } from './mailkeep.ts'
import { checkOptions } from './option-schemas.ts'
import { type MailkeepOptions, withDefaults } from './options.ts'
import { isRecord, noRecordMessage } from './parse.ts'
import { sqlite } from './storage/sqlite.ts'
import { TestClock } from './testing/clock.ts'
import { type CapturedMail, CapturingTransport, checkMailReply, type MailReply } from './testing/mail.ts'
import { type CapturedDelivery, CapturingSender, checkReply, type Reply } from './testing/sender.ts'
import { type EventType, eventTypes, extensionEventTypes } from './webhooks/schema.ts'

export type { Duration, DurationUnit, TestClock } from './testing/clock.ts'
export type { CapturedMail, MailReply, MailReplyTo } from './testing/mail.ts'
export type { CapturedDelivery, Reply, ReplyTo } from './testing/sender.ts'

/** Messages a second: tests need not wait. */
const testRate = 1_000_000

export interface TestOptions extends Pick<MailkeepOptions, 'webhooks' | 'mail' | 'logger' | 'identityProvider'> {
  /** Initial time of the kit's clock, in milliseconds since 1970; default: now. Only `clock.advance` moves the clock. */
  readonly now?: number | Date | undefined
}

/** The list of a new contact. */
export interface ContactPlace {
  /** A list, or its id. Default: one list that the kit creates at first use. */
  readonly list?: Pick<List, 'id'> | number | undefined
}

/** A raised event. For several types it is a union, and `type` narrows `data`. */
export type KitEvent<Type extends EventType = EventType> = RaisedEvent<Type>

/** The mailkeep of one test. */
export interface TestKit extends AsyncDisposable {
  readonly mailkeep: Mailkeep
  /** A client that the kit has created. */
  readonly client: ClientMailkeep
  readonly clientId: number
  readonly clock: TestClock
  /** Creates a list of the client, with a unique default name. */
  list(name?: string): Promise<List>
  /** Creates a contact of the client and adds it to a list, with a unique default e-mail address. */
  contact(input?: ContactFieldsInput & { readonly email?: string | undefined }, on?: ContactPlace): Promise<Contact>
  /** Creates another client, for tests of the separation of clients. */
  addClient(name?: string): Promise<{ id: number; client: ClientMailkeep }>
  /**
   * Returns the events raised so far, oldest first, also those without a subscriber. The types beyond the contract, such
   * as `contact.created`, are returned only when asked for by type.
   */
  events<Type extends EventType = EventType>(type?: Type): KitEvent<Type>[]
  /**
   * Attempts all deliveries that are due, and resolves when they are recorded. Returns the attempts of this call. It waits
   * for handlers and answer functions, so they must not await it, nor `clock.advance`.
   */
  deliver(): Promise<CapturedDelivery[]>
  /** Returns all attempts so far, oldest first. */
  deliveries(): CapturedDelivery[]
  /**
   * Sets the answer of receivers. Without arguments it is 200, the initial answer. What a function throws, such as a failed
   * assertion, `deliver` and the clock throw too.
   */
  answer(reply?: Reply): void
  /** Returns all mails so far, oldest first, as the mail server would get them. `deliver` and the clock send what is due. */
  mail(): CapturedMail[]
  /** Sets what becomes of mails. Without arguments they are sent, as initially. A function may throw, as for `answer`. */
  answerMail(reply?: MailReply): void
  /** Clears the captured attempts, mails and events, but no data. */
  forget(): void
  close(): Promise<void>
}

/**
 * Opens a mailkeep in memory for one test, in about 20 milliseconds. It sends nothing over the network. The kit simulates
 * the receivers, which answer 200 unless `answer` sets something else.
 *
 * @example
 * await using kit = await testMailkeep() // or close() in your runner's afterEach
 * const { id } = await kit.contact({ email: 'ada@example.org' })
 * await kit.client.contacts.unsubscribe(id)
 * assert.deepEqual(kit.events().map(({ type }) => type), ['contact.subscribed', 'contact.unsubscribed'])
 */
export async function testMailkeep(given: TestOptions = {}): Promise<TestKit> {
  checkOptions('testMailkeep', given)
  const { now = Date.now(), mail, ...options } = given
  const raised: RaisedEvent[] = []
  const clock = new TestClock(Number(now), () => deliverDue())
  const sender = new CapturingSender(clock)
  const transport = new CapturingTransport(clock.now)
  const mailkeep = await createMailkeep({
    ...options,
    database: sqlite(':memory:'),
    encryptionKey: randomBytes(32),
    clock: clock.now,
    sender,
    publicUrl: 'https://mail.example.com',
    mail: withDefaults<NonNullable<TestOptions['mail']>>({ transport, allowUnverified: true, rate: testRate }, mail),
    onEvent: (event) => raised.push(event),
  })
  const deliverDue = async () => {
    const nextMs = await mailkeep.deliverDue()
    const mistake = sender.mistake ?? transport.mistake
    sender.mistake = undefined
    transport.mistake = undefined
    if (mistake) throw mistake.error
    return nextMs
  }
  const addClient = async (name = 'Test') => {
    const { id } = await mailkeep.clients.create({ name })
    return { id, client: mailkeep.forClient(id) }
  }
  const { id: clientId, client } = await addClient()
  const close = () => mailkeep.close({ timeoutMs: 0 })
  return {
    mailkeep,
    client,
    clientId,
    clock,
    ...factories(client),
    addClient,
    events(type) {
      if (type !== undefined && !eventTypes.includes(type)) {
        throw invalid('type', `type must be one of ${eventTypes.join(', ')}.`)
      }
      return raised.filter((event) => matches(event, type)).map(copyThroughJson) as never
    },
    async deliver() {
      const before = sender.captured.length
      await deliverDue()
      return sender.captured.slice(before)
    },
    deliveries: () => [...sender.captured],
    answer(reply = 200) {
      checkReply(reply)
      sender.reply = reply
    },
    mail: () => [...transport.captured],
    answerMail(reply = 'sent') {
      checkMailReply(reply)
      transport.reply = reply
    },
    forget() {
      raised.length = 0
      transport.captured.length = 0
      sender.captured.length = 0
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function factories(client: ClientMailkeep): Pick<TestKit, 'list' | 'contact'> {
  let lists = 0
  let contacts = 0
  let defaultList: Promise<List> | undefined
  const list = (name = `List ${++lists}`) => client.lists.create({ name })
  return {
    list,
    async contact(input = {}, on = {}) {
      if (!isRecord(input)) throw invalid('input', noRecordMessage(input))
      checkOptions('kit.contact', on)
      if (on.list === undefined) defaultList ??= list()
      const { id: listId } = typeof on.list === 'number' ? { id: on.list } : (on.list ?? (await defaultList!))
      const number = ++contacts
      const fields: ContactInput = {
        email: `contact${number}@example.org`,
        name: `Contact ${number}`,
        ...defined(input),
      }
      return (await client.contacts.addToList(listId, fields)).contact
    },
  }
}

const extensions: readonly EventType[] = extensionEventTypes

function matches(event: RaisedEvent, type: EventType | undefined): boolean {
  return type === undefined ? !extensions.includes(event.type) : event.type === type
}

/** Copies the event through JSON, so that tests see what a receiver would see. */
function copyThroughJson({ clientId, type, created_at, data }: RaisedEvent) {
  return { clientId, type, created_at, data: readJson(JSON.stringify(data)) }
}
