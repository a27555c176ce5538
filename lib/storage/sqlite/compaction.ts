import { isMailkeepError } from '../../errors.ts'
import { plainQuery } from '../connection.ts'
import type { GroupCommit } from '../group.ts'

/** Pages of 4 KiB: no other write goes on meanwhile. */
const mostPages = 2048
/** The share of the time it may take. */
const share = 1 / 100

const vacuum = plainQuery('vacuum')

/**
 * Makes a small file anew after erasures. Where SQLite moves rows to another page it may leave a copy of one on what is
 * free of the page, whatever `secure_delete` says; rows that are copied to a new file leave nothing behind.
 */
export class Compaction {
  readonly #group: GroupCommit
  readonly #pages: () => number
  #wanted = false
  #lastMs = Number.NEGATIVE_INFINITY
  #tookMs = 0

  constructor(group: GroupCommit, pages: () => number) {
    this.#group = group
    this.#pages = pages
  }

  /** There was an erasure. */
  want(): void {
    this.#wanted = true
  }

  /** @param nowMs A clock that may be set. */
  async run(nowMs: number): Promise<void> {
    const sinceMs = Math.abs(nowMs - this.#lastMs)
    if (!this.#wanted || sinceMs < this.#tookMs / share || this.#pages() > mostPages) return
    const beganMs = performance.now()
    this.#lastMs = nowMs
    this.#wanted = false
    try {
      await this.#group.between(vacuum)
    } catch (error) {
      this.#wanted = true
      // Another process is writing, or the disk is full: whoever writes is told of that.
      if (!isMailkeepError(error, 'unavailable')) throw error
    }
    this.#tookMs = performance.now() - beganMs
  }
}
