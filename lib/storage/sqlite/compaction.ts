import { isMailkeepError, MailkeepError } from '../../errors.ts'
import { plainQuery } from '../connection.ts'
import type { GroupCommit } from '../group.ts'

/** Tables of others: rows of theirs that have no id of their own would get other ones. */
const others = `select name from sqlite_master
  where type = 'table' and substr(name, 1, 9) <> 'mailkeep_' and substr(name, 1, 7) <> 'sqlite_'`
/** Up to 8 MB, since no other write goes on meanwhile. */
const small = `select (select page_count from pragma_page_count) <= 2048 and not exists (${others})`
/** The share of the time it may take. */
const share = 1 / 100

const vacuum = plainQuery('vacuum')

/** What is needed of better-sqlite3's `Database`. */
interface Handle {
  prepare(sql: string): { pluck(): { get(): unknown } }
  pragma(text: string): unknown
  exec(sql: string): unknown
}

/** As jobs/search-purge stores it: one that rests has done all there was, unless more was erased meanwhile. */
const purgeThatWaits = `select 1 from mailkeep_job where kind = 'purge searches'
  or kind = 'purge searches again' and state ->> 'wanted'`

/** How a file was made anew. */
export interface CompactionReport {
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** Whether the index of searches is yet to be purged of what was erased. */
  readonly purgeWaits: boolean
}

/**
 * Makes a file anew, however large: others may read meanwhile, and wait to write.
 *
 * @param patienceMs How long it waits for others that write or read.
 * @throws MailkeepError `conflict`: it has tables of others.
 */
export function compactNow(handle: Handle, patienceMs: number): CompactionReport {
  const ask = (sql: string) => handle.prepare(sql).pluck().get()
  const bytes = () => Number(ask('select page_count * page_size from pragma_page_count, pragma_page_size'))
  const table = ask(others)
  if (table !== undefined)
    throw new MailkeepError('conflict', `There are other tables than mailkeep's, such as ${table}.`)
  handle.pragma(`busy_timeout = ${patienceMs}`)
  const bytesBefore = bytes()
  handle.exec('vacuum')
  // What was in the log is in the file, and the log is empty.
  handle.pragma('wal_checkpoint(truncate)')
  const purgeWaits = ask(purgeThatWaits) !== undefined
  return { bytesBefore, bytesAfter: bytes(), purgeWaits }
}

/**
 * Makes a small file anew by itself after erasures. Where SQLite moves rows to another page it may leave a copy of one on what is
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
