/**
 * mailkeep/testing: a whole mailkeep in memory, with a clock that tests move and receivers that answer as told. No
 * sockets, no files, nothing global: for node:test, Vitest and Jest alike, as many side by side as you like.
 */
import { randomBytes } from 'node:crypto'
import type { ClientMailkeep } from './api-types.ts'
import type { Contact } from './contacts/schema.ts'
import type { RaisedEvent } from './context.ts'
import type { ContactFieldsInput, ContactInput } from './inputs.ts'
import type { List } from './lists/schema.ts'
import { createMailkeep, type Mailkeep, type MailkeepOptions } from './mailkeep.ts'
import { checkOptions } from './options.ts'
import { sqlite } from './storage/sqlite.ts'
import { TestClock } from './testing/clock.ts'
import { type CapturedDelivery, CapturingSender, type Reply } from './testing/sender.ts'
import type { WebhookEvent } from './webhooks/receiver.ts'
import type { EventType } from './webhooks/schema.ts'

export type { Duration, DurationUnit, TestClock } from './testing/clock.ts'
export type { CapturedDelivery, Reply, ReplyTo } from './testing/sender.ts'

export interface TestOptions extends Pick<MailkeepOptions, 'webhooks' | 'logger' | 'identityProvider'> {
  /** When the kit's clock begins, in milliseconds since 1970; default: now. It stands still unless moved. */
  readonly now?: number | Date
}

/** Where the kit puts a contact. */
export interface ContactPlace {
  /** A list, or its id; default: a list that the kit makes once. */
  readonly list?: List | number
}

/** An event as it was raised. Of several types it is a union: `type` narrows `data`. */
export type KitEvent<Type extends EventType = EventType> = {
  [Each in Type]: Omit<Extract<WebhookEvent, { type: Each }>, 'id'> & { readonly clientId: number }
}[Type]

/** A mailkeep of a test's own. */
export interface TestKit extends AsyncDisposable {
  readonly mailkeep: Mailkeep
  /** A client that is there already, and its id. */
  readonly client: ClientMailkeep
  readonly clientId: number
  readonly clock: TestClock
  /** Makes a list of the client's; each has a name of its own unless one is given. */
  list(name?: string): Promise<List>
  /**
   * Puts a contact on a list of the client's; each has an e-mail address of its own unless one is given.
   *
   */
  contact(input?: ContactFieldsInput & { readonly email?: string }, on?: ContactPlace): Promise<Contact>
  /** Makes another client, for tests of who sees what. */
  addClient(name?: string): Promise<{ id: number; client: ClientMailkeep }>
  /** The events raised so far, also those that no endpoint takes, the oldest first; of one type, where one is given. */
  events<Type extends EventType = EventType>(type?: Type): KitEvent<Type>[]
  /** Attempts every delivery that is due, and resolves when all are recorded; gives the attempts of this call. */
  deliver(): Promise<CapturedDelivery[]>
  /** Every attempt so far, the oldest first. */
  deliveries(): CapturedDelivery[]
  /** How receivers answer from now on; without arguments 200, as in the beginning. */
  answer(reply?: Reply): void
  /** Forgets the attempts and events so far, but none of the data. */
  forget(): void
  close(): Promise<void>
}

/**
 * Opens a mailkeep in memory for one test, in a few milliseconds. Nothing is sent anywhere: receivers are played by
 * the kit, and answer 200 until told otherwise.
 *
 * @example
 * await using kit = await testMailkeep() // or close() in your runner's afterEach
 * const { id } = await kit.contact({ email: 'ada@example.org' })
 * await kit.client.contacts.unsubscribe(id)
 * assert.deepEqual(kit.events().map(({ type }) => type), ['contact.subscribed', 'contact.unsubscribed'])
 */
export async function testMailkeep(given: TestOptions = {}): Promise<TestKit> {
  checkOptions('testMailkeep', given)
  const { now = Date.now(), ...options } = given
  const raised: RaisedEvent[] = []
  const clock = new TestClock(Number(now), () => mailkeep.deliverDue())
  const sender = new CapturingSender(clock)
  const mailkeep = await createMailkeep({
    ...options,
    database: sqlite(':memory:'),
    encryptionKey: randomBytes(32),
    clock: clock.now,
    sender,
    onEvent: (event) => raised.push(event),
  })
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
    events: (type) => raised.filter((event) => type === undefined || event.type === type).map(plain) as never,
    async deliver() {
      const before = sender.captured.length
      await mailkeep.deliverDue()
      return sender.captured.slice(before)
    },
    deliveries: () => [...sender.captured],
    answer: (reply = 200) => {
      sender.reply = reply
    },
    forget() {
      raised.length = 0
      sender.captured.length = 0
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function factories(client: ClientMailkeep): Pick<TestKit, 'list' | 'contact'> {
  let lists = 0
  let contacts = 0
  let usual: Promise<List> | undefined
  const list = (name = `List ${++lists}`) => client.lists.create({ name })
  return {
    list,
    async contact(input = {}, on = {}) {
      checkOptions('kitContact', on)
      if (on.list === undefined) usual ??= list()
      const { id: listId } = typeof on.list === 'number' ? { id: on.list } : (on.list ?? (await usual!))
      const number = ++contacts
      const fields: ContactInput = { email: `contact${number}@example.org`, name: `Contact ${number}`, ...input }
      return (await client.contacts.addToList(listId, fields)).contact
    },
  }
}

/** As a receiver gets it: what JSON makes of it, and nobody else's to change. */
function plain({ clientId, type, created_at, data }: RaisedEvent) {
  return { clientId, type, created_at, data: JSON.parse(JSON.stringify(data)) }
}
