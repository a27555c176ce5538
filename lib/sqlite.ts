/** mailkeep/sqlite: opens SQLite databases through better-sqlite3. */
export { type SqliteHandle, type SqliteOptions, type SqliteStatement, sqlite } from './storage/sqlite.ts'
