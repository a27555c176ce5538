/** Wraps the drivers in the child process: counts the statements, and kills the process or fails at one of them. */
import Database from 'better-sqlite3'
import pg from 'pg'
import type { ChildMessage } from './child.ts'

/** Triggers at the `nth` matching statement of a transaction, counted from 1 since it was set. */
export interface Trap {
  /** A regular expression's source; case is ignored. */
  readonly matching: string
  readonly nth: number
  /** `committed`: after the COMMIT that follows the statement. */
  readonly when: 'before' | 'after' | 'committed'
  /**
   * `full`: as on a full disk, rolls back the transaction and fails the statement. With `freeze` it stops the process
   * (SIGSTOP) in between.
   */
  readonly does: 'kill' | 'full' | 'full, freeze'
}

type Method = (this: Database.Statement, ...parameters: unknown[]) => unknown

let trap: (Trap & { matched: number; armed: boolean }) | undefined
let log: string[] | undefined
let writer: Database.Database | undefined

/** Sets a trap; undefined removes it. */
export function setTrap(next: Trap | undefined): void {
  trap = next && { ...next, matched: 0, armed: false }
}

/** Records the text of every statement in a transaction from now on. */
export function logStatements(): void {
  log = []
}

export function loggedStatements(): readonly string[] {
  return log ?? []
}

/** Returns the connection that writes, once it has written. */
export function writingHandle(): Database.Database {
  if (!writer) throw new Error('no write has run yet')
  return writer
}

/** Patches the prototype that all statements of all connections share. */
export function watchStatements(): void {
  const probe = new Database(':memory:')
  const shared = Object.getPrototypeOf(probe.prepare('select 1'))
  probe.close()
  for (const name of ['run', 'all', 'get']) {
    const original: Method = shared[name]
    shared[name] = function (this: Database.Statement, ...parameters: unknown[]) {
      if (!isOfTransaction(this)) return original.apply(this, parameters)
      log?.push(this.source)
      const matches = isTrapped(this.source)
      if (matches && trap!.when === 'before') trigger(this.database)
      const result = original.apply(this, parameters)
      if (matches && trap!.when === 'after') trigger(this.database)
      if (matches && trap!.when === 'committed') trap!.armed = true
      if (trap?.armed && this.source === 'commit') trigger(this.database)
      return result
    }
  }
}

/** On PostgreSQL a trap can only kill the process. */
export function watchPostgres(): void {
  const original = pg.Client.prototype.query as (this: pg.Client, ...parameters: unknown[]) => unknown
  /** Connections whose next COMMIT kills the process. Other connections commit other transactions. */
  const armed = new WeakSet<pg.Client>()
  /** Connections that send nothing more before the kill. COMMIT would be sent together with the statement before it. */
  const silenced = new WeakSet<pg.Client>()
  const watched = function (this: pg.Client, ...parameters: unknown[]) {
    const [query] = parameters as [string | { text: string } | undefined]
    const text = typeof query === 'string' ? query : (query?.text ?? '')
    if (silenced.has(this)) return new Promise(() => {})
    const matches = isTrapped(text)
    if (matches && trap!.when === 'before') kill()
    const result = original.apply(this, parameters)
    if (matches && trap!.when === 'after') {
      silenced.add(this)
      return (result as Promise<unknown>).then(kill)
    }
    if (matches) armed.add(this)
    return armed.has(this) && text === 'commit' ? (result as Promise<unknown>).then(kill) : result
  }
  pg.Client.prototype.query = watched as typeof pg.Client.prototype.query
}

function kill(): void {
  process.kill(process.pid, 'SIGKILL')
}

/** Counts write transactions only: grouping of concurrent reads into transactions depends on timing. */
function isOfTransaction({ source, database }: Database.Statement): boolean {
  if (source === 'begin immediate') writer = database
  return source === 'begin immediate' || (database === writer && database.inTransaction)
}

function isTrapped(source: string): boolean {
  if (!trap || !new RegExp(trap.matching, 'i').test(source)) return false
  trap.matched += 1
  return trap.matched === trap.nth
}

function trigger(handle: Database.Database): void {
  const { does } = trap!
  if (does === 'kill') process.kill(process.pid, 'SIGKILL')
  trap = undefined
  if (handle.inTransaction) handle.exec('rollback')
  process.send!({ triggered: true } satisfies ChildMessage)
  if (does === 'full, freeze') process.kill(process.pid, 'SIGSTOP')
  throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
}
