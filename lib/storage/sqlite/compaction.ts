import { isMailkeepError } from '../../errors.ts'
import { plainQuery } from '../connection.ts'
import type { GroupCommit } from '../group.ts'

/** Up to 8 MB, since no other write goes on meanwhile; and nobody else's tables: rows without an id of their own get others. */
const small = `select (select page_count from pragma_page_count) <= 2048 and not exists (select 1 from sqlite_master
  where type = 'table' and substr(name, 1, 9) <> 'mailkeep_' and substr(name, 1, 7) <> 'sqlite_')`
/** The share of the time it may take. */
const share = 1 / 100

const vacuum = plainQuery('vacuum')

/** What is needed of better-sqlite3's `Database`. */
interface Handle {
  prepare(sql: string): { pluck(): { get(): unknown } }
}

/**
 * Makes a small file anew after erasures. Where SQLite moves rows to another page it may leave a copy of one on what is
 * free of the page, whatever `secure_delete` says; rows that are copied to a new file leave nothing behind.
 */
export class Compaction {
  readonly #group: GroupCommit
  readonly #isSmall: () => boolean
  #wanted = false
  #lastMs = Number.NEGATIVE_INFINITY
  #tookMs = 0

  constructor(group: GroupCommit, handle: Handle) {
    this.#group = group
    // Prepared when it is first asked: a start has no use for it.
    this.#isSmall = () => handle.prepare(small).pluck().get() === 1
  }

  /** There was an erasure. */
  want(): void {
    this.#wanted = true
  }

  /** @param nowMs A clock that may be set. */
  async run(nowMs: number): Promise<void> {
    const sinceMs = Math.abs(nowMs - this.#lastMs)
    if (!this.#wanted || sinceMs < this.#tookMs / share || !this.#isSmall()) return
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
