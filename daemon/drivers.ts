import { CliError } from './cli-error.ts'

/** SQLite's side of the library, loaded by those who use it: its driver need not be installed beside PostgreSQL's. */
export function loadSqlite(): Promise<typeof import('../lib/storage/sqlite.ts')> {
  return load('better-sqlite3', 'a SQLite database', () => import('../lib/storage/sqlite.ts'))
}

/** PostgreSQL's side, likewise. */
export function loadPostgres(): Promise<typeof import('../lib/storage/postgres.ts')> {
  return load('pg', 'PostgreSQL', () => import('../lib/storage/postgres.ts'))
}

/** @throws Complaint when the package is not installed. */
export async function load<T>(name: string, what: string, from: () => Promise<T>): Promise<T> {
  try {
    return await from()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const isMissing = /^(?:ERR_)?MODULE_NOT_FOUND$/.test(code ?? '') && message.includes(`'${name}'`)
    throw isMissing ? new CliError(`${name} is missing, which ${what} needs: npm install ${name}`) : error
  }
}
