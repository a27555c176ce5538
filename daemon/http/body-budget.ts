/** What imports leave to other bodies, because one may last as long as its file is long. */
const keptFromImports = 1 / 4

/** What one client leaves to the others. It may send all its bodies slowly. */
const keptFromOneClient = 1 / 4

/**
 * Memory for the bodies of all requests. A body counts until its answer is made, because its parsed form lives that long. An
 * import that is answered row by row counts until its answer ends.
 */
export class BodyBudget {
  readonly #bytes: number
  #takenBytes = 0
  readonly #takenByClient = new Map<number | undefined, number>()

  constructor(bytes: number) {
    this.#bytes = bytes
  }

  /** Returns how many bytes a request may take. Requests without a client, such as forms of contact pages, share one part. */
  leftFor(clientId: number | undefined, kind: 'body' | 'import'): number {
    const bytes = kind === 'import' ? this.#bytes * (1 - keptFromImports) : this.#bytes
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
