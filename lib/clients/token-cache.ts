import type { Principal } from './schema.ts'

/** A token that was good when it was looked up. */
export interface KnownToken {
  readonly id: number
  readonly principal: Principal
  /** Milliseconds since 1970; undefined: it does not expire. */
  readonly expiresMs: number | undefined
  /** When its use was last noted. */
  usedMs: number
  /** The database's version then: another one means that another process has written. */
  readonly version: number
  readonly knownMs: number
}

const keptTokens = 10_000
/** Where the version does not tell of other processes, a token revoked by one is good so long in another. */
const longestMs = 3000

/** Spares a look-up a request. It holds hashes, never tokens, and only of good ones. */
export class TokenCache {
  readonly #known = new Map<string, KnownToken>()
  epoch = 0
  /** The one that this stands for inside a transaction of the host's. */
  readonly outer: TokenCache | undefined

  constructor(outer?: TokenCache) {
    this.outer = outer
  }

  find(hash: string, version: number, nowMs: number): KnownToken | undefined {
    const known = this.#known.get(hash)
    if (!known || known.version !== version || Math.abs(nowMs - known.knownMs) > longestMs) return undefined
    return known.expiresMs !== undefined && known.expiresMs <= nowMs ? undefined : known
  }

  /** @param epoch As it was before the look-up: what was revoked meanwhile is not kept. */
  keep(hash: string, known: KnownToken, epoch: number): void {
    // What a transaction of the host's shows may never be committed.
    if (epoch !== this.epoch || this.outer) return
    this.#known.set(hash, known)
    if (this.#known.size > keptTokens) this.#known.delete(this.#known.keys().next().value!)
  }

  clear(): void {
    this.epoch += 1
    this.#known.clear()
    this.outer?.clear()
  }
}
