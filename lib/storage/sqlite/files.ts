import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { MailkeepError } from '../../errors.ts'
import type { Logger } from '../../logger.ts'

/** The database, its write-ahead log, and the index of that log. */
const suffixes = ['', '-wal', '-shm']

interface KnownFile {
  readonly path: string
  /** Device and inode; undefined: not there when it was last looked for. */
  identity: string | undefined
}

/**
 * Watches that the files of an open database are still those at its path. SQLite goes on writing to a file that was
 * deleted or replaced, and what it commits there is lost when the process ends.
 */
export class DatabaseFiles {
  readonly #files: readonly KnownFile[]
  readonly #logger: Logger
  #missing = false

  /** @param file The path of a database that is open. */
  constructor(file: string, logger: Logger) {
    const path = resolve(file) // the process may change its directory
    this.#files = suffixes.map((suffix) => ({ path: path + suffix, identity: identityOf(path + suffix) }))
    this.#logger = logger
  }

  /** As `check`, but only while a file is missing: then nothing is written to files that may be lost. */
  checkIfMissing(): void {
    if (this.#missing) this.check()
  }

  /**
   * Compares the files with those that were opened: three calls of stat, about 3 µs each.
   *
   * @throws MailkeepError `unavailable`: a file was deleted, moved or replaced.
   */
  check(): void {
    for (const file of this.#files) {
      const identity = identityOf(file.path)
      // SQLite makes its log when it is first needed, and keeps it while the database is open.
      file.identity ??= identity
      if (identity !== file.identity) throw this.#lost(file.path)
    }
    if (this.#missing) this.#logger.info({ database: this.#files[0]!.path }, 'the database file is back')
    this.#missing = false
  }

  #lost(path: string): MailkeepError {
    if (!this.#missing) {
      this.#logger.error({ file: path }, 'a database file was deleted, moved or replaced: writes are refused')
    }
    this.#missing = true
    const message =
      'The database file was deleted, moved or replaced while mailkeep has it open: put it back, or restart mailkeep.'
    return new MailkeepError('unavailable', message)
  }
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats && `${stats.dev} ${stats.ino}`
}

/** @returns whether two paths lead to one file: one of them may have a symbolic link. */
export function isSameFile(one: string, other: string): boolean {
  return one === other || (identityOf(one) ?? 'none') === identityOf(other)
}
