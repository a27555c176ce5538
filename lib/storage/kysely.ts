import { type Dialect, Kysely } from 'kysely'
import { invalid } from '../errors.ts'
import { checkOptions } from '../option-schemas.ts'
import type { DatabaseSource } from './database.ts'
import { openPostgresThrough } from './postgres/host-kysely.ts'
import { openSqliteThrough } from './sqlite/host-kysely.ts'

export interface KyselyOptions {
  /** The kind of database that the instance or dialect is for. */
  readonly dialect: 'sqlite' | 'postgres'
}

const openers = new Map([
  ['sqlite', openSqliteThrough],
  ['postgres', openPostgresThrough],
])

/**
 * The database of the host's Kysely instance, or of a Kysely dialect. mailkeep uses the host's driver and connections,
 * without the host's plugins. It closes a dialect's connections with `close()`, but leaves an instance open.
 *
 * @param host A Kysely instance, or a dialect such as `new SqliteDialect({ database })`.
 * @throws MailkeepError `validation_failed`: `host` is neither, or is a transaction, or an option is wrong or unknown.
 * @example
 * createMailkeep({ database: kysely(db, { dialect: 'postgres' }), encryptionKey })
 */
// biome-ignore lint/suspicious/noExplicitAny: the host's tables are its own.
export function kysely(host: Kysely<any> | Dialect, options: KyselyOptions): DatabaseSource {
  const own = isDialect(host)
  if (!own && !isInstance(host)) {
    throw invalid('database', 'The first argument of kysely() must be a Kysely instance or a Kysely dialect.')
  }
  if (!own && host.isTransaction) {
    throw invalid(
      'database',
      'kysely() takes no transaction: pass it to mailkeep.using(), and the Kysely instance here.',
    )
  }
  const open = openers.get(options?.dialect)
  if (!open) throw invalid('dialect', "The dialect of kysely() must be 'sqlite' or 'postgres'.")
  checkOptions('kysely', options)
  return open(own ? new Kysely<unknown>({ dialect: host }) : host.withoutPlugins(), own)
}

/**
 * @returns `database`, which `sqlite()`, `postgres()` or `kysely()` returned.
 * @throws MailkeepError `validation_failed`: it is something else.
 */
export function checkSource(database: DatabaseSource): DatabaseSource {
  if (typeof database === 'object' && database !== null && 'migrations' in database && 'open' in database) {
    return database
  }
  if (isInstance(database) || isDialect(database)) {
    const message =
      "Pass a Kysely instance or dialect as kysely(db, { dialect: 'sqlite' }) or kysely(db, { dialect: 'postgres' })."
    throw invalid('database', message)
  }
  throw invalid('database', 'This must be sqlite(…), postgres(…) or kysely(…).')
}

/** Checks the shape and not the class, because bundles rename classes, and the host may use another copy of Kysely. */
function isInstance(host: unknown): host is Kysely<unknown> {
  return typeof host === 'object' && host !== null && 'getExecutor' in host && 'withoutPlugins' in host
}

function isDialect(host: unknown): host is Dialect {
  return typeof host === 'object' && host !== null && 'createDriver' in host && 'createAdapter' in host
}
