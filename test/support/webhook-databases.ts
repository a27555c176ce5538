/** The kinds of database that the webhook engine is tested on; see webhook-harness. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { DatabaseSource } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { openPostgres } from './databases.ts'

export type Kind = 'a SQLite file' | 'SQLite in memory' | 'PostgreSQL'
export type Row = Record<string, unknown>

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

export async function openPlace(kind: Kind): Promise<Place> {
  return kind === 'PostgreSQL' ? await onServer() : onSqlite(kind)
}

/** SQLite, with the handle for features that only SQLite has. */
export function onSqlite(kind: Exclude<Kind, 'PostgreSQL'>): Place & { readonly handle: Database.Database } {
  const folder = kind === 'a SQLite file' ? mkdtempSync(join(tmpdir(), 'mailkeep-webhooks-')) : undefined
  const file = folder && join(folder, 'mail.db')
  /** A separate handle for a file; in memory the only one. */
  const handle = new Database(file ?? ':memory:', { timeout: 5000 })
  return {
    kind,
    handle,
    source: sqlite(file ?? handle),
    env: file === undefined ? {} : { FILE: file },
    async ask(text, ...values) {
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
