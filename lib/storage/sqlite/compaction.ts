import { isMailkeepError, MailkeepError } from '../../errors.ts'
import { plainQuery } from '../connection.ts'
import type { GroupCommit } from './group.ts'
import type { SqliteHandle } from './handle.ts'

/** Finds tables that are not mailkeep's. VACUUM may change the row ids of tables without an integer primary key. */
const findForeignTables = `select name from sqlite_master
  where type = 'table' and substr(name, 1, 9) <> 'mailkeep_' and substr(name, 1, 7) <> 'sqlite_'`
/** Whether the file is at most 8 MB. VACUUM blocks all writes, so automatic compaction handles only small files. */
const askIsSmall = `select (select page_count from pragma_page_count) <= 2048 and not exists (${findForeignTables})`
/** Maximum share of the time spent on automatic compaction. */
const maxTimeShare = 1 / 100

const vacuum = plainQuery('vacuum')
/** Copies the write-ahead log into the file, and empties the log. */
const emptyLog = plainQuery('pragma wal_checkpoint(truncate)')

/** Finds a purge that has work left: see contacts/search.ts. A purge that only pauses has none. */
const findPendingPurge = `select 1 from mailkeep_job where kind = 'purge searches'
  and (state ->> 'isWanted' or state ->> 'steps' is not null)`

/** The result of a compaction. */
export interface CompactionReport {
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** Whether the search index still contains erased texts, because its purge is not complete. */
  readonly purgeWaits: boolean
}

/**
 * Rewrites a file of any size with VACUUM. Other connections can read during that time; their writes wait.
 *
 * @param lockTimeoutMs Maximum time to wait for the locks of other connections.
 * @throws MailkeepError `conflict`: it has tables that are not mailkeep's.
 */
export function compactNow(handle: SqliteHandle, lockTimeoutMs: number): CompactionReport {
  const ask = (sql: string) => handle.prepare(sql).pluck().get()
  const bytes = () => Number(ask('select page_count * page_size from pragma_page_count, pragma_page_size'))
  const table = ask(findForeignTables)
  if (table !== undefined)
    throw new MailkeepError('conflict', `There are other tables than mailkeep's, such as ${table}.`)
  handle.pragma(`busy_timeout = ${lockTimeoutMs}`)
  const bytesBefore = bytes()
  handle.exec(vacuum.sql)
  handle.exec(emptyLog.sql)
  const purgeWaits = ask(findPendingPurge) !== undefined
  return { bytesBefore, bytesAfter: bytes(), purgeWaits }
}

/**
 * Removes traces of erased rows automatically. When SQLite moves rows to another page, it may leave a copy of a row in the
 * free space of the old page, despite `secure_delete`. VACUUM copies live rows to a new file and leaves no traces, so a
 * small file is rewritten. The write-ahead log has the erased rows, and the file has them until the log is copied into it.
 */
export class Compaction {
  readonly #group: GroupCommit
  readonly #isSmall: () => boolean
  #requested = false
  #lastMs = Number.NEGATIVE_INFINITY
  #durationMs = 0

  constructor(group: GroupCommit, handle: SqliteHandle) {
    this.#group = group
    // Prepare it at the first use, because preparing would slow down the start.
    this.#isSmall = () => handle.prepare(askIsSmall).pluck().get() === 1
  }

  /** Requests a compaction, because something was erased. */
  request(): void {
    this.#requested = true
  }

  /**
   * Runs the requested compaction, unless it would be too soon. Does not rewrite a large file.
   *
   * @param nowMs The system clock, which may be set back.
   */
  async run(nowMs: number): Promise<void> {
    const sinceMs = Math.abs(nowMs - this.#lastMs)
    if (!this.#requested || sinceMs < this.#durationMs / maxTimeShare) return
    const beganMs = performance.now()
    this.#lastMs = nowMs
    this.#requested = false
    try {
      if (this.#isSmall()) await this.#group.between(vacuum)
      const { rows } = await this.#group.between<{ busy: number }>(emptyLog)
      if (rows[0]!.busy) this.#requested = true // another process reads: try again later
    } catch (error) {
      this.#requested = true
      // Another process is writing, or the disk is full. The next write reports it, so only try again later.
      if (!isMailkeepError(error, 'unavailable')) throw error
    }
    this.#durationMs = performance.now() - beganMs
  }
}
