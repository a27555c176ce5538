/** Finding contacts beyond the contract: by e-mail, by segments of three filters, and counts. */
import Database from 'better-sqlite3'
import type { Mailkeep } from '../../lib/index.ts'
import { atMost, type Bench, type Figure, type Finding, interleave, largest, short } from './harness.ts'
import { clientId, emailOf } from './population.ts'
import { discard, scratch, withMailkeep } from './seed.ts'
import { median } from './summary.ts'

type Client = ReturnType<Mailkeep['forClient']>

/** Segments of three filters: from few matches to many, in every mix. */
const segments: Readonly<Record<string, object>> = {
  'list, tag, plan': { lists: [1], tags: [7], attributes: { plan: 'basic' } },
  'list, rare tag, plan': { lists: [1], tags: [500], attributes: { plan: 'basic' } },
  'list, plan, city': { lists: [2], attributes: { plan: 'basic', city: 'Rotterdam' } },
  'tag, plan, search': { tags: [7], attributes: { plan: 'basic' }, search: 'lovelace' },
  'list, without a tag, plan': { lists: [1], exclude_tags: [7], attributes: { plan: 'basic' } },
  'tags, without a list, time': { tags: [7, 8, 9], exclude_lists: [1], created_after: '2020-01-01T00:00:00Z' },
  'topic, plan, time': { topics: [1], attributes: { plan: 'basic' }, created_before: '2999-01-01T00:00:00Z' },
  'list, rare name, plan': { lists: [1], search: 'zebulon', attributes: { plan: 'basic' } },
  'a common list and tag with no contact in common': { lists: [1], tags: [8], attributes: { plan: 'basic' } },
}

const counts: Readonly<Record<string, object>> = {
  'all subscribed': {},
  'a list': { lists: [1] },
  'a tag': { tags: [7] },
  'a rare name': { search: 'zebulon' },
  'an attribute': { attributes: { plan: 'basic' } },
  'a list, a tag and an attribute': { lists: [1], tags: [7], attributes: { plan: 'basic' } },
}

export const contacts: Figure = async (bench) => {
  const file = await scratch(bench.folder, largest(bench))
  try {
    return await withMailkeep(file, async (mailkeep) => {
      const client = mailkeep.forClient(clientId)
      const started = performance.now()
      await client.settings.attributes.update({ indexed: ['plan', 'city'] })
      await mailkeep.deliverDue()
      const filled: Finding = {
        name: 'contacts: declare two attributes',
        figure: `${short((performance.now() - started) / 1000)} s`,
      }
      return [
        filled,
        ...(await lookups(bench, client, file)),
        ...(await pages(bench, client, file)),
        ...(await sums(bench, client, file)),
      ]
    })
  } finally {
    await discard(file)
  }
}

/** @param file The database, for the same look-ups by bare statements: an address is found in an index first. */
async function lookups(bench: Bench, client: Client, file: string): Promise<Finding[]> {
  const size = largest(bench)
  const calls = bench.quick ? 500 : 5000
  const some = () => Math.floor(Math.random() * size)
  const addresses = Array.from({ length: calls }, () => emailOf(some())) // made before the clock starts
  const db = new Database(file, { readonly: true })
  const row = 'select * from mailkeep_contact where client_id = ?'
  const [byId, byEmail] = [db.prepare(`${row} and id = ?`), db.prepare(`${row} and email_key = ?`)]
  const { id, email, bareId, bareEmail } = await interleave(bench.rounds + 1, {
    id: () => perCall(calls, () => client.contacts.getJson(1 + some())),
    email: () => perCall(calls, (n) => client.contacts.listJson({ email: addresses[n]!, include_unsubscribed: true })),
    bareId: () => perCall(calls, async () => byId.get(clientId, 1 + some())),
    bareEmail: () => perCall(calls, async (n) => byEmail.get(clientId, addresses[n]!)),
  })
  db.close()
  const middle = (times: readonly number[]) => median(times.slice(1))
  return [
    finding('contacts: look-up by e-mail', 'e-mail', middle(email), middle(id), 'by id', 1.5),
    finding('contacts: the same by bare statements', 'e-mail', middle(bareEmail), middle(bareId), 'by id', 1.5),
  ]
}

/** @param file The database, for the worst segment by a bare statement: each contact of the tag is looked up in the list. */
async function pages(bench: Bench, client: Client, file: string): Promise<Finding[]> {
  const ids = new Map<string, number>()
  for (const [name, filters] of Object.entries(segments)) {
    ids.set(name, (await client.segments.create({ name, filters })).id)
  }
  const cases = { plain: () => perCall(20, () => client.contacts.listJson()) } as Record<string, () => Promise<number>>
  for (const [name, segment] of ids) cases[name] = () => perCall(20, () => client.contacts.listJson({ segment }))
  const { plain, worst, middle, details } = await against(bench, cases)
  const db = new Database(file, { readonly: true })
  const findBare = db.prepare(`select m.contact_id from mailkeep_contact_tag as m where m.tag_id = 8
    and exists (select 1 from mailkeep_contact_list as l where l.list_id = 1 and l.contact_id = m.contact_id)`)
  const { bare } = await interleave(bench.rounds + 1, { bare: () => perCall(20, async () => findBare.all()) })
  db.close()
  return [
    { ...finding('contacts: a segment, in the middle', middle.name, middle.ms, plain, 'page', 2), details },
    finding('contacts: a segment, the worst', worst.name, worst.ms, plain, 'page', 20),
    finding('contacts: the worst segment, to a bare one', worst.name, worst.ms, median(bare.slice(1)), 'bare', 2),
  ]
}

/** @param file The database, for the same count by a bare statement: no plan can be faster than that. */
async function sums(bench: Bench, client: Client, file: string): Promise<Finding[]> {
  const db = new Database(file, { readonly: true })
  const countBare = db.prepare('select count(*) from mailkeep_contact where client_id = ? and unsubscribed_at is null')
  const bare = await interleave(bench.rounds + 1, {
    ours: () => perCall(1, () => client.contacts.count({})),
    bare: () => perCall(1, async () => countBare.get(clientId)),
  })
  db.close()
  const cases = { plain: () => perCall(20, () => client.contacts.listJson()) } as Record<string, () => Promise<number>>
  for (const [name, query] of Object.entries(counts)) cases[name] = () => perCall(1, () => client.contacts.count(query))
  const { plain, worst, middle, details } = await against(bench, cases)
  return [
    { ...finding('contacts: a count, in the middle', middle.name, middle.ms, plain, 'page', 20), details },
    finding('contacts: a count, the worst', worst.name, worst.ms, plain, 'page', 20),
    finding(
      'contacts: a count, to a bare one',
      'all subscribed',
      median(bare.ours.slice(1)),
      median(bare.bare.slice(1)),
      'bare',
      3,
    ),
  ]
}

/** Measures the cases alternately with `plain`, the first page without filters. */
async function against(bench: Bench, cases: Record<string, () => Promise<number>>) {
  const { plain, ...rest } = await interleave(bench.rounds + 1, cases) // the first round warms up
  const details = Object.entries(rest)
    .map(([name, times]) => ({ name, ms: median(times.slice(1)) }))
    .sort((a, b) => a.ms - b.ms)
  const worst = details.at(-1)!
  return { plain: median(plain!.slice(1)), worst, middle: details[Math.floor(details.length / 2)]!, details }
}

function finding(name: string, of: string, ms: number, ceilingMs: number, ceiling: string, most: number): Finding {
  const ratio = ms / ceilingMs
  return {
    name,
    figure: `${short(ms)} ms (${of})`,
    ceiling: `${ceiling} ${short(ceilingMs)} ms`,
    ratio,
    target: atMost(ratio, most),
  }
}

/** Returns milliseconds per call, one after another. */
async function perCall(calls: number, call: (n: number) => Promise<unknown>): Promise<number> {
  const started = performance.now()
  for (let n = 0; n < calls; n++) await call(n)
  return (performance.now() - started) / calls
}
