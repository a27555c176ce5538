import { type Dialect, Kysely } from 'kysely'
import { invalid } from '../../errors.ts'
import type { DatabaseSource } from '../connection.ts'
import { openPostgresThrough } from './postgres.ts'
import { openSqliteThrough } from './sqlite.ts'
import { speaksPostgres, speaksSqlite } from './transaction.ts'

/** The kinds of database that `createMailkeep` accepts. */
// biome-ignore lint/suspicious/noExplicitAny: the host's tables are its own.
export type HostDatabase = DatabaseSource | Kysely<any> | Dialect

/**
 * Returns the source for the host's database: the result of `sqlite()` or `postgres()`, a Kysely instance, or a Kysely
 * dialect.
 *
 * @throws MailkeepError `validation_failed`: its dialect is neither SQLite nor PostgreSQL.
 */
export function sourceOf(database: HostDatabase): DatabaseSource {
  if (typeof database !== 'object' || database === null) throw notADatabase()
  if ('migrations' in database && 'open' in database) return database
  if ('getExecutor' in database) return through(database, false)
  if ('createDriver' in database) return through(new Kysely({ dialect: database }), true)
  throw notADatabase()
}

/** @param own Whether mailkeep created the instance, and closes it. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
function through(host: Kysely<any>, own: boolean): DatabaseSource {
  // Remove the host's plugins, which may rename columns or change values.
  const kysely = host.withoutPlugins()
  const speaks = host.getExecutor().adapter.constructor.name
  if (speaksSqlite.test(speaks)) return openSqliteThrough(kysely, own)
  if (speaksPostgres.test(speaks)) return openPostgresThrough(kysely, own)
  throw invalid('database', `This Kysely instance speaks neither SQLite nor PostgreSQL (${speaks}).`)
}

function notADatabase(): Error {
  return invalid('database', 'This must be sqlite(…), postgres(…), a Kysely instance or a Kysely dialect.')
}
