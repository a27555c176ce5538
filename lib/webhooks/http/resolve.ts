import { BADRESP, type LookupAddress, type LookupOptions, NODATA, NOTFOUND, TIMEOUT } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { addressProblem } from './address.ts'
import { type GuardSettings, urlProblem } from './url-rule.ts'

/** A and AAAA of a name; rejects with an error whose `code` is one of node:dns. */
export interface NameResolver {
  resolve4(name: string): Promise<string[]>
  resolve6(name: string): Promise<string[]>
}

export interface LookupSettings {
  /** Instead of the system's name servers; may serve several names at once. */
  readonly resolver?: NameResolver
  /** How long one look-up may take, default 5,000. */
  readonly timeoutMs?: number
  /** How long an answer is used again, default 10,000; failures are not kept. */
  readonly cacheMs?: number
  /** Milliseconds of a clock that never goes back; default the process's. */
  readonly now?: () => number
}

type Find = (name: string) => Promise<LookupAddress[]>

const maxNames = 1000
const maxAddresses = 64 // of one name; a TCP answer holds thousands, and all would be kept
const secondFamilyMs = 1000 // some name servers never answer AAAA: RFC 8305, 3 does not wait for them either

/** The URL, or an address its name resolves to, breaks the rule: trying again cannot help. */
export class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
}

/**
 * The written form again, before each attempt: rows are stored for long, settings change, and `net.connect` never asks
 * a lookup about literal addresses. What a name resolves to is judged by `guardedLookup`; both are needed.
 *
 * @returns The URL, parsed by the parser that judged it.
 * @throws RefusedAddress The URL breaks the rule.
 */
export function checkTarget(url: string, settings: GuardSettings): URL {
  const problem = urlProblem(url, settings)
  if (problem) throw new RefusedAddress(problem)
  return new URL(url)
}

/**
 * Makes the `lookup` for `net.connect` and undici's `connect`: it hands over checked addresses only, IPv4 first, so
 * that the checked address is the one dialled. One refused address refuses the whole name: an honest public name has
 * none, and leaving it to the others would leave it to chance which answers are seen.
 *
 * Names are asked of the name servers with a time limit, not of the system's threads (`dns.lookup`), so /etc/hosts has
 * no say. With `allowPrivate` the system is asked, unless there is a `resolver`, and every address is taken.
 *
 * The lookup calls back with a RefusedAddress, or an error whose `code` is one of node:dns (`ETIMEOUT`, `ENOTFOUND`).
 */
export function guardedLookup(settings: GuardSettings, options: LookupSettings = {}): LookupFunction {
  const { resolver, timeoutMs = 5000, cacheMs = 10_000, now = () => performance.now() } = options
  const ask: Find = (name) => {
    if (isIP(name)) return Promise.resolve([{ address: name, family: isIP(name) }])
    if (resolver) return askResolver(resolver, name, timeoutMs)
    return settings.allowPrivate ? answers(name, [lookup(name, { all: true })], timeoutMs) : askServers(name, timeoutMs)
  }
  const find = remember(ask, cacheMs, now)
  return (name, wanted, callback) => {
    find(name.toLowerCase())
      .then((found) => choose(name, found, wanted, settings))
      .then(
        (chosen) => (wanted.all ? callback(null, chosen) : callback(null, chosen[0]!.address, chosen[0]!.family)),
        (error) => callback(error, []),
      )
  }
}

/** All are judged, also those of a kept answer and of the family that is not wanted. At least one is returned. */
function choose(name: string, found: LookupAddress[], wanted: LookupOptions, { allowPrivate }: GuardSettings) {
  const problem = !allowPrivate && found.map(({ address }) => addressProblem(address)).find(Boolean)
  if (problem) throw new RefusedAddress(`The URL's host resolves to an address that is refused. ${problem}`)
  const family = Number(String(wanted.family ?? 0).replace('IPv', '')) // 4, 6, 'IPv4', 'IPv6', or 0 for either
  const chosen = found.filter((one) => !family || one.family === family)
  if (chosen.length === 0) throw dnsError(NODATA, name)
  return chosen
}

/** Keeps answers for `keepMs`, at most 1,000 of them; those who ask for the same name meanwhile share one question. */
function remember(find: Find, keepMs: number, now: () => number): Find {
  const kept = new Map<string, { answer: Promise<LookupAddress[]>; until: number }>()
  return (name) => {
    const known = kept.get(name)
    if (known && now() < known.until) return known.answer
    const entry = { answer: find(name), until: Number.POSITIVE_INFINITY }
    kept.delete(name) // so that it becomes the youngest
    kept.set(name, entry)
    if (kept.size > maxNames) kept.delete(kept.keys().next().value!)
    entry.answer.then(
      () => {
        entry.until = now() + keepMs
      },
      () => kept.get(name) === entry && kept.delete(name),
    )
    return entry.answer
  }
}

/** A resolver for each name: it can be cancelled without harm to others, and reads the system's configuration afresh. */
async function askServers(name: string, timeoutMs: number): Promise<LookupAddress[]> {
  const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 }) // the second try waits twice as long
  try {
    return await askResolver(resolver, name, timeoutMs)
  } finally {
    resolver.cancel()
  }
}

function askResolver(resolver: NameResolver, name: string, timeoutMs: number): Promise<LookupAddress[]> {
  const question = async (family: 4 | 6) => {
    const list = await (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name))
    return list.map((address) => ({ address, family }))
  }
  return answers(name, [question(4), question(6)], timeoutMs)
}

/** Waits for all questions, though not long for the second once one is answered. One answer is enough. */
async function answers(
  name: string,
  questions: Promise<LookupAddress[]>[],
  timeoutMs: number,
): Promise<LookupAddress[]> {
  const found: LookupAddress[] = []
  const failures: unknown[] = []
  const answered = questions.map(async (question) => {
    const list = await question
    if (list.length === 0) throw dnsError(NODATA, name)
    found.push(...list)
  })
  for (const one of answered) one.catch((error) => failures.push(error))
  const timers: NodeJS.Timeout[] = []
  let over = false
  const wait = (ms: number) =>
    new Promise<void>((resolve) => {
      if (!over) timers.push(setTimeout(resolve, ms))
    })
  const second = Promise.any(answered).then(
    () => wait(secondFamilyMs),
    () => {},
  )
  await Promise.race([Promise.allSettled(answered), second, wait(timeoutMs)])
  over = true
  timers.forEach(clearTimeout)
  if (found.length > maxAddresses) throw dnsError(BADRESP, name)
  if (found.length > 0) return found.toSorted((a, b) => a.family - b.family)
  if (failures.length < questions.length) throw dnsError(TIMEOUT, name)
  throw failures.find((error) => !saysAbsent(error)) ?? failures[0] // a fault says more than an absence
}

function saysAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === NODATA || code === NOTFOUND
}

function dnsError(code: string, name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code} ${name}`), { code, hostname: name })
}
