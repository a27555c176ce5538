/** Write benchmarks: light and heavy saves, latency at half the rate, and batches. */
import { randomUUID } from 'node:crypto'
import Database from 'better-sqlite3'
import { bareSaver, type Person, pragmas } from './bare-save.ts'
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
import type { Measured } from './load.ts'
import { clientId, lightTagCount, tagName, token } from './population.ts'
import type { Plan } from './requests.ts'
import { discard, scratch, withMailkeep } from './seed.ts'
import { median } from './summary.ts'

/**
 * The dispatcher is off: each save writes its event and delivery, and they pile up. With it, deliveries would share the
 * one core. `webhooks` measures them.
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

/** Uses new addresses on each run. */
export function lightPlan(): Plan {
  return { kind: 'save-light', token, run: randomUUID().slice(0, 8) }
}

function heavyPlan(existing: number): Plan {
  return { kind: 'save-heavy', token, run: randomUUID().slice(0, 8), existing }
}

export const saveLight: Figure = async (bench) => {
  const file = await scratch(bench.folder, largest(bench))
  try {
    await using bare = await Server.bareSaves(bench.folder, file)
    await warmUp(bench, bare, lightPlan())
    const { echo, save, others } = await saves(bench, lightPlan, { bare: () => load(bench, bare, lightPlan()) })
    return [
      rateFinding('save-light', save, echo, 0.2, 0.35),
      rateFinding('save-light: to bare statements behind polka', save, others.bare),
    ]
  } finally {
    await discard(file)
  }
}

export const saveHeavy: Figure = async (bench) => {
  const { echo, save } = await saves(bench, () => heavyPlan(largest(bench)), {})
  return [rateFinding('save-heavy', save, echo, 0.06, 0.1)]
}

/** @param others Cases that are measured alternately with these. */
async function saves<K extends string>(bench: Bench, plan: () => Plan, others: Record<K, () => Promise<Measured>>) {
  await using ceiling = await Server.ceiling(bench.folder)
  return await withWrites(bench, largest(bench), async (server) => {
    await warmUp(bench, ceiling, { kind: 'echo' })
    await warmUp(bench, server, plan())
    const { echo, save, ...rest } = await interleave(bench.rounds, {
      echo: () => load(bench, ceiling, { kind: 'echo' }),
      save: () => load(bench, server, plan()),
      ...others,
    })
    return { echo, save, others: rest as unknown as Record<K, Measured[]> }
  })
}

/** Measures the time of saves from when they were due, at random moments and half the maximum rate. */
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

/** Compares batches in the library with bare statements that write the same rows into the same schema. */
export const bulk: Figure = async (bench) => {
  const batches = bench.quick ? 5 : 20
  const { library, operations, bare, audited } = await interleave(bench.rounds, {
    library: () => onCopy(bench, (file) => withLibrary(file, batches)),
    operations: () => onCopy(bench, (file) => withOperations(file, batches)),
    bare: () => onCopy(bench, async (file) => withStatements(file, batches, { audit: false })),
    audited: () => onCopy(bench, async (file) => withStatements(file, batches, { audit: true })),
  })
  const finding = (name: string, rates: readonly number[], bare: readonly number[]) => {
    const ratio = ratioOf(rates, bare)
    return {
      name,
      figure: `${thousands(median(rates))}/s`,
      ceiling: `${thousands(median(bare))}/s`,
      ratio,
      target: atLeast(ratio, 0.6),
      details: { rates, bare },
    }
  }
  return [finding('bulk', library, bare), finding('bulk: a batch of operations', operations, audited)]
}

async function onCopy(bench: Bench, use: (file: string) => Promise<number>): Promise<number> {
  const file = await scratch(bench.folder, largest(bench))
  try {
    return await use(file)
  } finally {
    await discard(file)
  }
}

/** Returns contacts per second. The first batch warms up. */
async function rateOf(batches: number, save: (people: readonly Person[]) => unknown): Promise<number> {
  let startedMs = 0
  for (let n = 0; n <= batches; n++) {
    if (n === 1) startedMs = performance.now()
    await save(Array.from({ length: batch }, (_, i) => person(n * batch + i)))
  }
  return ((batches * batch) / (performance.now() - startedMs)) * 1000
}

function person(n: number): Person {
  const tags = [n, n * 7 + 1].map((tag) => tagName(1 + (tag % lightTagCount)))
  return { email: `bulk.${n}@subscribers.example.org`, name: `Someone New ${n % 1000}`, tags }
}

function withLibrary(file: string, batches: number): Promise<number> {
  return withMailkeep(file, (mailkeep) => {
    const { contacts } = mailkeep.forClient(clientId)
    return rateOf(batches, (people) => contacts.addManyToList(1, people))
  })
}

function withOperations(file: string, batches: number): Promise<number> {
  return withMailkeep(file, (mailkeep) => {
    const { contacts } = mailkeep.forClient(clientId)
    return rateOf(batches, (people) =>
      contacts.batch({ operations: people.map((each) => ({ op: 'upsert', lists: [1], ...each })) }),
    )
  })
}

function withStatements(file: string, batches: number, saved: { readonly audit: boolean }): Promise<number> {
  const db = new Database(file)
  for (const pragma of pragmas) db.pragma(pragma)
  const save = bareSaver(db, saved)
  const saveAll = db.transaction((people: readonly Person[]) => {
    for (const each of people) save(1n, each)
  })
  return rateOf(batches, saveAll).finally(() => db.close())
}
