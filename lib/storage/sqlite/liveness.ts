import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Liveness } from '../liveness.ts'
import { isLocked } from './database-errors.ts'
import type { SqliteHandle } from './handle.ts'

const maxProcesses = 1000

/**
 * Finds dead processes by locks on small files beside the database. Each process that sends holds the first file that is
 * free: `mailkeep.db.process-1`, `-2`, …. The system frees the lock when the process dies. The files stay, because
 * deleting one would let two processes hold it.
 */
export class ProcessLocks implements Liveness {
  readonly #file: string
  readonly #open: (file: string) => SqliteHandle
  readonly #random = randomBytes(8).toString('hex')
  #place = 0
  #held: SqliteHandle | undefined
  #hasTried = false

  /**
   * @param file The path of the database.
   * @param open Opens a file as a database.
   */
  constructor(file: string, open: (file: string) => SqliteHandle) {
    this.#file = file
    this.#open = open
  }

  id(): string {
    if (!this.#hasTried) this.#take()
    return this.#held ? `${this.#place}-${this.#random}` : ''
  }

  async findDead(ids: readonly string[]): Promise<string[]> {
    return ids.filter((id) => this.#isDead(id))
  }

  close(): void {
    this.#held?.close()
    this.#held = undefined
  }

  #take(): void {
    this.#hasTried = true
    try {
      while (!this.#held && this.#place < maxProcesses) {
        this.#place += 1
        this.#held = this.#tryLock(this.#pathOf(this.#place))
      }
    } catch {
      // The folder does not allow new files. Claims then end with their leases.
    }
  }

  #isDead(id: string): boolean {
    const [, place, random] = /^(\d{1,4})-([0-9a-f]{16})$/.exec(id) ?? []
    if (place === undefined) return false
    // Only this process can tell, because it holds the lock of the process that had the file before.
    if (this.#held && Number(place) === this.#place) return random !== this.#random
    const path = this.#pathOf(Number(place))
    if (!existsSync(path)) return false // the database was moved to another place
    try {
      const lock = this.#tryLock(path)
      lock?.close()
      return lock !== undefined
    } catch {
      return false
    }
  }

  #pathOf(place: number): string {
    return `${this.#file}.process-${place}`
  }

  /** Returns undefined if another process holds the lock. */
  #tryLock(path: string): SqliteHandle | undefined {
    const handle = this.#open(path)
    try {
      handle.pragma('journal_mode = memory') // no further file
      handle.exec('begin exclusive')
      return handle
    } catch (error) {
      handle.close()
      if (isLocked(error)) return undefined
      throw error
    }
  }
}
