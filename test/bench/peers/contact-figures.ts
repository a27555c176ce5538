/** Measures the services for contacts over HTTP, after a check that all of them give the same answers. */
import assert from 'node:assert/strict'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { type Child, Server } from '../children.ts'
import { type Bench, interleave, load, thousands } from '../harness.ts'
import { token } from '../population.ts'
import { withEmptyPostgres, withPostgres } from '../postgres-place.ts'
import { deepPagesPlan } from '../reads.ts'
import type { Plan } from '../requests.ts'
import { discard, scratch } from '../seed.ts'
import { lightPlan } from '../writes.ts'
import { ContactProcess } from './children.ts'
import { fillPostgres, fillSqlite } from './contact-tables.ts'
import type { Peers } from './install.ts'
import { cellOf, type Sheet } from './sheet.ts'

const path = '/api/v1/contacts'
const contactCount = 100_000

const searches = (...terms: string[]): Plan => ({
  kind: 'get',
  token,
  paths: terms.map((term) => `${path}?search=${encodeURIComponent(term)}`),
})

const plans: Readonly<Record<string, (size: number) => Plan>> = {
  'page of 25/s': deepPagesPlan,
  'common search/s': () => searches('example', 'LOVELACE', 'femke', 'müller'),
  'rare search/s': () => searches('zebulon'),
  'search without match/s': () => searches('qqqqq'),
  'saved contacts/s': lightPlan,
}

type Service = Child & { readonly port: number }

export async function measureContacts(bench: Bench, { folder, prismaProblem }: Peers): Promise<Sheet> {
  const size = bench.quick ? 10_000 : contactCount
  if (prismaProblem) process.stdout.write(`Prisma is left out: ${prismaProblem}\n`)
  return await withDatabases(bench, size, async (databases) => {
    const services: Record<string, Service> = {}
    try {
      services['mailkeep, SQLite'] = await Server.mailkeepOnAnyCore(bench, databases.sqlite, {})
      services['mailkeep, PostgreSQL'] = await Server.mailkeepOnAnyCore(bench, databases.postgres, {})
      services['Drizzle, SQLite with FTS5'] = await ContactProcess.open(folder, 'drizzle', databases.peerSqlite)
      services['Kysely, PostgreSQL with pg_trgm'] = await ContactProcess.open(folder, 'kysely', databases.peerPostgres)
      if (!prismaProblem) {
        const prisma = await ContactProcess.open(folder, 'prisma', databases.peerPostgres)
        services['Prisma, PostgreSQL with pg_trgm'] = prisma
      }
      await assertSameAnswers(services)
      return await measure(bench, services, size)
    } finally {
      for (const service of Object.values(services)) await service[Symbol.asyncDispose]()
    }
  })
}

interface Databases {
  readonly sqlite: string
  readonly postgres: string
  readonly peerSqlite: string
  readonly peerPostgres: string
}

async function withDatabases<T>(bench: Bench, size: number, use: (databases: Databases) => Promise<T>): Promise<T> {
  const sqlite = await scratch(bench.folder, size)
  const peerSqlite = join(await mkdtemp(join(bench.folder, 'contacts-')), 'contacts.db')
  fillSqlite(peerSqlite, size)
  try {
    return await withPostgres(bench.folder, size, (postgres) =>
      withEmptyPostgres(async (peerPostgres) => {
        await fillPostgres(peerPostgres, size)
        return await use({ sqlite, postgres, peerSqlite, peerPostgres })
      }),
    )
  } finally {
    await discard(sqlite)
  }
}

/** @throws Unless every service answers with the same contacts, tags and lists as the first. */
async function assertSameAnswers(services: Readonly<Record<string, Service>>): Promise<void> {
  for (const query of ['', '?search=example', '?search=LOVELACE', '?search=zebulon', '?search=qqqqq']) {
    let first: unknown
    for (const [name, { port }] of Object.entries(services)) {
      const response = await fetch(`http://127.0.0.1:${port}${path}${query}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      const { data } = (await response.json()) as { data: Shown[] }
      const shown = data.map(({ id, email, name, tags, lists, extra_attributes }) => {
        const [tagNames, listNames] = [tags, lists].map((groups) => groups.map((group) => group.name).sort())
        return { id, email, name, tagNames, listNames, extra_attributes }
      })
      if (first === undefined) first = shown
      else assert.deepEqual(shown, first, `${name}: ${query}`)
    }
  }
}

interface Shown {
  readonly id: number
  readonly email: string
  readonly name: string
  readonly tags: readonly { readonly name: string }[]
  readonly lists: readonly { readonly name: string }[]
  readonly extra_attributes: Readonly<Record<string, string>>
}

async function measure(bench: Bench, services: Readonly<Record<string, Service>>, size: number): Promise<Sheet> {
  const cases: Record<string, () => Promise<number>> = {}
  for (const [plan, planOf] of Object.entries(plans)) {
    process.stdout.write(`  ${plan} …\n`)
    for (const [name, service] of Object.entries(services)) {
      const server = service as Server
      const run = async (seconds: number) =>
        (await load(bench, server, planOf(size), { calm: true, seconds })).perSecond
      await run(bench.quick ? 0.5 : 1) // until its code is compiled
      cases[`${plan}, ${name}`] = () => run(bench.seconds)
    }
  }
  const rates = await interleave(bench.rounds, cases)
  const columns = Object.keys(plans)
  const rows = Object.keys(services).map((name) => {
    return { name, cells: columns.map((plan) => cellOf(rates[`${plan}, ${name}`]!, thousands)) }
  })
  return { title: 'contacts', columns, rows }
}
