import { sql } from 'kysely'
import { type Scope, statement } from './statement.ts'

const findVersion = statement({}, (_, __, dialect) =>
  dialect.name === 'postgres'
    ? sql<{ version: string }>`select pg_current_snapshot()::text as version`
    : sql<{ version: string }>`select data_version || ' ' || total_changes() as version from pragma_data_version`,
)

/**
 * Returns a text that differs after every commit, of any process. While it stays the same, every read returns the same
 * rows. Other changes may alter it, too.
 */
export async function databaseVersion(scope: Scope): Promise<string> {
  return (await findVersion(scope, {}))!.version
}
