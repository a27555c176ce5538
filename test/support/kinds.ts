/** The kinds of database that suites run on. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'node:test'
import Database from 'better-sqlite3'
import type { DatabaseSource } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { onPostgres, openPostgres } from './databases.ts'
import { databaseFolder } from './folders.ts'

/** In memory it is a host's handle, which the test can query too; `:memory:` is the library's own. */
export type Kind = 'a SQLite file' | "a host's handle of a file" | 'SQLite in memory' | ':memory:' | 'PostgreSQL'
export type Row = Record<string, unknown>

/** `run.ts --database` sets it. */
const chosen = process.env.MAILKEEP_TEST_DATABASE

/** Runs the suite on each kind, unless the run is for the other database. */
export function onKinds(kinds: readonly Kind[], name: string, suite: (kind: Kind) => void): void {
  for (const kind of kinds) {
    if (chosen !== undefined && (kind === 'PostgreSQL') !== (chosen === 'postgres')) continue
    const declare = kind === 'PostgreSQL' ? onPostgres : describe
    declare(`${name}, on ${kind}`, () => suite(kind))
  }
}

/** A database that several mailkeeps may share; the last of them closes it. */
export interface Place {
  readonly kind: Kind
  readonly source: DatabaseSource
  /** The variables that another process needs to open the database. */
  readonly env: { readonly FILE?: string; readonly URL?: string; readonly SCHEMA?: string }
  /** Runs a statement independently of the library; parameters are `?`. */
  ask(text: string, ...values: unknown[]): Promise<Row[]>
  close(): Promise<void>
}

/** Opens a new, empty database. */
export async function openPlace(kind: Kind): Promise<Place> {
  return kind === 'PostgreSQL' ? await onServer() : onSqlite(kind)
}

/** SQLite, with the handle for features that only SQLite has. */
export function onSqlite(kind: Exclude<Kind, 'PostgreSQL'>): Place & { readonly handle: Database.Database } {
  const folder = / file$/.test(kind) ? mkdtempSync(join(databaseFolder, 'mailkeep-test-')) : undefined
  const file = folder && join(folder, 'mail.db')
  /** A separate handle for a file; in memory the only one. */
  const handle = new Database(file ?? ':memory:', { timeout: 5000 })
  const host = kind === "a host's handle of a file" ? new Database(file!) : handle
  const source = sqlite(kind === 'a SQLite file' ? file! : kind === ':memory:' ? kind : host)
  return {
    kind,
    handle,
    source,
    env: file === undefined ? {} : { FILE: file },
    async ask(text, ...values) {
      if (kind === ':memory:') throw new Error('only the library can query :memory:')
      const bound = values.map((value) => (Number.isInteger(value) ? BigInt(value as number) : value))
      if (bound.length === 0 && !/^\s*select/.test(text)) {
        handle.exec(text)
        return []
      }
      const statement = handle.prepare(text)
      if (statement.reader) return statement.all(...bound) as Row[]
      statement.run(...bound)
      return []
    },
    async close() {
      host.close()
      handle.close()
      if (folder) rmSync(folder, { recursive: true })
    },
  }
}

async function onServer(): Promise<Place> {
  const database = await openPostgres()
  let spoilt = false
  return {
    kind: 'PostgreSQL',
    source: postgres(database.url, { schema: database.schema }),
    env: { URL: database.url, SCHEMA: database.schema },
    ask(text, ...values) {
      spoilt ||= /^\s*create /.test(text)
      let n = 0
      return database.ask(
        text.replaceAll('?', () => `$${++n}`),
        values,
      )
    },
    async close() {
      if (!spoilt) return await database.close()
      await database.ask(`drop schema "${database.schema}" cascade`) // the next test must not have the triggers of this one
    },
  }
}
