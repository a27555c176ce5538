/** Runs random operations on the library and compares the results with a plain model. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createMailkeep, type Mailkeep } from '../../lib/index.ts'
import { eventTypes } from '../support/http-shapes.ts'
import { checking, type Subject } from './checking.ts'
import { type Foreign, Life } from './life.ts'
import type { Kind } from './service.ts'
import { beginning, life, type Step } from './steps.ts'

/** Maximum clients per database; then an empty database replaces it. */
const clientsEach = 2_000

interface Opened {
  readonly mailkeep: Mailkeep
  readonly foreign: Foreign
  /** Returns the events raised since the last call. */
  raised(): { type: string; data: object }[]
  close(): Promise<void>
}

async function open(kind: Kind): Promise<Opened> {
  const database = await kind.open()
  const raised: { type: string; data: object }[] = []
  const mailkeep = await createMailkeep({
    database: database.source,
    encryptionKey: randomBytes(32),
    webhooks: { allowPrivate: true },
    // The model knows the events of the contract, not the extensions.
    onEvent: ({ type, data }) => {
      if (eventTypes.includes(type)) raised.push({ type, data })
    },
  })
  const foreign = await makeForeign(mailkeep)
  return {
    mailkeep,
    foreign,
    raised: () => raised.splice(0),
    async close() {
      await mailkeep.close({ timeoutMs: 0 })
      await database.close()
    },
  }
}

async function makeForeign(mailkeep: Mailkeep): Promise<Foreign> {
  const { id } = await mailkeep.clients.create({ name: 'other' })
  const client = mailkeep.forClient(id)
  const list = await client.lists.create({ name: 'News' })
  const topic = await client.topics.create(list.id, { name: 'News' })
  const { contact } = await client.contacts.addToList(list.id, { email: 'ada@example.org', tags: ['vip'] })
  return { tag: contact.tags[0]!.id, list: list.id, topic: topic.id, contact: contact.id }
}

export async function livesOn(kind: Kind): Promise<Subject> {
  let opened = await open(kind)
  let clients = 0
  let steps = 0
  const check = checking(life, async (lived) => {
    if (++clients > clientsEach) {
      await opened.close()
      opened = await open(kind)
      clients = 0
    }
    await run(opened, [...beginning, ...lived], () => steps++)
  })
  return { check, steps: () => steps, close: () => opened.close() }
}

async function run({ mailkeep, foreign, raised }: Opened, steps: readonly Step[], count: () => void): Promise<void> {
  const { id } = await mailkeep.clients.create({ name: 'one' })
  const client = mailkeep.forClient(id)
  const endpoint = { url: 'http://127.0.0.1:9/', events: eventTypes }
  const { id: endpointId } = await client.webhooks.createEndpoint(endpoint)
  const lived = new Life(client, endpointId, foreign)
  raised()
  let compared = 0
  for (const [at, step] of steps.entries()) {
    count()
    try {
      await lived.do(step)
      const events = lived.model.events.slice(compared).map(({ type }) => type)
      assert.deepEqual(
        raised().map(({ type }) => type),
        events,
        'the events raised',
      )
      compared += events.length
    } catch (error) {
      throw new assert.AssertionError({
        message: `Step ${at - beginning.length}, ${JSON.stringify(step)}: ${messageOf(error)}`,
      })
    }
  }
  await lived.audit()
}

function messageOf(error: unknown): string {
  return error instanceof Error
    ? error instanceof assert.AssertionError
      ? error.message
      : `${error.stack}`
    : `${error}`
}
