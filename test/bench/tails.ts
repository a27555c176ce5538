/** The slowest answers at half the reachable rate: reads and writes over 64 connections, on both databases. */
import { Server } from './children.ts'
import {
  atMost,
  type Bench,
  type Figure,
  type Finding,
  largest,
  load,
  ratioOf,
  short,
  thousands,
  warmUp,
} from './harness.ts'
import type { Job } from './load.ts'
import { token } from './population.ts'
import { withPostgres } from './postgres-place.ts'
import { deepPagesPlan, getPlan, helloPlan } from './reads.ts'
import type { Plan } from './requests.ts'
import { discard, scratch } from './seed.ts'
import { median } from './summary.ts'
import { lightPlan } from './writes.ts'

const plans: Readonly<Record<string, (size: number) => Plan>> = {
  'one contact': getPlan,
  pages: deepPagesPlan,
  saves: lightPlan,
  events: () => ({ kind: 'events', tokens: [token] }),
}

export const tails: Figure = async (bench) => {
  const size = Math.min(largest(bench), 100_000)
  const bare = await measureBare(bench)
  const file = await scratch(bench.folder, size)
  try {
    const onFile = await measureAll(bench, file, size, 'tails')
    const onServer = await withPostgres(bench.folder, size, (url) => {
      return measureAll(bench, url, size, 'tails: on PostgreSQL', { calm: true })
    })
    return [bare, ...onFile, ...onServer]
  } finally {
    await discard(file)
  }
}

/** What this machine and the load add: polka without mailkeep. */
async function measureBare(bench: Bench): Promise<Finding> {
  await using polka = await Server.ceiling(bench.folder)
  return await measure(bench, polka, 'tails: bare polka', helloPlan)
}

/** @param how With PostgreSQL the load sleeps while it waits, because that server needs a processor too. */
async function measureAll(bench: Bench, database: string, size: number, title: string, how: Partial<Job> = {}) {
  const findings: Finding[] = []
  await using server = await (how.calm
    ? Server.mailkeepOnAnyCore(bench, database, {})
    : Server.mailkeep(bench, database))
  for (const [name, planOf] of Object.entries(plans)) {
    findings.push(await measure(bench, server, `${title}: ${name}`, planOf(size), how))
  }
  return findings
}

async function measure(bench: Bench, server: Server, name: string, plan: Plan, how: Partial<Job> = {}) {
  await warmUp(bench, server, plan)
  const runs = []
  for (let round = 0; round < Math.min(bench.rounds, 3); round++) {
    const { perSecond: reached } = await load(bench, server, plan, how)
    const half = { ...how, perSecond: reached / 2, seconds: bench.seconds * 2 }
    runs.push({ reached, ...(await load(bench, server, plan, half)) })
  }
  return findingOf(name, runs)
}

function findingOf(name: string, runs: readonly { p50: number; p99: number; perSecond: number }[]): Finding {
  const [p50s, p99s] = [runs.map(({ p50 }) => p50), runs.map(({ p99 }) => p99)]
  const ratio = ratioOf(p99s, p50s)
  return {
    name,
    figure: `p99 ${short(median(p99s))} ms at ${thousands(median(runs.map(({ perSecond }) => perSecond)))}/s`,
    ceiling: `p50 ${short(median(p50s))} ms`,
    ratio,
    target: atMost(ratio, 4),
    details: runs,
  }
}
