import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Liveness } from '../database.ts'
import type { SqliteHandle } from './handle.ts'

const maxProcesses = 100

/**
 * Finds dead processes by locks on small files beside the database. Each process that sends holds the first file that is
 * free: `mailkeep.db.process-1`, `-2`, …. The system frees the lock when the process dies. The files stay, because
 * deleting one would let two processes hold it.
 */
export class ProcessLocks implements Liveness {
  readonly #file: string
  readonly #open: (file: string) => SqliteHandle
  readonly #random = randomBytes(8).toString('hex')
  #fileNumber = 0
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
    return this.#held ? `${this.#fileNumber}-${this.#random}` : ''
  }

  /** Whether another process sends. It is wrong in a process that sends itself. */
  hasSender(): boolean {
    for (let number = 1; number <= maxProcesses; number++) {
      if (!existsSync(this.#pathOf(number))) continue
      const lock = this.#tryLock(this.#pathOf(number))
      if (!lock) return true
      lock.close()
    }
    return false
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
    while (!this.#held && this.#fileNumber < maxProcesses) {
      this.#fileNumber += 1
      this.#held = this.#tryLock(this.#pathOf(this.#fileNumber))
    }
  }

  #isDead(id: string): boolean {
    const [, fileNumber, random] = /^(\d{1,4})-([0-9a-f]{16})$/.exec(id) ?? []
    if (fileNumber === undefined) return false
    // Only this process can tell, because it holds the lock of the process that had the file before.
    if (this.#held && Number(fileNumber) === this.#fileNumber) return random !== this.#random
    const path = this.#pathOf(Number(fileNumber))
    if (!existsSync(path)) return false // the database was moved to another place
    const lock = this.#tryLock(path)
    lock?.close()
    return lock !== undefined
  }

  #pathOf(fileNumber: number): string {
    return `${this.#file}.process-${fileNumber}`
  }

  /** Returns undefined if another process holds the lock, or the file cannot be used. */
  #tryLock(path: string): SqliteHandle | undefined {
    let handle: SqliteHandle | undefined
    try {
      handle = this.#open(path)
      handle.pragma('journal_mode = memory') // no further file
      handle.exec('begin exclusive')
      return handle
    } catch {
      handle?.close()
      return undefined
    }
  }
}
