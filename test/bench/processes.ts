/** One and two processes of a daemon: pages and saves. The load shares the machine's cores with them. */
import { Server } from './children.ts'
import {
  type Bench,
  type Figure,
  type Finding,
  interleave,
  load,
  ratioOf,
  smallest,
  thousands,
  warmUp,
} from './harness.ts'
import type { Job, Measured } from './load.ts'
import { withPostgres } from './postgres-place.ts'
import { deepPagesPlan } from './reads.ts'
import type { Plan } from './requests.ts'
import { discard, scratch } from './seed.ts'
import { median } from './summary.ts'
import { lightPlan } from './writes.ts'

/** Sleeps while it waits, so that it takes less of the cores. */
const calm: Partial<Job> = { calm: true }

const plans: Record<string, (size: number) => Plan> = {
  pages: deepPagesPlan,
  saves: lightPlan,
}

export const processes: Figure = async (bench) => {
  const file = await scratch(bench.folder, smallest(bench))
  try {
    const findings = await compare(bench, file, 'processes')
    const onServer = await withPostgres(bench.folder, smallest(bench), (url) => {
      return compare(bench, url, 'processes: on PostgreSQL')
    })
    return [...findings, ...onServer]
  } finally {
    await discard(file)
  }
}

async function compare(bench: Bench, database: string, title: string): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [name, planOf] of Object.entries(plans)) {
    const by = (count: number) => () => measure(bench, database, count, () => planOf(smallest(bench)))
    const { one, two } = await interleave(Math.min(bench.rounds, 3), { one: by(1), two: by(2) })
    const rates = (runs: readonly Measured[]) => runs.map(({ perSecond }) => perSecond)
    findings.push({
      name: `${title}: ${name} by two`,
      figure: `${thousands(median(rates(two)))}/s`,
      ceiling: `${thousands(median(rates(one)))}/s by one`,
      ratio: ratioOf(rates(two), rates(one)),
      details: { one, two },
    })
  }
  return findings
}

async function measure(bench: Bench, database: string, count: number, plan: () => Plan): Promise<Measured> {
  await using server = await Server.mailkeepOnAnyCore(bench, database, { MAILKEEP_PROCESSES: String(count) })
  await warmUp(bench, server, plan())
  return await load(bench, server, plan(), calm)
}
