/** `npm run bench` runs all benchmarks, `npm run bench -- NAME…` only these. A slow result is not a failure. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle } from './children.ts'
import { contacts } from './contacts.ts'
import { memory, start } from './daemon.ts'
import { eventsBatch } from './events.ts'
import { growth } from './growth.ts'
import { type Bench, type Figure, type Finding, tableOf } from './harness.ts'
import { mail, mailPrepare, mailSteps } from './mail.ts'
import { massDelete } from './mass-delete.ts'
import { peers } from './peers.ts'
import { postgres } from './postgres.ts'
import { processes } from './processes.ts'
import { summariseProfiles } from './profile.ts'
import { get, page, search } from './reads.ts'
import { tails } from './tails.ts'
import { webhooks, webhooksBesideMail, webhooksLatency, webhooksMemory } from './webhooks.ts'
import { bulk, latency, saveHeavy, saveLight } from './writes.ts'

const figures: Readonly<Record<string, Figure>> = {
  'save-light': saveLight,
  'save-heavy': saveHeavy,
  latency,
  get,
  page,
  search,
  contacts,
  bulk,
  'events-batch': eventsBatch,
  growth,
  'mass-delete': massDelete,
  start,
  memory,
  webhooks,
  'webhooks-latency': webhooksLatency,
  'webhooks-memory': webhooksMemory,
  'webhooks-beside-mail': webhooksBesideMail,
  mail,
  'mail-prepare': mailPrepare,
  'mail-steps': mailSteps,
  postgres,
  processes,
  tails,
  peers,
}

const usage = `npm run bench -- [options] [NAME…]

names: ${Object.keys(figures).join(', ')}
  --rounds N      measurements of each case; default 7
  --seconds N     duration of each measurement; default 2
  --sizes N,N,…   contacts in the databases; default 10000,100000,1000000
  --quick         1 round of 1 s on 10,000 and 100,000 contacts, to check that it works
  --write         writes the results of peers into test/README.md
  --profile       servers write CPU profiles to .bench/, and a summary is printed
`

const output = join(import.meta.dirname, '../../.bench')

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      sizes: { type: 'string' },
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  })
  const unknown = positionals.filter((name) => !Object.hasOwn(figures, name))
  if (values.help || unknown.length > 0) {
    process.stdout.write(unknown.length > 0 ? `There is no benchmark ${unknown.join(', ')}.\n${usage}` : usage)
    return
  }
  const { quick, write, profile } = values
  const folder = await mkdtemp(join(tmpdir(), 'mailkeep-bench-'))
  const bench: Bench = {
    rounds: Number(values.rounds ?? (quick ? 1 : 7)),
    seconds: Number(values.seconds ?? (quick ? 1 : 2)),
    sizes: numbersIn(values.sizes ?? (quick ? '10000,100000' : '10000,100000,1000000')),
    folder,
    output,
    profile,
    quick,
    write,
  }
  try {
    await mkdir(output, { recursive: true })
    await bundle(folder)
    await measure(bench, positionals.length > 0 ? positionals : Object.keys(figures))
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function measure(bench: Bench, names: readonly string[]): Promise<void> {
  const [others] = loadavg() as [number, number, number]
  if (others > 1) process.stdout.write(`The machine has other work (load ${others.toFixed(1)}): see "by CPU".\n\n`)
  const findings: Finding[] = []
  for (const name of names) {
    process.stdout.write(`${name} …\n`)
    const found = await figures[name]!(bench)
    findings.push(...found)
    process.stdout.write(`${tableOf(found)}\n\n`)
    if (bench.profile) process.stdout.write(`${await summariseProfiles(output, bench.folder, name)}\n\n`)
  }
  const { rounds, seconds, sizes } = bench
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length }
  const kept = { at: new Date().toISOString(), machine, others, rounds, seconds, sizes, findings }
  await writeFile(join(output, 'figures.json'), JSON.stringify(kept, undefined, 2))
  process.stdout.write(`${tableOf(findings)}\n\nDetails: .bench/figures.json\n`)
}

function numbersIn(list: string): number[] {
  return list
    .split(',')
    .map(Number)
    .sort((a, b) => a - b)
}

await main()
