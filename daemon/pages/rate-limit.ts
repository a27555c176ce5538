import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

const windowMs = 60_000
/** More addresses than this start with a new count. */
const maxAddresses = 10_000

/** Counts requests by client address, in windows of one minute. Its memory is bounded. */
export class RateLimit {
  readonly #limit: number
  readonly #counts = new Map<string, number>()
  #windowEndsMs = 0

  /** @param limit Maximum requests of an address in a window. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Counts a request.
   *
   * @returns Undefined if it is within the limit, else the seconds until the next window.
   */
  count(address: string): number | undefined {
    const nowMs = performance.now()
    if (nowMs >= this.#windowEndsMs) {
      this.#counts.clear()
      this.#windowEndsMs = nowMs + windowMs
    }
    const network = networkOf(address)
    const count = (this.#counts.get(network) ?? 0) + 1
    if (!this.#counts.has(network) && this.#counts.size >= maxAddresses) {
      this.#counts.delete(this.#counts.keys().next().value!)
    }
    this.#counts.set(network, count)
    return count > this.#limit ? Math.ceil((this.#windowEndsMs - nowMs) / 1000) : undefined
  }
}

/** Returns the /64 network of an IPv6 address: one customer usually has all of it. */
function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  // The name of an interface behind `%` may have characters that ipaddr.js refuses.
  return ipaddr.IPv6.parse(address.replace(/%.*/, '')).parts.slice(0, 4).join(':')
}
