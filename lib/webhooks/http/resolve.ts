import { BADRESP, CONNREFUSED, type LookupAddress, type LookupOptions, NODATA, NOTFOUND, TIMEOUT } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { open } from 'node:fs/promises'
import { isIP, type LookupFunction } from 'node:net'
import { devNull } from 'node:os'
import { addressProblem } from './address.ts'
import type { GuardSettings } from './url-rule.ts'

/** Resolves the A and AAAA records of a name. Rejects with an error whose `code` is one of node:dns. */
export interface NameResolver {
  resolve4(name: string): Promise<string[]>
  resolve6(name: string): Promise<string[]>
}

export interface LookupSettings {
  /** Used instead of the system's name servers. It must support parallel look-ups. */
  readonly resolver?: NameResolver | undefined
  /** Timeout of one look-up, default 5,000. */
  readonly timeoutMs?: number | undefined
  /** How long an answer is cached, default 10,000. Failures are not cached. */
  readonly cacheMs?: number | undefined
  /** Milliseconds of a monotonic clock; default `performance.now`. */
  readonly now?: (() => number) | undefined
}

type LookUpAddresses = (name: string) => Promise<LookupAddress[]>

const maxCachedNames = 1000
/** Maximum addresses of one name. A DNS answer over TCP can contain thousands, which would fill the cache. */
const maxAddressesPerName = 64
/** How long to wait for the second address family. Some name servers never answer AAAA queries (RFC 8305, 3). */
const secondFamilyTimeoutMs = 1000

/** An address that the URL's host resolves to is not allowed. A retry cannot help. */
export class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
}

/**
 * Creates the `lookup` for `net.connect` and undici's `connect`. It returns only checked addresses, IPv4 first, so that
 * the connection goes to a checked address (no DNS rebinding). One refused address refuses the whole name, because a
 * valid public name has none. Otherwise the result would depend on which addresses the name server returns.
 *
 * It queries the name servers with a time limit. It does not use `dns.lookup`, which blocks system threads, so /etc/hosts
 * is ignored. With `allowPrivate` and no `resolver` it does use `dns.lookup`, and it allows every address.
 *
 * Errors are a RefusedAddress, or an error whose `code` is one of node:dns (`ETIMEOUT`, `ENOTFOUND`).
 */
export function guardedLookup(settings: GuardSettings, options: LookupSettings = {}): LookupFunction {
  const { resolver, timeoutMs = 5000, cacheMs = 10_000, now = () => performance.now() } = options
  const query: LookUpAddresses = (name) => {
    if (isIP(name)) return Promise.resolve([{ address: name, family: isIP(name) }])
    if (resolver) return queryResolver(resolver, name, timeoutMs)
    return settings.allowPrivate
      ? answers(name, [lookup(name, { all: true })], timeoutMs)
      : queryServers(name, timeoutMs)
  }
  const find = cached(query, cacheMs, now)
  return (name, wanted, callback) => {
    find(name.toLowerCase())
      .then((found) => choose(name, found, wanted, settings))
      .then(
        (chosen) => (wanted.all ? callback(null, chosen) : callback(null, chosen[0]!.address, chosen[0]!.family)),
        (error) => callback(error, []),
      )
  }
}

/**
 * Returns the addresses of the wanted family, at least one. Checks all addresses, including cached ones and the other
 * family's.
 */
function choose(name: string, found: LookupAddress[], wanted: LookupOptions, { allowPrivate }: GuardSettings) {
  const problem = !allowPrivate && found.map(({ address }) => addressProblem(address)).find(Boolean)
  if (problem) throw new RefusedAddress(`The URL's host resolves to an address that is refused. ${problem}`)
  const family = Number(String(wanted.family ?? 0).replace('IPv', '')) // 4, 6, 'IPv4', 'IPv6', or 0 for either
  const chosen = found.filter((one) => !family || one.family === family)
  if (chosen.length === 0) throw dnsError(NODATA, name)
  return chosen
}

/** Caches up to 1,000 answers for `ttlMs`. Parallel look-ups of the same name share one query. */
function cached(find: LookUpAddresses, ttlMs: number, now: () => number): LookUpAddresses {
  const cache = new Map<string, { answer: Promise<LookupAddress[]>; until: number }>()
  return (name) => {
    const known = cache.get(name)
    if (known && now() < known.until) return known.answer
    const entry = { answer: find(name), until: Number.POSITIVE_INFINITY }
    cache.delete(name) // so that the new entry becomes the youngest
    cache.set(name, entry)
    if (cache.size > maxCachedNames) cache.delete(cache.keys().next().value!)
    entry.answer.then(
      () => {
        entry.until = now() + ttlMs
      },
      () => cache.get(name) === entry && cache.delete(name),
    )
    return entry.answer
  }
}

/** Creates a resolver per name: cancelling it affects no other name, and it rereads the system's configuration. */
async function queryServers(name: string, timeoutMs: number): Promise<LookupAddress[]> {
  const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 }) // the second try has twice the timeout
  try {
    return await queryResolver(resolver, name, timeoutMs)
  } catch (error) {
    // A process without file descriptors gets this code too, since it cannot open a socket. Then this throws EMFILE.
    if ((error as NodeJS.ErrnoException).code === CONNREFUSED) await (await open(devNull)).close()
    throw error
  } finally {
    resolver.cancel()
  }
}

function queryResolver(resolver: NameResolver, name: string, timeoutMs: number): Promise<LookupAddress[]> {
  const query = async (family: 4 | 6) => {
    const list = await (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name))
    return list.map((address) => ({ address, family }))
  }
  return answers(name, [query(4), query(6)], timeoutMs)
}

/** Waits for all queries. After the first answer it waits only a short time for the other. One answer is enough. */
async function answers(name: string, queries: Promise<LookupAddress[]>[], timeoutMs: number): Promise<LookupAddress[]> {
  const found: LookupAddress[] = []
  const failures: unknown[] = []
  const answered = queries.map(async (query) => {
    const list = await query
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
    () => wait(secondFamilyTimeoutMs),
    () => {},
  )
  await Promise.race([Promise.allSettled(answered), second, wait(timeoutMs)])
  over = true
  timers.forEach(clearTimeout)
  if (found.length > maxAddressesPerName) throw dnsError(BADRESP, name)
  if (found.length > 0) return found.toSorted((a, b) => a.family - b.family)
  if (failures.length < queries.length) throw dnsError(TIMEOUT, name)
  throw failures.find((error) => !isNameMissing(error)) ?? failures[0] // a real error explains more than "no such name"
}

function isNameMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === NODATA || code === NOTFOUND
}

function dnsError(code: string, name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code} ${name}`), { code, hostname: name })
}
