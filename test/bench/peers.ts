/** Compares mailkeep with job queues, outboxes and services for contacts. npm installs them into a temporary folder. */
import { readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import type { Bench, Figure, Finding } from './harness.ts'
import { measureContacts } from './peers/contact-figures.ts'
import { installPeers, versions } from './peers/install.ts'
import { measureQueues } from './peers/queue-figures.ts'
import { markdownOf, plotOfSheets, type Sheet } from './peers/sheet.ts'

const readme = join(import.meta.dirname, '../README.md')
const plot = join(import.meta.dirname, 'peers.svg')

export const peers: Figure = async (bench) => {
  process.stdout.write('  installing …\n')
  const installed = await installPeers(bench.folder)
  const sheets = [await measureQueues(bench, installed.folder), await measureContacts(bench, installed)]
  const svg = plotOfSheets(sheets)
  await writeFile(join(bench.output, 'peers.svg'), svg)
  if (bench.write) {
    await writeFile(plot, svg)
    await writeResults(bench, sheets)
  }
  return sheets.flatMap(findingsOf)
}

function findingsOf({ title, columns, rows }: Sheet): Finding[] {
  return columns.flatMap((column, at) =>
    rows.flatMap(({ name, cells }) => {
      const { text, values } = cells[at]!
      return text === '' ? [] : [{ name: `peers: ${title}, ${column}, ${name}`, figure: text, details: values }]
    }),
  )
}

/** Replaces the tables between the marks in test/README.md. */
async function writeResults({ rounds, seconds, quick }: Bench, sheets: readonly Sheet[]): Promise<void> {
  const [start, end] = ['<!-- peers -->', '<!-- end of peers -->']
  const text = await readFile(readme, 'utf8')
  const how = quick ? 'a quick run, which only shows that it works' : `medians of ${rounds} rounds (smallest–largest)`
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const results = [
    start,
    `Last result (${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores, Node ${process.versions.node}): ${how},`,
    `${seconds} s a measurement. ${packages.join(', ')}.`,
    '',
    ...sheets.flatMap((sheet) => [markdownOf(sheet), '']),
    '![The same figures as bars](bench/peers.svg)',
    end,
  ]
  const [before, rest] = text.split(start)
  const [, after] = (rest ?? '').split(end)
  if (after === undefined) throw new Error(`test/README.md has no ${start} … ${end}`)
  await writeFile(readme, before + results.join('\n') + after)
}
