/** Measures how the cost of the same work grows with the number of contacts. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Server } from './children.ts'
import {
  atMost,
  type Bench,
  type Figure,
  type Finding,
  interleave,
  largest,
  load,
  ratioOf,
  short,
  smallest,
  warmUp,
} from './harness.ts'
import { plotOf } from './plot.ts'
import { deepPagesPlan, getPlan, searchPlan } from './reads.ts'
import type { Plan } from './requests.ts'
import { seeded } from './seed.ts'
import { median } from './summary.ts'
import { lightPlan, withWrites } from './writes.ts'

const reads: Readonly<Record<string, (size: number) => Plan>> = {
  get: getPlan,
  page: deepPagesPlan,
  search: searchPlan,
}

export const growth: Figure = async (bench) => {
  const servers: Server[] = []
  const cases: Record<string, () => Promise<number>> = {}
  try {
    for (const size of bench.sizes) {
      const server = await Server.mailkeep(bench, await seeded(size))
      servers.push(server)
      for (const [name, plan] of Object.entries(reads)) {
        await warmUp(bench, server, plan(size))
        cases[`${name} ${size}`] = async () => costUs(await load(bench, server, plan(size)))
      }
      cases[`save-light ${size}`] = () => withWrites(bench, size, (writable) => costOfSaves(bench, writable))
    }
    return await findings(bench, await interleave(bench.rounds, cases))
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]()
  }
}

/** Few enough saves that a small database stays small. */
async function costOfSaves(bench: Bench, server: Server): Promise<number> {
  const most = 10_000
  await warmUp(bench, server, lightPlan(), most)
  return costUs(await load(bench, server, lightPlan(), { seconds: 10, most }))
}

async function findings(bench: Bench, costs: Record<string, number[]>): Promise<Finding[]> {
  const lines = ['save-light', ...Object.keys(reads)].map((name) => ({
    name,
    points: bench.sizes.map((size): [number, number] => [size, median(costs[`${name} ${size}`]!)]),
  }))
  await writeFile(join(bench.output, 'growth.svg'), plotOf(lines))
  return lines.map(({ name, points }) => {
    const ratio = ratioOf(costs[`${name} ${largest(bench)}`]!, costs[`${name} ${smallest(bench)}`]!)
    const figure = points.map(([, cost]) => short(cost)).join(' → ')
    return { name: `growth: ${name}`, figure: `${figure} µs`, ratio, target: atMost(ratio, 1.5), details: points }
  })
}

/** Returns the microseconds of the server's core per request. */
function costUs({ perSecond }: { perSecond: number }): number {
  return 1_000_000 / perSecond
}
