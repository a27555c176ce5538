/** Writes like a busy host, and reports what the library answered. */
import { type ClientMailkeep, isMailkeepError } from '../../lib/index.ts'

export interface Load {
  /** Prefix of every key. */
  readonly prefix: string
  readonly listId: number
  /** Number of concurrent writes. */
  readonly writers: number
  /** Maximum number of writes; the load then stops. */
  readonly most: number
  /** Extra bytes in each contact. */
  readonly ballast?: number
}

/** What the library answered, by event. */
export type Answer =
  /** Key of a committed event. */
  | { readonly acked: string }
  /** Refused with `unavailable`. */
  | { readonly refused: string }
  /** Any other error. */
  | { readonly broken: string }

/** Writes until it is stopped or has written `most` contacts; refusals do not stop it. */
export class Loader {
  readonly #tell: (answer: Answer) => void
  #stopped = false

  constructor(tell: (answer: Answer) => void) {
    this.#tell = tell
  }

  stop(): void {
    this.#stopped = true
  }

  async run(client: ClientMailkeep, load: Load): Promise<void> {
    this.#stopped = false
    let next = 0
    const writer = async () => {
      while (!this.#stopped && next < load.most) await this.#write(client, load, next++)
    }
    await Promise.all(Array.from({ length: load.writers }, writer))
  }

  async #write(client: ClientMailkeep, { prefix, listId, ballast = 0 }: Load, number: number): Promise<void> {
    const key = `${prefix}-${number}`
    try {
      if (number % 3 === 0) {
        await client.events.raise({ type: 'newsletter.sent', data: { key } })
        this.#tell({ acked: key })
        return
      }
      const fields = { email: `${key}@x.org`, name: `Number ${number}`, tags: [`t${number % 4}`], city: 'Zürich' }
      const { contact } = await client.contacts.addToList(listId, { ...fields, ballast: 'x'.repeat(ballast) })
      this.#tell({ acked: key })
      if (number % 5 !== 1) return
      await client.contacts.unsubscribe(contact.id)
      this.#tell({ acked: `${key}/off` })
    } catch (error) {
      if (isMailkeepError(error, 'unavailable')) this.#tell({ refused: key })
      else this.#tell({ broken: `${key}: ${error instanceof Error ? error.stack : error}` })
      await new Promise((resolve) => setTimeout(resolve, 1)) // a refusal may be immediate: limits the number of retries
    }
  }
}
