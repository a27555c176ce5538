import { compareMigrations, copySetting, type Migration, tablesOf } from '../migrate.ts'
import type { SignalClient } from './driver.ts'
import { SharedClock } from './shared-clock.ts'
import { rowTypes } from './values.ts'

/** A report on a server and one of its databases. Creating it changes nothing. */
export interface ServerReport {
  /** The server's version as text, and as a number such as 150004. */
  readonly version: string
  readonly versionNumber: number
  readonly encoding: string
  /** Whether it is a replica, which accepts no writes. */
  readonly isReplica: boolean
  /** Whether its transactions are read-only by default. Those of mailkeep are not. */
  readonly isReadOnlyByDefault: boolean
  readonly encrypted: boolean
  readonly connections: { readonly used: number; readonly most: number }
  /** Milliseconds by which the server's clock is ahead of this machine's, and the maximum error of that value. */
  readonly clockAheadMs: number
  readonly clockToleranceMs: number
  /** The current schema, which has or will have the tables; null when the search path names no existing schema. */
  readonly schema: string | null
  /** Whether the role may create schemas in the database, and tables in the schema. */
  readonly mayCreateSchema: boolean
  readonly mayCreateTables: boolean
  /** Mailkeep's tables that the role may not read or write. */
  readonly closedTables: readonly string[]
  /** Other roles that own some of mailkeep's tables. Only an owner may change a table. */
  readonly otherOwners: readonly string[]
  /** State of the extension pg_trgm, which searches need. */
  readonly trigrams: 'installed' | 'available' | 'missing'
  readonly searchIndex: boolean
  /** Whether the schema has mailkeep's tables. */
  readonly mailkeep: boolean
  /** Migrations that this version has and the database lacks. */
  readonly unapplied: readonly string[]
  /** Migrations that the database has and this version lacks. */
  readonly unknown: readonly string[]
  /** Tables that its migrations created, and that it lacks. */
  readonly missingTables: readonly string[]
  /** Id of the encryption key that the database belongs to. */
  readonly keyId: string | null
  /** Whether a copy into the database was interrupted. */
  readonly hasUnfinishedCopy: boolean
}

const askServer = `select current_setting('server_version') as "version",
  cast(current_setting('server_version_num') as integer) as "versionNumber",
  current_setting('server_encoding') as "encoding",
  pg_is_in_recovery() as "isReplica",
  current_setting('default_transaction_read_only')::boolean as "isReadOnlyByDefault",
  coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as "encrypted",
  (select count(*) from pg_stat_activity where backend_type = 'client backend') as "used",
  cast(current_setting('max_connections') as integer) as "most",
  current_schema() as "schema",
  has_database_privilege(current_database(), 'create') as "mayCreateSchema",
  coalesce(has_schema_privilege(current_schema(), 'create'), false) as "mayCreateTables",
  case when exists (select from pg_extension where extname = 'pg_trgm') then 'installed'
    when exists (select from pg_available_extensions where name = 'pg_trgm') then 'available'
    else 'missing' end as "trigrams",
  exists (select from pg_index where indexrelid = to_regclass('mailkeep_contact_search') and indisvalid) as "searchIndex",
  to_regclass('mailkeep_migration') is not null and to_regclass('mailkeep_setting') is not null as "mailkeep"`

const ourTables = `from pg_class
  where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('r', 'p') and relname like 'mailkeep\\_%'`

const askOtherOwners = `select distinct pg_get_userbyid(relowner) as name ${ourTables}
    and not pg_has_role(relowner, 'usage') order by name`

const askClosed = `select relname as name ${ourTables}
    and not (has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert')
      and has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete'))
  order by relname`

function askMissing(applied: readonly Migration[]): string {
  const names = tablesOf(applied).map((name) => `'${name}'`)
  return `select name from unnest(cast(array[${names.join(', ')}] as text[])) as name where to_regclass(name) is null`
}

type ListsOfNames = 'closedTables' | 'otherOwners' | 'missingTables' | 'unapplied' | 'unknown'

type ServerRow = Omit<ServerReport, 'connections' | ListsOfNames | 'keyId' | 'hasUnfinishedCopy'> & {
  readonly used: number
  readonly most: number
}

/** Creates the report on an open connection. */
export async function inspect(client: SignalClient, migrations: readonly Migration[]): Promise<ServerReport> {
  const ask = async (text: string) => (await client.query({ text, types: rowTypes })).rows
  const [{ used, most, ...server }] = (await ask(askServer)) as [ServerRow]
  const closedTables = namesIn(await ask(askClosed))
  const isOpen = server.mailkeep && !closedTables.some((name) => /_(?:migration|setting)$/.test(name))
  const applied = isOpen ? namesIn(await ask('select name from mailkeep_migration order by name')) : []
  const keys = isOpen ? await ask(`select value as name from mailkeep_setting where name = 'encryption_key_id'`) : []
  const copies = isOpen ? await ask(`select name from mailkeep_setting where name = '${copySetting}'`) : []
  return {
    ...server,
    connections: { used, most },
    ...(await compareClocks(ask)),
    closedTables,
    otherOwners: namesIn(await ask(askOtherOwners)),
    ...(isOpen ? compareMigrations(applied, migrations) : { unapplied: [], unknown: [] }),
    missingTables: namesIn(await ask(askMissing(migrations.filter(({ name }) => applied.includes(name))))),
    keyId: namesIn(keys)[0] ?? null,
    hasUnfinishedCopy: copies.length > 0,
  }
}

async function compareClocks(ask: (text: string) => Promise<unknown[]>) {
  const clock = new SharedClock()
  let clockToleranceMs = Number.POSITIVE_INFINITY
  for (let sample = 0; sample < 3; sample++) {
    const askedMs = performance.now()
    await clock.compare(ask)
    clockToleranceMs = Math.min(clockToleranceMs, (performance.now() - askedMs) / 2)
  }
  return { clockAheadMs: clock.now() - Date.now(), clockToleranceMs }
}

function namesIn(rows: unknown[]): string[] {
  return (rows as { name: string }[]).map(({ name }) => name)
}
