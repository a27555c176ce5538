/** Measures saves while a tag, then a list, of all contacts is deleted. */
import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { Loader, Server } from './children.ts'
import { type Bench, type Figure, type Finding, jobFor, largest, load, short, thousands, warmUp } from './harness.ts'
import type { Measured } from './load.ts'
import { clientId, token } from './population.ts'
import { discard, scratch, withFastHandle, withMailkeep } from './seed.ts'
import { lightPlan } from './writes.ts'

const kinds = ['tag', 'list'] as const
type Kind = (typeof kinds)[number]

/** Deleting everything in one transaction would block all requests for 660 ms. */
const longestMs = 100

export const massDelete: Figure = async (bench) => {
  const file = await scratch(bench.folder, largest(bench))
  try {
    const ids = await addToAll(file)
    await using server = await Server.mailkeep(bench, file)
    await warmUp(bench, server, lightPlan())
    const { perSecond: reached } = await load(bench, server, lightPlan())
    const perSecond = reached / 2
    const without = await load(bench, server, lightPlan(), { perSecond, seconds: bench.quick ? 3 : 10 })
    const findings = []
    for (const kind of kinds) {
      findings.push(findingOf(kind, await whileDeleting(bench, server, file, kind, ids[kind], perSecond), without))
    }
    return findings
  } finally {
    await discard(file)
  }
}

/** @returns The ids of a tag and a list that every contact has. */
async function addToAll(file: string): Promise<Record<Kind, number>> {
  const ids = await withMailkeep(file, async (mailkeep) => {
    const client = mailkeep.forClient(clientId)
    const [tag, list] = [await client.tags.create({ name: 'all' }), await client.lists.create({ name: 'all' })]
    return { tag: tag.id, list: list.id }
  })
  withFastHandle(file, (db) => {
    for (const kind of kinds) {
      db.prepare(`insert into mailkeep_contact_${kind} select client_id, id, ? from mailkeep_contact`).run(
        BigInt(ids[kind]),
      )
    }
  })
  return ids
}

interface Deletion extends Measured {
  readonly tookMs: number
}

async function whileDeleting(
  bench: Bench,
  server: Server,
  file: string,
  kind: Kind,
  id: number,
  perSecond: number,
): Promise<Deletion> {
  await using loader = new Loader(bench.folder)
  const mostSeconds = 120
  const measured = loader.run({ ...jobFor(bench, server, lightPlan()), perSecond, seconds: mostSeconds })
  await delay(1500)
  const startedMs = performance.now()
  await remove(server.port, `/api/v1/${kind}s/${id}`)
  await cleared(file, mostSeconds * 1000)
  const tookMs = performance.now() - startedMs
  loader.end()
  return { ...(await measured), tookMs }
}

async function remove(port: number, path: string): Promise<void> {
  const sent = request({ port, path, method: 'DELETE', headers: { authorization: `Bearer ${token}` } }).end()
  const [response] = await once(sent, 'response')
  response.resume()
  if (response.statusCode !== 204) throw new Error(`the deletion was answered ${response.statusCode}`)
}

async function cleared(file: string, withinMs: number): Promise<void> {
  const db = new Database(file, { readonly: true })
  try {
    const jobs = db.prepare(`select count(*) from mailkeep_job where status = 'pending'`).pluck()
    for (const ends = performance.now() + withinMs; jobs.get() !== 0 && performance.now() < ends; ) await delay(100)
  } finally {
    db.close()
  }
}

function findingOf(kind: Kind, during: Deletion, without: Measured): Finding {
  return {
    name: `mass-delete: a ${kind}`,
    figure: `longest ${short(during.max)} ms, p99 ${short(during.p99)} ms at ${thousands(during.perSecond)}/s, for ${short(during.tookMs / 1000)} s`,
    ceiling: `${short(without.max)} ms, p99 ${short(without.p99)} ms`,
    ratio: during.p99 / without.p99,
    target: { text: `no stall ≥ ${longestMs} ms`, met: during.max < longestMs },
    details: { during, without },
  }
}
