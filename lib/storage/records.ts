/** Statements that several slices have in common. A record has an id and belongs to a client. */
import { type SelectType, sql } from 'kysely'
import { int, ints, statement, time } from './statement.ts'
import type { Owned, Tables } from './tables.ts'

type Owner = Pick<Owned, 'id' | 'client_id'>
type RecordTable = { [Name in keyof Tables]: Tables[Name] extends Owner ? Name : never }[keyof Tables]

/** A row of a table, as it is read. Declarations of the package cannot name the parts of Kysely's `Selectable`. */
type RowOf<Table> = { [Column in keyof Table]: SelectType<Table[Column]> }

const key = { client_id: int, id: int }
const keys = { client_id: int, ids: ints }

/** Returns the statements on the client's records of a table. */
export function recordStatements<Name extends RecordTable>(name: Name) {
  type Row = RowOf<Tables[Name]>
  const table = sql.table(name)
  return {
    /** Reads a range of the records. */
    list: statement.all(
      { client_id: int, after: int, limit: int },
      (_, p, __, { desc }) => sql<Row>`select * from ${table}
        where client_id = ${p.client_id} and id ${desc ? sql`<` : sql`>`} ${p.after}
        order by id ${desc ? sql`desc` : sql`asc`} limit ${p.limit}`,
      ['desc'],
    ),
    find: statement(key, (_, p) => sql<Row>`select * from ${table} where client_id = ${p.client_id} and id = ${p.id}`),
    /** Locks the record, so that it is not changed or deleted before the transaction ends. */
    lock: statement(
      key,
      (_, p, dialect) => sql<Row>`select * from ${table}
        where client_id = ${p.client_id} and id = ${p.id} ${dialect.forUpdate}`,
    ),
    /** Returns those of the records that exist, by ascending id. */
    findAll: statement.all(
      keys,
      (_, p, dialect) => sql<Row>`select * from ${table}
        where client_id = ${p.client_id} and ${dialect.inList(sql.ref('id'), p.ids)} order by id`,
    ),
    /** Locks those of the records that exist, by ascending id. Returns their ids. */
    lockAll: statement.all(
      keys,
      (_, p, dialect) => sql<{ id: number }>`select id from ${table}
        where client_id = ${p.client_id} and ${dialect.inList(sql.ref('id'), p.ids)} order by id ${dialect.forUpdate}`,
    ),
    delete: statement.affected(
      key,
      (_, p) => sql`delete from ${table} where client_id = ${p.client_id} and id = ${p.id}`,
    ),
  }
}

/** Deletes some of the rows whose `column` has a time before this one. */
export function deleteBefore(table: keyof Tables, column: string) {
  return statement.affected(
    { before: time, limit: int },
    (_, p) => sql`delete from ${sql.table(table)} where id in
      (select id from ${sql.table(table)} where ${sql.ref(column)} < ${p.before} limit ${p.limit})`,
  )
}

/**
 * As `deleteBefore`, for a table without an index on the time, because its ids ascend with it. Rows of the future are passed
 * over: the clock was set back since.
 */
export function deleteOldestBefore(table: keyof Tables, column: string) {
  return statement.affected(
    { before: time, now: time, limit: int },
    (_, p) => sql`delete from ${sql.table(table)} where ${sql.ref(column)} < ${p.before} and id in
      (select id from ${sql.table(table)} where ${sql.ref(column)} <= ${p.now} order by id limit ${p.limit})`,
  )
}
