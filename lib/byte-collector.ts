const empty = Buffer.alloc(0)

/**
 * Collects the bytes of a stream in one buffer. A list of its chunks could be much larger than their content: a chunk of
 * one byte takes 400 bytes of memory, and keeps the buffer alive into which the socket was read.
 */
export class ByteCollector {
  #buffer = empty
  #length = 0

  get length(): number {
    return this.#length
  }

  add(chunk: Uint8Array): void {
    const length = this.#length + chunk.length
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#buffer.length))
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    this.#buffer.set(chunk, this.#length)
    this.#length = length
  }

  /** @returns All bytes so far. Later calls of `add` do not change them. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }
}
