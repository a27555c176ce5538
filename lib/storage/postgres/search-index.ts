import { isMailkeepError } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { type Connection, plainQuery } from '../connection.ts'
import type { Writes } from './writes.ts'

/**
 * Maximum table size for an automatic build. Building blocks writes, so the operator chooses the time for larger
 * tables.
 */
const maxTableMegabytes = 64

const askState = plainQuery(`select
  exists (select from pg_index where indexrelid = to_regclass('mailkeep_contact_search') and indisvalid) as indexed,
  (select extnamespace::regnamespace::text from pg_extension where extname = 'pg_trgm') as schema,
  exists (select from pg_available_extensions where name = 'pg_trgm') as available,
  coalesce(has_schema_privilege(to_regnamespace('public'), 'create'), false) as public,
  pg_relation_size('mailkeep_contact') / 1048576 as megabytes`)

interface State {
  indexed: boolean
  /** Schema of the extension; null if it is not installed. */
  schema: string | null
  available: boolean
  public: boolean
  megabytes: number
}

/**
 * Creates the search index, which needs pg_trgm, if it is missing. Without the index, a search reads all contacts of
 * the client. If it cannot be created, logs once what is missing.
 *
 * @param idle Whether the database is not in use. Then the index is built whatever the size of the table.
 */
export async function ensureSearchIndex(
  reader: Connection,
  writes: Writes,
  logger: Logger,
  idle: boolean,
): Promise<void> {
  let state = await stateOf(reader)
  if (state.indexed) return
  const missing = (what: string) => logger.warn({ missing: what }, 'searches have no index, and read every contact')
  if (!state.available) return missing("PostgreSQL's extension pg_trgm (package postgresql-contrib)")
  if (state.schema === null) {
    await tryTo(writes, `create extension if not exists pg_trgm ${state.public ? 'schema public' : ''}`)
    state = await stateOf(reader)
  }
  if (state.schema === null) return missing('create extension pg_trgm (as an owner of the database)')
  const index = `mailkeep_contact_search on mailkeep_contact using gin (search ${state.schema}.gin_trgm_ops)`
  if (state.megabytes > maxTableMegabytes && !idle) return missing(`create index concurrently ${index}`)
  const reason = await tryTo(writes, `create index if not exists ${index}`)
  if (reason !== undefined) missing(`create index concurrently ${index} (${reason})`)
}

async function stateOf(reader: Connection): Promise<State> {
  return (await reader.run<State>(askState)).rows[0]!
}

/** Runs a statement that may fail. @returns the reason of the failure, if any. */
async function tryTo(writes: Writes, sql: string): Promise<string | undefined> {
  try {
    await writes.transaction(async (transaction) => transaction.run(plainQuery(sql)), { exclusive: true })
    return undefined
  } catch (error) {
    if (!isMailkeepError(error, 'internal')) throw error
    return error.cause instanceof Error ? error.cause.message : error.message
  }
}
