/** Values that cost more to make than to keep: made once a key; bounded, the oldest goes first. */
export class BoundedCache<K, V> {
  readonly #values = new Map<K, V>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** @param make What it throws is thrown, and nothing is kept. */
  get(key: K, make: (key: K) => V): V {
    const kept = this.#values.get(key)
    if (kept !== undefined) return kept
    const made = make(key)
    if (this.#values.size >= this.#most) this.#values.delete(this.#values.keys().next().value as K)
    this.#values.set(key, made)
    return made
  }
}
