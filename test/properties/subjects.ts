/** The properties that are checked, by name. */
import type { Subject } from './checking.ts'
import { requestsOn } from './http.ts'
import { livesOn } from './library.ts'
import { inPostgres, inSqlite } from './service.ts'

export interface Named {
  readonly name: string
  readonly open: () => Promise<Subject>
  /** Divisor of the requested runs: the cost of one run, relative to a session of requests on SQLite. */
  readonly share: number
  /** Number of runs in the short version, for a second or two. */
  readonly briefly: number
  readonly needsPostgres: boolean
}

export const subjects: readonly Named[] = [
  { name: 'http-sqlite', open: () => requestsOn(inSqlite), share: 1, briefly: 200, needsPostgres: false },
  { name: 'library-sqlite', open: () => livesOn(inSqlite), share: 0.1, briefly: 120, needsPostgres: false },
  { name: 'http-postgres', open: () => requestsOn(inPostgres), share: 0.05, briefly: 20, needsPostgres: true },
  { name: 'library-postgres', open: () => livesOn(inPostgres), share: 0.005, briefly: 8, needsPostgres: true },
]
