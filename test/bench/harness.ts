/** Shared by all benchmarks: rounds, ratios, and the format of a finding. */
import { columns } from '../../daemon/commands/command.ts'
import { Loader, type Server } from './children.ts'
import type { Job, Measured } from './load.ts'
import type { Plan } from './requests.ts'
import { median } from './summary.ts'

export interface Bench {
  readonly rounds: number
  readonly seconds: number
  /** Database sizes in contacts, ascending. All benchmarks but `growth` use the largest. */
  readonly sizes: readonly number[]
  /** Temporary folder with bundles and writable databases; deleted at the end. */
  readonly folder: string
  /** Folder for results: JSON, plots, profiles. */
  readonly output: string
  /** Whether servers write CPU profiles into `output`. */
  readonly profile: boolean
  readonly quick: boolean
  /** Whether results go into test/README.md. */
  readonly write: boolean
}

/** One line of the result table. */
export interface Finding {
  readonly name: string
  readonly figure: string
  readonly ceiling?: string
  readonly ratio?: number
  /**
   * The same ratio, by processor time alone. It stays valid when the machine has other work, but ignores disk waits.
   */
  readonly byCpu?: number
  readonly target?: Target
  /** Written to the JSON file. */
  readonly details?: unknown
}

export interface Target {
  readonly text: string
  readonly met: boolean
}

export type Figure = (bench: Bench) => Promise<Finding[]>

export const largest = ({ sizes }: Bench) => sizes.at(-1)!
export const smallest = ({ sizes }: Bench) => sizes[0]!

/** Runs the cases alternately, so that other work on the machine affects all of them equally. */
export async function interleave<K extends string, T>(
  rounds: number,
  cases: Record<K, () => Promise<T>>,
): Promise<Record<K, T[]>> {
  const names = Object.keys(cases) as K[]
  const results = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Record<K, T[]>
  for (let round = 0; round < rounds; round++) {
    for (const name of names) results[name].push(await cases[name]())
  }
  return results
}

/** Sends requests over 64 connections for the bench's duration, unless `job` overrides that. */
export async function load(bench: Bench, server: Server, plan: Plan, job: Partial<Job> = {}): Promise<Measured> {
  await using loader = new Loader(bench.folder)
  return await loader.run({ ...jobFor(bench, server, plan), ...job })
}

export function jobFor({ seconds }: Bench, { port, pid }: Server, plan: Plan): Job {
  // `warmUp` has warmed up the server already. This warms up the process that generates the load.
  return { port, pid, plan, connections: 64, warmupSeconds: 0.3, seconds }
}

/** Sends load until the server's code is compiled and its database pages are cached. */
export async function warmUp(bench: Bench, server: Server, plan: Plan, most?: number): Promise<void> {
  await load(bench, server, plan, { seconds: bench.quick ? 1 : 3, ...(most === undefined ? {} : { most }) })
}

/** Returns the ratio per round: both values are of the same round. */
export function ratioOf(of: readonly number[], to: readonly number[]): number {
  return median(of.map((value, i) => value / to[i]!))
}

/** Compares a rate with the best possible rate. */
export function rateFinding(
  name: string,
  runs: readonly Measured[],
  ceilings: readonly Measured[],
  least?: number,
  aim?: number,
): Finding {
  const rate = ({ perSecond }: Measured) => perSecond
  const ratio = ratioOf(runs.map(rate), ceilings.map(rate))
  return {
    name,
    figure: `${thousands(median(runs.map(rate)))}/s`,
    ceiling: `${thousands(median(ceilings.map(rate)))}/s`,
    ratio,
    byCpu: ratioOf(runs.map(ratePerCpu), ceilings.map(ratePerCpu)),
    ...(least === undefined ? {} : { target: atLeast(ratio, least, aim) }),
    details: { runs, ceilings },
  }
}

/** Returns answers per second of the server's processor time. */
function ratePerCpu({ perSecond, serverBusy }: Measured): number {
  return perSecond / serverBusy
}

export function atLeast(value: number, least: number, aim?: number): Target {
  return { text: aim === undefined ? `≥ ${least}` : `≥ ${least}, aim ${aim}`, met: value >= least }
}

export function atMost(value: number, most: number, unit = ''): Target {
  return { text: `≤ ${most}${unit}`, met: value <= most }
}

export function thousands(value: number): string {
  return Math.round(value).toLocaleString('en')
}

/** Formats to three significant digits. */
export function short(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(3))) : '–'
}

/** Formats the findings as a table. */
export function tableOf(findings: readonly Finding[]): string {
  const rows = findings.map(({ name, figure, ceiling = '', ratio, byCpu, target }) => [
    name,
    figure,
    ceiling,
    ratio === undefined ? '' : short(ratio),
    byCpu === undefined ? '' : short(byCpu),
    target?.text ?? '',
    target ? (target.met ? 'yes' : 'NO') : '',
  ])
  const all = [['what', 'figure', 'ceiling', 'ratio', 'by CPU', 'target', 'met'], ...rows]
  return columns(all)
}
