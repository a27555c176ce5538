/** Read benchmarks: one contact, pages, searches. */
import { Server } from './children.ts'
import { atMost, type Figure, type Finding, interleave, largest, load, rateFinding, short, warmUp } from './harness.ts'
import { clientId, emailOf, token } from './population.ts'
import type { Plan } from './requests.ts'
import { seeded, withMailkeep } from './seed.ts'
import { median } from './summary.ts'

const paths = '/api/v1/contacts'
const many = 10_000

export function getPlan(size: number): Plan {
  return { kind: 'get', token, paths: Array.from({ length: many }, () => `${paths}/${someId(size)}`) }
}

export function deepPagesPlan(size: number): Plan {
  return {
    kind: 'get',
    token,
    paths: Array.from({ length: many }, () => `${paths}?cursor=${cursorAfter(someId(size))}`),
  }
}

/**
 * Searches of three characters and more, on first and deep pages. The number of matches is independent of the database
 * size, because reading the page costs more than the search.
 */
export function searchPlan(size: number): Plan {
  const term = (i: number) => (i % 8 < 4 ? fullPages[i % 4]! : i % 8 < 7 ? emailOf(someId(size) - 1) : 'qqqqq')
  const queries = Array.from({ length: many }, (_, i) => {
    const search = `search=${encodeURIComponent(term(i))}`
    return i % 16 < 8 ? search : `${search}&cursor=${cursorAfter(someId(size / 2))}`
  })
  return { kind: 'get', token, paths: queries.map((query) => `${paths}?${query}`) }
}

/** These terms fill a page from any cursor in the first half of 10,000 contacts. */
const fullPages = ['example', 'LOVELACE', 'femke', 'müller']

export const get: Figure = async (bench) => {
  await using ceiling = await Server.ceiling(bench.folder)
  await using server = await Server.mailkeep(bench, await seeded(largest(bench)))
  await warmUp(bench, ceiling, helloPlan)
  await warmUp(bench, server, getPlan(largest(bench)))
  const { hello, one } = await interleave(bench.rounds, {
    hello: () => load(bench, ceiling, helloPlan),
    one: () => load(bench, server, getPlan(largest(bench))),
  })
  return [rateFinding('get', one, hello, 0.3, 0.4)]
}

export const page: Figure = async (bench) => {
  await using ceiling = await Server.ceiling(bench.folder)
  await using server = await Server.mailkeep(bench, await seeded(largest(bench)))
  await warmUp(bench, ceiling, helloPlan)
  await warmUp(bench, server, deepPagesPlan(largest(bench)))
  const { hello, first, deep } = await interleave(bench.rounds, {
    hello: () => load(bench, ceiling, helloPlan),
    first: () => load(bench, server, { kind: 'get', token, paths: [paths] }),
    deep: () => load(bench, server, deepPagesPlan(largest(bench))),
  })
  return [
    rateFinding('page: the first', first, hello, 0.05, 0.065),
    rateFinding('page: at random cursors', deep, hello, 0.05, 0.065),
  ]
}

export const helloPlan: Plan = { kind: 'get', token: '', paths: ['/'] }

const terms: Readonly<Record<string, string>> = {
  rare: 'zebulon',
  absent: 'qqqqq',
  common: 'example',
  'common, mixed case': 'LoveLACE',
  'of common parts, few matches': 'ada jansen 1012',
  'of special characters': '100% "O\'Neil" _under\\',
  'beyond ASCII': 'łukasz Ø',
}
const shortTerms: Readonly<Record<string, string>> = { 'one letter': 'z', 'two letters': 'qu', 'two, absent': 'zq' }
const filters: Readonly<Record<string, object>> = {
  alone: {},
  'with a common tag': { tags: [7] },
  'with a rare tag': { tags: [500] },
  'with a common list': { lists: [1] },
  'with all three': { tags: [7, 500], lists: [1], include_unsubscribed: true },
  'with unsubscribed': { include_unsubscribed: true },
}

/** Both sides match many contacts, but almost none in common. The search must scan the whole cheaper side. */
const disjoint: Readonly<Record<string, object>> = {
  'matches that are all unsubscribed': { search: 'lotte weber' },
  'a name without a contact on the list': { search: 'femke', lists: [1] },
  'a name without a contact with the tag': { search: 'dmitri', tags: [7] },
  'a domain without a contact on the topic': { search: '.net', topics: [1] },
}

/** Calls the library directly, because the cost of HTTP would hide differences. */
export const search: Figure = async (bench) => {
  const size = largest(bench)
  const file = await seeded(size)
  return withMailkeep(file, async (mailkeep) => {
    const { contacts } = mailkeep.forClient(clientId)
    const repeats = bench.quick ? 3 : 5
    /** Returns the median milliseconds over several cursors. */
    const time = async (query: object, deep: boolean) => {
      const times: number[] = []
      for (let i = 0; i < repeats; i++) {
        const cursor = deep ? { cursor: cursorAfter(someId(size)) } : {}
        const startedMs = performance.now()
        await contacts.list({ ...query, ...cursor })
        times.push(performance.now() - startedMs)
      }
      return median(times)
    }
    const cases: Record<string, () => Promise<number>> = {
      'plain first': () => time({}, false),
      'plain deep': () => time({}, true),
    }
    for (const [term, text] of Object.entries({ ...terms, ...shortTerms })) {
      for (const [filter, query] of Object.entries(filters)) {
        for (const deep of [false, true]) {
          cases[nameOf(term, filter, deep)] = () => time({ search: text, ...query }, deep)
        }
      }
    }
    for (const [what, query] of Object.entries(disjoint)) {
      for (const deep of [false, true]) cases[nameOf(what, 'disjoint', deep)] = () => time(query, deep)
    }
    const results = await interleave(bench.rounds, cases)
    const plain = Math.max(median(results['plain first']!), median(results['plain deep']!))
    return [
      ...reportSlowest(results, plain, 'search', terms, 5),
      ...reportSlowest(results, plain, 'search: of disjoint ones', disjoint, 5),
      ...reportSlowest(results, plain, 'search: short terms', shortTerms),
    ]
  })
}

function nameOf(term: string, filter: string, deep: boolean): string {
  return `${term}, ${filter}, ${deep ? 'deep' : 'first'}`
}

/** Reports the slowest of these terms; the details have all of them. */
function reportSlowest(
  results: Record<string, number[]>,
  plain: number,
  name: string,
  of: object,
  most?: number,
): Finding[] {
  const names = Object.keys(results).filter((each) => Object.keys(of).some((term) => each.startsWith(`${term}, `)))
  const times = names.map((each) => ({ name: each, ms: median(results[each]!) })).sort((a, b) => b.ms - a.ms)
  const slowest = times[0]!
  const ratio = slowest.ms / plain
  return [
    {
      name,
      figure: `${short(slowest.ms)} ms (${slowest.name})`,
      ceiling: `page ${short(plain)} ms`,
      ratio,
      ...(most === undefined ? {} : { target: atMost(ratio, most) }),
      details: times,
    },
    { name: `${name}, in the middle`, figure: `${short(median(times.map(({ ms }) => ms)))} ms` },
  ]
}

function someId(size: number): number {
  return 1 + Math.floor(Math.random() * size)
}

/** Encodes a cursor as listings do. */
function cursorAfter(id: number): string {
  return Buffer.from(`next:${id}`).toString('base64url')
}
