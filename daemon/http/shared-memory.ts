/** What one client leaves to the others. It may send its bodies and read its answers slowly. */
const keptFromOneClient = 1 / 4

/** A number of bytes that the requests of all clients share. */
export class SharedMemory {
  readonly #bytes: number
  #takenBytes = 0
  readonly #takenByClient = new Map<number | undefined, number>()

  constructor(bytes: number) {
    this.#bytes = bytes
  }

  /**
   * Returns how many bytes a request may take. Requests without a client, such as forms of contact pages, share one part.
   *
   * @param part The part of the memory that all requests of this kind may have together, up to 1.
   */
  leftFor(clientId: number | undefined, part = 1): number {
    const bytes = this.#bytes * part
    const ofClient = this.#takenByClient.get(clientId) ?? 0
    return Math.min(bytes - this.#takenBytes, bytes * (1 - keptFromOneClient) - ofClient)
  }

  /** Counts bytes that a request takes. Negative bytes are given back. */
  take(clientId: number | undefined, bytes: number): void {
    this.#takenBytes += bytes
    const ofClient = (this.#takenByClient.get(clientId) ?? 0) + bytes
    if (ofClient === 0) this.#takenByClient.delete(clientId)
    else this.#takenByClient.set(clientId, ofClient)
  }
}
