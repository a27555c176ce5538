import { CliError } from './cli-error.ts'

/** Loads the SQLite part of the library on demand, so that PostgreSQL users need not install better-sqlite3. */
export function loadSqlite(): Promise<typeof import('../lib/storage/sqlite.ts')> {
  return load('better-sqlite3', 'a SQLite database', () => import('../lib/storage/sqlite.ts'))
}

/** Loads the PostgreSQL part of the library on demand, so that SQLite users need not install pg. */
export function loadPostgres(): Promise<typeof import('../lib/storage/postgres.ts')> {
  return load('pg', 'PostgreSQL', () => import('../lib/storage/postgres.ts'))
}

/** @throws CliError The package is not installed. */
export async function load<T>(name: string, what: string, from: () => Promise<T>): Promise<T> {
  try {
    return await from()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const isMissing = /^(?:ERR_)?MODULE_NOT_FOUND$/.test(code ?? '') && message.includes(`'${name}'`)
    throw isMissing ? new CliError(`${name} is missing, which ${what} needs: npm install ${name}`) : error
  }
}
