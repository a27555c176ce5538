/** Saving contacts: light, heavy, at half the rate, and in bulk. */
import { randomUUID } from 'node:crypto'
import Database from 'better-sqlite3'
import { Server } from './children.ts'
import {
  atLeast,
  atMost,
  type Bench,
  type Figure,
  interleave,
  largest,
  load,
  rateFinding,
  ratioOf,
  short,
  thousands,
  warmUp,
} from './harness.ts'
import { clientId, lightTagCount, tagName, token } from './population.ts'
import type { Plan } from './requests.ts'
import { discard, scratch, withMailkeep } from './seed.ts'
import { median } from './summary.ts'

/**
 * The dispatcher is off: the event and its delivery are written with each save, and pile up. On, it would share the
 * one core, and what it costs is measured by `webhooks`.
 */
export async function withWrites<T>(bench: Bench, size: number, use: (server: Server) => Promise<T>): Promise<T> {
  const file = await scratch(bench.folder, size)
  try {
    await using server = await Server.mailkeep(bench, file)
    return await use(server)
  } finally {
    await discard(file)
  }
}

/** New addresses with each run. */
export function lightPlan(): Plan {
  return { kind: 'save-light', token, run: randomUUID().slice(0, 8) }
}

function heavyPlan(existing: number): Plan {
  return { kind: 'save-heavy', token, run: randomUUID().slice(0, 8), existing }
}

export const saveLight: Figure = (bench) => saves(bench, 'save-light', lightPlan, 0.2, 0.35)

export const saveHeavy: Figure = (bench) => saves(bench, 'save-heavy', () => heavyPlan(largest(bench)), 0.06, 0.1)

async function saves(bench: Bench, name: string, plan: () => Plan, least: number, aim: number) {
  await using ceiling = await Server.ceiling(bench.folder)
  return await withWrites(bench, largest(bench), async (server) => {
    await warmUp(bench, ceiling, { kind: 'echo' })
    await warmUp(bench, server, plan())
    const { echo, save } = await interleave(bench.rounds, {
      echo: () => load(bench, ceiling, { kind: 'echo' }),
      save: () => load(bench, server, plan()),
    })
    return [rateFinding(name, save, echo, least, aim)]
  })
}

/** Saves at random moments, half as many as it could take: how long they take, from when they were due. */
export const latency: Figure = async (bench) =>
  withWrites(bench, largest(bench), async (server) => {
    await warmUp(bench, server, lightPlan())
    const runs = []
    for (let round = 0; round < bench.rounds; round++) {
      const { perSecond: reached } = await load(bench, server, lightPlan())
      const half = await load(bench, server, lightPlan(), { perSecond: reached / 2, seconds: bench.seconds * 2 })
      runs.push({ reached, ...half })
    }
    const { p50, p99, max, perSecond } = {
      p50: median(runs.map((run) => run.p50)),
      p99: median(runs.map((run) => run.p99)),
      max: Math.max(...runs.map((run) => run.max)),
      perSecond: median(runs.map((run) => run.perSecond)),
    }
    const ratio = ratioOf(
      runs.map((run) => run.p99),
      runs.map((run) => run.p50),
    )
    const figure = `p99 ${short(p99)} ms at ${thousands(perSecond)}/s (longest ${short(max)} ms)`
    return [
      { name: 'latency', figure, ceiling: `p50 ${short(p50)} ms`, ratio, target: atMost(ratio, 10), details: runs },
    ]
  })

const batch = 1000

/** Batches in the library, against bare statements that write the same rows into the same schema. */
export const bulk: Figure = async (bench) => {
  const batches = bench.quick ? 5 : 20
  const { library, bare } = await interleave(bench.rounds, {
    library: () => onCopy(bench, (file) => withLibrary(file, batches)),
    bare: () => onCopy(bench, async (file) => withStatements(file, batches)),
  })
  const ratio = ratioOf(library, bare)
  return [
    {
      name: 'bulk',
      figure: `${thousands(median(library))}/s`,
      ceiling: `${thousands(median(bare))}/s`,
      ratio,
      target: atLeast(ratio, 0.6),
      details: { library, bare },
    },
  ]
}

async function onCopy(bench: Bench, use: (file: string) => Promise<number>): Promise<number> {
  const file = await scratch(bench.folder, largest(bench))
  try {
    return await use(file)
  } finally {
    await discard(file)
  }
}

/** Contacts a second. The first batch warms up. */
async function rateOf(batches: number, save: (people: readonly Person[]) => unknown): Promise<number> {
  let startedMs = 0
  for (let n = 0; n <= batches; n++) {
    if (n === 1) startedMs = performance.now()
    await save(Array.from({ length: batch }, (_, i) => person(n * batch + i)))
  }
  return ((batches * batch) / (performance.now() - startedMs)) * 1000
}

interface Person {
  readonly email: string
  readonly name: string
  readonly tags: readonly string[]
}

function person(n: number): Person {
  const tags = [n, n * 7 + 1].map((tag) => tagName(1 + (tag % lightTagCount)))
  return { email: `bulk.${n}@subscribers.example.org`, name: `Someone New ${n % 1000}`, tags }
}

function withLibrary(file: string, batches: number): Promise<number> {
  return withMailkeep(file, (mailkeep) => {
    const { contacts } = mailkeep.forClient(clientId)
    return rateOf(batches, (people) => Promise.all(people.map((each) => contacts.addToList(1, { ...each }))))
  })
}

function withStatements(file: string, batches: number): Promise<number> {
  const db = new Database(file)
  for (const pragma of ['synchronous = full', 'foreign_keys = on', 'secure_delete = on']) db.pragma(pragma)
  const find = db.prepare('select id from mailkeep_contact where client_id = 1 and email_key = ?')
  const findTag = db.prepare('select id from mailkeep_tag where client_id = 1 and name_key = ?').pluck()
  const insert = db
    .prepare(`insert into mailkeep_contact (client_id, uuid, created_at, email, email_key, name, attributes, search,
      unsubscribed_by_contact) values (1, ?, ?, ?, ?, ?, '{}', ?, 0) returning id`)
    .pluck()
  const index = db.prepare(`insert into mailkeep_search (rowid, search) values (${2 ** 40} + ?, ?)`)
  const tag = db.prepare('insert into mailkeep_contact_tag values (1, ?, ?) on conflict do nothing')
  const list = db.prepare('insert into mailkeep_contact_list values (1, ?, 1) on conflict do nothing')
  const event = db
    .prepare(`insert into mailkeep_event (client_id, uuid, created_at, type, contact_id, body)
      values (1, ?, ?, 'contact.subscribed', ?, ?) returning id`)
    .pluck()
  const delivery = db.prepare(`insert into mailkeep_delivery (client_id, uuid, created_at, endpoint_id, event_id,
    event_type, status, attempts, retry, due_at) values (1, ?, ?, 1, ?, 'contact.subscribed', 'pending', 0, 0, ?)`)

  const save = ({ email, name, tags }: Person) => {
    const at = new Date().toISOString()
    const search = `${name.toLowerCase()}\u001f${email}`
    if (find.get(email)) throw new Error('these contacts are new')
    const uuid = randomUUID()
    const id = BigInt(insert.get(uuid, at, email, email, name, search) as number)
    index.run(id, search)
    const tagIds = tags.map((each) => BigInt(findTag.get(each) as number))
    for (const tagId of tagIds) tag.run(id, tagId)
    list.run(id)
    const contact = { id: Number(id), uuid, name, email, extra_attributes: {}, tags, lists: ['list 1'], created_at: at }
    const body = JSON.stringify({ id: randomUUID(), type: 'contact.subscribed', created_at: at, data: { contact } })
    const eventId = BigInt(event.get(randomUUID(), at, id, body) as number)
    delivery.run(randomUUID(), at, eventId, at)
  }
  const saveAll = db.transaction((people: readonly Person[]) => people.forEach(save))
  return rateOf(batches, saveAll).finally(() => db.close())
}
