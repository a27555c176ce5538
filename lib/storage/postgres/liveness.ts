import { randomInt } from 'node:crypto'
import type { Liveness } from '../database.ts'

/** A process may lose the connection that holds its lock. It has this long to take the lock again. */
const graceMs = 1000
/** After a restart of the server or an interruption, a process finds none dead for this long: others reconnect too. */
const settleMs = 5000

const findUnlocked = `select cast(id as text) as id from unnest(cast($1 as bigint[])) as item (id)
  where pg_postmaster_start_time() < clock_timestamp() - interval '${settleMs} ms' and not exists (
    select 1 from pg_locks where locktype = 'advisory' and granted and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())
      and (cast(classid as bigint) << 32) + cast(objid as bigint) = id)`

/** Runs a statement on one connection. */
export type Ask = (text: string, values?: unknown[]) => Promise<unknown[]>

/**
 * Finds dead processes by advisory locks. Each process holds one on its connection for notifications. The server frees
 * it when the connection ends.
 */
export class SessionLocks implements Liveness {
  readonly #key = String(randomInt(2 ** 40, 2 ** 47))
  /** When the lock of another process was first found free. */
  readonly #freeSinceMs = new Map<string, number>()
  /** Undefined while the connection is lost. */
  #ask: Ask | undefined
  #usableFromMs = 0

  /** Empty while the connection is lost. Otherwise other processes would take over each new claim at once. */
  id(): string {
    return this.#ask ? this.#key : ''
  }

  async findDead(ids: readonly string[]): Promise<string[]> {
    const known = ids.filter((id) => /^\d{13,15}$/.test(id))
    if (!this.#ask || known.length === 0 || performance.now() < this.#usableFromMs) return []
    const rows = (await this.#ask(findUnlocked, [known]).catch(() => [])) as { id: string }[]
    const free = new Set(rows.map(({ id }) => id))
    for (const id of this.#freeSinceMs.keys()) if (!free.has(id)) this.#freeSinceMs.delete(id)
    const nowMs = performance.now()
    for (const id of free) if (!this.#freeSinceMs.has(id)) this.#freeSinceMs.set(id, nowMs)
    return [...free].filter((id) => this.#freeSinceMs.get(id)! <= nowMs - graceMs)
  }

  /** Takes the lock on a new connection. It is shared, because the server may not know yet that an earlier one ended. */
  async take(ask: Ask): Promise<void> {
    await ask(`select pg_advisory_lock_shared(${this.#key})`)
    this.#ask = ask
  }

  onDisconnect(): void {
    this.#ask = undefined
    this.#freeSinceMs.clear()
    this.#usableFromMs = performance.now() + settleMs
  }
}
