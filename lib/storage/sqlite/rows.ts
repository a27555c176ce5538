import { statSync } from 'node:fs'
import type { RowSource, SourceTable, Value } from '../row-source.ts'
import { column, type SqliteHandle, tablesIn } from './handle.ts'

/** Tables of the search index. They are not copied, because the target database builds its own index. */
const searchTables = /^mailkeep_search/

/**
 * Locks a database file exclusively until the handle is closed, and returns its rows.
 *
 * @throws SQLite's error when another connection has the file open.
 */
export function openRowSource(handle: SqliteHandle, file: string): RowSource {
  handle.pragma('locking_mode = exclusive') // before the first read, so that other connections cause an error
  handle.pragma('wal_checkpoint(truncate)') // moves the write-ahead log into the file before its size is read
  handle.exec('begin exclusive')
  const { size, mtimeMs } = statSync(file)
  const names = tablesIn(handle).filter((name) => name.startsWith('mailkeep_'))
  const tables = names.filter((name) => name !== 'mailkeep_migration' && !searchTables.test(name))
  return {
    fingerprint: `${size} bytes of ${mtimeMs}`,
    tables: tables.map((name) => describe(handle, name)),
    read: (table, after, limit) => read(handle, table, after, limit),
  }
}

function describe(handle: SqliteHandle, name: string): SourceTable {
  const columns = handle.prepare(`select name, pk from pragma_table_info(?) order by cid`).all(name) as {
    name: string
    pk: number
  }[]
  const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
  return {
    name,
    columns: columns.map((each) => each.name),
    key: key.map((each) => each.name),
    rows: Number(column(handle, `select count(*) from ${name}`)[0]),
    lastId: Number(column(handle, 'select seq from sqlite_sequence where name = ?', name)[0] ?? 0),
  }
}

function read(
  handle: SqliteHandle,
  { name, columns, key }: SourceTable,
  after: readonly Value[] | undefined,
  limit: number,
) {
  const order = key.join(', ')
  const condition = after ? `where (${order}) > (${key.map(() => '?').join(', ')})` : ''
  const select = handle.prepare(
    `select ${columns.join(', ')} from ${name} ${condition} order by ${order} limit ${limit}`,
  )
  return select.raw().all(...(after ?? []).map(toBindable)) as Value[][]
}

/** Converts numbers to BigInt, because better-sqlite3 binds numbers as floats. */
function toBindable(value: Value): unknown {
  return typeof value === 'number' ? BigInt(value) : value
}
