import type { Principal } from './schema.ts'

/** A token that was valid when it was read from the database. */
export interface KnownToken {
  readonly id: number
  readonly principal: Principal
  /** Milliseconds since 1970; undefined when it does not expire. */
  readonly expiresMs: number | undefined
  /** When its use was last recorded. */
  usedMs: number
  /** The database's version at that time. A different version means that another process has written. */
  readonly version: number
  /** When it was read. */
  readonly knownMs: number
}

const maxCachedTokens = 10_000
/** Limits how long a revoked token stays valid here, if the version does not show the commit of another process. */
const maxAgeMs = 3000

/** Caches valid tokens by their hash, to save a query per request. It never contains the tokens themselves. */
export class TokenCache {
  readonly #known = new Map<string, KnownToken>()
  epoch = 0
  /** The cache that this one replaces inside a host's transaction. */
  readonly outer: TokenCache | undefined

  constructor(outer?: TokenCache) {
    this.outer = outer
  }

  find(hash: string, version: number, nowMs: number): KnownToken | undefined {
    const known = this.#known.get(hash)
    if (!known || known.version !== version || Math.abs(nowMs - known.knownMs) > maxAgeMs) return undefined
    return known.expiresMs !== undefined && known.expiresMs <= nowMs ? undefined : known
  }

  /** @param epoch The value of `epoch` before the query. If it changed since, a token may have been revoked. */
  keep(hash: string, known: KnownToken, epoch: number): void {
    // A host's transaction may be rolled back, so its reads are not cached.
    if (epoch !== this.epoch || this.outer) return
    this.#known.set(hash, known)
    if (this.#known.size > maxCachedTokens) this.#known.delete(this.#known.keys().next().value!)
  }

  clear(): void {
    this.epoch += 1
    this.#known.clear()
    this.outer?.clear()
  }
}
