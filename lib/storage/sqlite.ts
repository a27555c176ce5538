import { closeSync, openSync } from 'node:fs'
import Database from 'better-sqlite3'
import {
  type CompiledQuery,
  DummyDriver,
  type Expression,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import { MailkeepError, notFound } from '../errors.ts'
import type { Logger } from '../logger.ts'
import {
  type Connection,
  type DatabaseSource,
  plainQuery,
  type SearchChange,
  type Storage,
  withParameters,
} from './connection.ts'
import type { Dialect } from './dialect.ts'
import { GroupCommit, type GroupTarget, groupLimits } from './group.ts'
import { sqliteMigrations } from './migrations/sqlite.ts'
import type { Tables } from './tables.ts'

type Handle = Database.Database

export interface SqliteOptions {
  /** Path of better-sqlite3's native addon, or the loaded addon itself, where it is not beside its package. */
  readonly nativeBinding?: string | object
}

/**
 * A SQLite database.
 *
 * @param source A file's path, `:memory:`, or a better-sqlite3 handle: of a file, connections of our own are opened
 *   beside it; a handle in memory is used itself.
 */
export function sqlite(source: string | Handle, options: SqliteOptions = {}): DatabaseSource {
  return {
    migrations: sqliteMigrations,
    open: (logger) => open(source, options, logger),
  }
}

async function open(source: string | Handle, options: SqliteOptions, logger: Logger): Promise<Storage> {
  if (typeof source !== 'string' && source.memory) return await storageOn(source, source, [])
  const file = typeof source === 'string' ? source : source.name
  const inMemory = file === ':memory:' || file === ''
  try {
    const writer = connect(file, options, inMemory)
    const reader = inMemory ? writer : connect(file, options, false)
    logger.debug({ database: file }, 'database opened')
    return await storageOn(writer, reader, inMemory ? [writer] : [reader, writer])
  } catch (error) {
    throw cannotOpen(file, error)
  }
}

function connect(file: string, { nativeBinding }: SqliteOptions, inMemory: boolean): Handle {
  // SQLite gives a new file the umask's mode: what it holds is personal. Its log and index files copy the mode.
  if (!inMemory) closeSync(openSync(file, 'a', 0o600))
  // No waiting inside SQLite: it would block the thread that may hold the lock.
  return new Database(file, { timeout: 0, ...(nativeBinding ? { nativeBinding: nativeBinding as string } : {}) })
}

function cannotOpen(file: string, error: unknown): MailkeepError {
  const reason = error instanceof Error ? error.message : String(error)
  return new MailkeepError('unavailable', `The database ${file} cannot be opened: ${reason}`, { cause: error })
}

async function storageOn(writer: Handle, reader: Handle, ours: readonly Handle[]): Promise<Storage> {
  for (const handle of new Set([writer, reader])) await unlocked(() => configure(handle), 'The database is locked.')
  const write = new KeptConnection(writer)
  const group = new GroupCommit(target(writer, write), groupLimits)
  const version = writer.prepare('pragma data_version').pluck()
  const builder = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
  return {
    dialect,
    builder,
    reader: new Reader(reader === writer ? write : new KeptConnection(reader), reader),
    write: (work) => group.write(work),
    writeAlone: (work) => group.write(work),
    version: async () => version.get() as number,
    close: async () => {
      await group.close()
      for (const handle of ours) handle.close()
    },
  }
}

function configure(handle: Handle): void {
  handle.pragma('journal_mode = wal')
  handle.pragma('synchronous = full') // after the journal mode: in WAL this build means NORMAL until told
  handle.pragma('foreign_keys = on')
  handle.pragma('secure_delete = on') // what is erased leaves the file, too
  handle.pragma('journal_size_limit = 67108864')
  handle.pragma('temp_store = memory')
}

function target(handle: Handle, connection: Connection): GroupTarget {
  const begin = handle.prepare('begin immediate')
  return {
    connection,
    inTransaction: () => handle.inTransaction,
    indexSearch: (changes) => indexSearch(connection, changes),
    failure,
    async begin() {
      // A host's own transaction on a shared handle is waited for, like another process's.
      if (handle.inTransaction) return false
      try {
        begin.run()
        return true
      } catch (error) {
        if (isLocked(error)) return false
        throw error
      }
    },
  }
}

/** The index has no copy of the texts: what leaves it must be told as it was. */
const leaveIndex = plainQuery(
  `insert into mailkeep_search (mailkeep_search, rowid, search) values ('delete', ? * ${2 ** 40} + ?, ?)`,
)
const enterIndex = plainQuery(`insert into mailkeep_search (rowid, search) values (? * ${2 ** 40} + ?, ?)`)

async function indexSearch(connection: Connection, changes: readonly SearchChange[]): Promise<void> {
  for (const { clientId, contactId, before, after } of changes) {
    const key = [BigInt(clientId), BigInt(contactId)]
    if (before !== null) await connection.executeQuery(withParameters(leaveIndex, [...key, before]))
    if (after !== null) await connection.executeQuery(withParameters(enterIndex, [...key, after]))
  }
}

/** Prepared statements kept: preparing anew costs twice as much as running. Bounded, oldest out first. */
class KeptConnection implements Connection {
  readonly #handle: Handle
  readonly #kept = new Map<string, Database.Statement>()

  constructor(handle: Handle) {
    this.#handle = handle
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const statement = this.#kept.get(sql) ?? this.#prepare(sql)
    if (statement.reader) return { rows: statement.all(...parameters) as R[] }
    const { changes } = statement.run(...parameters)
    return { rows: [], numAffectedRows: BigInt(changes) }
  }

  #prepare(sql: string): Database.Statement {
    const statement = this.#handle.prepare(sql)
    if (this.#kept.size >= 500) this.#kept.delete(this.#kept.keys().next().value!)
    this.#kept.set(sql, statement)
    return statement
  }
}

/** Reads what is committed: on a connection shared with the writer it waits until no transaction is open. */
class Reader implements Connection {
  readonly #connection: Connection
  readonly #handle: Handle

  constructor(connection: Connection, handle: Handle) {
    this.#connection = connection
    this.#handle = handle
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (!this.#handle.inTransaction) return this.#connection.executeQuery(query)
    return this.#later(query)
  }

  async #later<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    await unlocked(
      () => !this.#handle.inTransaction,
      'The database was locked by another transaction. Inside a transaction of your own? Use mailkeep.using(trx).',
    )
    return await this.#connection.executeQuery(query)
  }
}

/** Tries until `attempt` neither says false nor meets a lock; without blocking the thread, for 5 s. */
async function unlocked(attempt: () => unknown, message: string): Promise<void> {
  const ends = performance.now() + groupLimits.lockMs
  for (let pauseMs = 0; performance.now() < ends; pauseMs = Math.min(pauseMs + 1, 20)) {
    try {
      if (attempt() !== false) return
    } catch (error) {
      if (!isLocked(error)) throw error
    }
    await new Promise((resolve) => (pauseMs === 0 ? setImmediate(resolve) : setTimeout(resolve, pauseMs)))
  }
  throw new MailkeepError('unavailable', message)
}

function isLocked(error: unknown): boolean {
  return error instanceof Error && /^SQLITE_(BUSY|LOCKED)/.test((error as { code?: string }).code ?? '')
}

/** What is the machine's fault and may pass becomes `unavailable`; the rest stays what it is. */
function failure(error: unknown): unknown {
  const code = error instanceof Error ? ((error as { code?: string }).code ?? '') : ''
  // Every foreign key that a caller can miss is the client's.
  if (code === 'SQLITE_CONSTRAINT_FOREIGNKEY') return notFound('client')
  if (!/^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM)/.test(code)) return error
  return new MailkeepError('unavailable', `The database cannot be written now (${code}).`, { cause: error })
}

/** One index of searches serves all clients: a contact's row there is client × 2^40 + contact, so a client is a range. */
const clientSpan = sql.lit(2 ** 40)

/** A term taken literally: FTS5 reads it as a phrase. */
const phrase = (search: Expression<unknown>) => sql`'"' || replace(${search}, '"', '""') || '"'`

/** SQLite's phrases. */
const dialect: Dialect = {
  name: 'sqlite',
  timeType: 'text',
  findTable: (name) => sql`select 1 from sqlite_master where type = 'table' and name = ${name}`,
  slot: (mark) => sql`${mark}`,
  bind(type, value) {
    // Every JS number is bound as REAL: searches ignore such bounds, and JSON shows 7.0.
    if (type === 'int') return BigInt(value as number)
    if (type === 'bool') return value ? 1n : 0n
    if (type === 'ints' || type === 'texts' || type === 'jsons') return JSON.stringify(value)
    return value
  },
  each: (list) => sql`json_each(${list}) as item`,
  anyOf: (column, list) => sql`${column} in (select value from json_each(${list}))`,
  contains: (text, part) => sql`instr(${text}, ${part}) > 0`,
  shortestMatch: 3, // the index holds trigrams
  walkMatches: ({ client_id, search, after, limit, desc, conditions }) => {
    const base = sql`${client_id} * ${clientSpan}`
    const range = desc
      ? sql`match.rowid > ${base} and match.rowid < ${base} + min(${after}, ${clientSpan})`
      : sql`match.rowid > ${base} + min(${after}, ${clientSpan}) and match.rowid < ${base} + ${clientSpan}`
    return sql`select c.id from mailkeep_search as match cross join mailkeep_contact as c
      where c.id = match.rowid - ${base} and match.search match ${phrase(search)} and ${range} ${conditions}
      order by match.rowid ${desc ? sql`desc` : sql`asc`} limit ${limit}`
  },
  countMatches: ({ client_id, search, limit }) => {
    const base = sql`${client_id} * ${clientSpan}`
    return sql`select count(*) as matches from (select 1 from mailkeep_search as match
      where match.search match ${phrase(search)} and match.rowid > ${base} and match.rowid < ${base} + ${clientSpan}
      limit ${limit}) as counted`
  },
  object: (fields) =>
    sql`json_object(${sql.join(Object.entries(fields).flatMap(([name, value]) => [sql.lit(name), value]))})`,
  // Rows come in the order of the index they are walked over, which is the one asked for: sorting them would cost more.
  list: (item, _order, from) => sql`(select json_group_array(${item}) ${from})`,
  time: (column) => sql`${column}`,
  bool: (column) => sql`json(iif(${column}, 'true', 'false'))`,
  json: (column) => sql`json(${column})`,
  lockForClaim: sql``, // there is one writer at a time
  lockForChange: sql``,
  jsonText: (value) => sql<string>`${value}`,
}
