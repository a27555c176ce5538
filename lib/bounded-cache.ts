/** A cache with a maximum size, which removes the oldest entry first (FIFO). */
export class BoundedCache<K, V> {
  readonly #values = new Map<K, V>()
  readonly #maxEntries: number

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  /** @param create Creates a missing value. Its errors are thrown and not cached. */
  get(key: K, create: (key: K) => V): V {
    const cached = this.#values.get(key)
    if (cached !== undefined) return cached
    const created = create(key)
    if (this.#values.size >= this.#maxEntries) this.#values.delete(this.#values.keys().next().value as K)
    this.#values.set(key, created)
    return created
  }

  delete(key: K): void {
    this.#values.delete(key)
  }
}
