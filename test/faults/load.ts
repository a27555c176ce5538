/** Writes as a busy host does, and tells what the library answered. */
import { type ClientMailkeep, isMailkeepError } from '../../lib/index.ts'

export interface Load {
  /** Begins every key. */
  readonly prefix: string
  readonly listId: number
  /** Writes under way at a time. */
  readonly writers: number
  /** Then it stops by itself. */
  readonly most: number
  /** Bytes that each contact brings along. */
  readonly ballast?: number
}

/** What the library answered, by event. */
export type Answer =
  /** It is committed. */
  | { readonly acked: string }
  /** `unavailable` */
  | { readonly refused: string }
  /** Anything else. */
  | { readonly broken: string }

/** Keeps writing until it is stopped or has written `most`; refusals do not stop it. */
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
      await new Promise((resolve) => setTimeout(resolve, 1)) // a refusal may come at once: not ten thousand of them
    }
  }
}
