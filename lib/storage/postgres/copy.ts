import { distinct } from '../../collections.ts'
import { MailkeepError } from '../../errors.ts'
import { plainQuery } from '../connection.ts'
import type { Database } from '../database.ts'
import { copySetting } from '../migrate.ts'
import type { CopyProgress, RowSource, SourceTable, Value } from '../row-source.ts'
import type { Transaction } from '../transaction.ts'
import { bindValue } from './values.ts'

/** Target size of a batch. It is large enough for a commit to pay off, and small enough for memory. */
const bytesPerBatch = 2_000_000
const rowsInFirstBatch = 500
const maxRowsPerBatch = 5000

/** Progress of a copy. It is stored in the target database in the same transaction as the rows. */
interface State {
  readonly source: string
  readonly table: string
  /** The key of the last copied row. */
  readonly after?: readonly Value[]
  readonly done: number
}

/**
 * Copies all rows into a database that is empty, or that contains an unfinished copy of the same source. Other
 * processes cannot open that database until the copy is complete.
 *
 * @returns the number of rows of each table, equal in both databases.
 * @throws MailkeepError `conflict`: the database is not empty, has an unfinished copy of other data, or a count differs
 *   at the end.
 */
export async function copyRows(
  source: RowSource,
  database: Database,
  report: (progress: CopyProgress) => void,
): Promise<Record<string, number>> {
  const tables = pairUp(await describeTables(database), source.tables)
  const total = source.tables.reduce((sum, { rows }) => sum + rows, 0)
  let state = (await findState(database)) ?? (await begin(source, database, tables))
  if (state.source !== source.fingerprint) throw otherCopy()
  for (const [to, from] of tables.slice(tables.findIndex(([to]) => to.name === state.table))) {
    if (state.table !== to.name) state = { source: state.source, table: to.name, done: state.done }
    report({ done: state.done, total, what: to.name })
    for await (const next of copyTable(source, database, to, from, state)) {
      state = next
      report({ done: state.done, total, what: to.name })
    }
  }
  report({ done: total, total, what: 'indexing' })
  await database.search.create({ idle: true })
  report({ done: total, total, what: 'verifying' })
  return await database.transaction((transaction) => finish(transaction, tables), { exclusive: true })
}

/** A table that rows are copied into. */
interface TargetTable {
  readonly name: string
  readonly columns: readonly string[]
  typeOf(column: string): string
  /** The identity column, if any. */
  readonly identity: string | undefined
}

const askColumns = plainQuery(`select c.relname as "table", a.attname as name,
    format_type(a.atttypid, a.atttypmod) as type, a.attidentity <> '' as "isIdentity"
  from pg_class as c join pg_attribute as a on a.attrelid = c.oid
  where c.relnamespace = quote_ident(current_schema())::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and c.relname like 'mailkeep\\_%' and c.relname <> 'mailkeep_migration' and a.attnum > 0 and not a.attisdropped
  order by c.relname, a.attnum`)

const askReferences = plainQuery(`select distinct f.relname as "from", t.relname as "to"
  from pg_constraint join pg_class as f on f.oid = conrelid join pg_class as t on t.oid = confrelid
  where contype = 'f' and connamespace = quote_ident(current_schema())::regnamespace`)

interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly isIdentity: boolean
}

/** @returns the tables in dependency order: each follows the tables that it references. */
async function describeTables({ read }: Database): Promise<TargetTable[]> {
  const { rows: columns } = await read<Column>(askColumns)
  const { rows: references } = await read<{ from: string; to: string }>(askReferences)
  const names = distinct(columns.map(({ table }) => table))
  const inOrder: string[] = []
  const append = (name: string) => {
    if (inOrder.includes(name)) return
    for (const { from, to } of references) if (from === name && to !== name) append(to)
    inOrder.push(name)
  }
  for (const name of names) append(name)
  return inOrder.map((name) =>
    tableOf(
      name,
      columns.filter(({ table }) => table === name),
    ),
  )
}

function tableOf(name: string, columns: readonly Column[]): TargetTable {
  return {
    name,
    columns: columns.map((column) => column.name),
    typeOf: (wanted) => columns.find((column) => column.name === wanted)!.type,
    identity: columns.find(({ isIdentity }) => isIdentity)?.name,
  }
}

type Pair = readonly [to: TargetTable, from: SourceTable]

/** Matches tables by name. Both databases have the same migrations, so tables and columns must be equal. */
function pairUp(targets: readonly TargetTable[], sources: readonly SourceTable[]): Pair[] {
  const unknown = sources.filter(({ name }) => !targets.some((target) => target.name === name))
  const pairs = targets.map((to) => [to, sources.find(({ name }) => name === to.name)] as const)
  const differing = pairs.filter(
    ([to, from]) => !from || from.columns.toSorted().join() !== to.columns.toSorted().join(),
  )
  const names = [...unknown.map(({ name }) => name), ...differing.map(([{ name }]) => name)]
  if (names.length === 0) return pairs as Pair[]
  throw new MailkeepError('internal', `The databases differ in ${names.join(', ')}: this version cannot copy them.`)
}

async function findState({ read }: Database): Promise<State | undefined> {
  const query = parameters(`select value from mailkeep_setting where name = $1`, [copySetting])
  const [row] = (await read<{ value: string }>(query)).rows
  return row && (JSON.parse(row.value) as State)
}

async function begin(source: RowSource, database: Database, tables: readonly Pair[]): Promise<State> {
  const state: State = { source: source.fingerprint, table: tables[0]![0].name, done: 0 }
  const insertState = async (transaction: Transaction) => {
    for (const [{ name }] of tables) {
      if (name === 'mailkeep_setting') continue // opening the database writes settings, and the copy overwrites them
      const { rows } = await transaction.run(plainQuery(`select 1 from ${name} limit 1`))
      if (rows.length > 0)
        throw new MailkeepError('conflict', `The database to copy to is not empty: ${name} has rows.`)
    }
    const insert = 'insert into mailkeep_setting (name, value) values ($1, $2)'
    await transaction.run(parameters(insert, [copySetting, JSON.stringify(state)]))
  }
  await database.transaction(insertState, { exclusive: true })
  return state
}

async function* copyTable(source: RowSource, database: Database, to: TargetTable, from: SourceTable, begun: State) {
  const statement = insertion(to, from)
  const places = from.key.map((name) => from.columns.indexOf(name))
  let state = begun
  for (let limit = rowsInFirstBatch; ; ) {
    const rows = source.read(from, state.after, limit)
    const last = rows.at(-1)
    if (!last) return
    const next: State = { ...state, after: places.map((at) => last[at]!), done: state.done + rows.length }
    const values = columnsOf(rows, to, from)
    await database.transaction(async (transaction) => {
      await transaction.run(parameters(statement, values))
      await updateState(transaction, state, next)
    })
    state = next
    yield state
    limit = Math.min(Math.max(Math.floor(bytesPerBatch / averageRowSize(rows)), 50), maxRowsPerBatch)
  }
}

function insertion({ name, typeOf, identity }: TargetTable, { columns }: SourceTable): string {
  const names = columns.join(', ')
  const lists = columns.map((_, at) => `cast($${at + 1} as text[])`).join(', ')
  const casts = columns.map((column) => `cast(${column} as ${typeOf(column)})`).join(', ')
  const ids = identity === undefined ? '' : 'overriding system value'
  const onConflict = name === 'mailkeep_setting' ? 'on conflict (name) do update set value = excluded.value' : ''
  return `insert into ${name} (${names}) ${ids} select ${casts} from unnest(${lists}) as given (${names}) ${onConflict}`
}

/** Returns one array per column. PostgreSQL can parse values of every type from text. */
function columnsOf(rows: readonly (readonly Value[])[], { typeOf }: TargetTable, { columns }: SourceTable): unknown[] {
  return columns.map((column, at) => {
    const type = typeOf(column).startsWith('timestamp') ? 'time' : 'text'
    return rows.map((row) => (row[at] === null ? null : bindValue(type, String(row[at]))))
  })
}

/** Returns the average size of a row in characters. */
function averageRowSize(rows: readonly (readonly Value[])[]): number {
  let sum = 0
  for (const row of rows) for (const value of row) sum += typeof value === 'string' ? value.length : 8
  return Math.max(sum / rows.length, 1)
}

/** Updates the progress in the transaction of the rows. Fails if another process has updated it. */
async function updateState(transaction: Transaction, from: State, to: State): Promise<void> {
  // Other settings are not JSON. The CASE keeps PostgreSQL from parsing them.
  const change = `update mailkeep_setting set value = $3
    where name = $1 and case when name = $1 then cast(value as jsonb) @> cast($2 as jsonb) end`
  const expected = { source: from.source, done: from.done }
  const values = [copySetting, JSON.stringify(expected), JSON.stringify(to)]
  const { numAffectedRows } = await transaction.run(parameters(change, values))
  if (numAffectedRows !== 1n) throw new MailkeepError('conflict', 'Another copy into this database is under way.')
}

async function finish(transaction: Transaction, tables: readonly Pair[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const wrong: string[] = []
  for (const [to, from] of tables) {
    if (to.identity !== undefined) await setNextId(transaction, to, from)
    await transaction.run(plainQuery(`analyze ${to.name}`))
    const where = to.name === 'mailkeep_setting' ? `where name <> '${copySetting}'` : ''
    const query = plainQuery(`select count(*) as count from ${to.name} ${where}`)
    const [row] = (await transaction.run<{ count: number }>(query)).rows
    counts[to.name] = Number(row!.count)
    // A migration before the copy may have stored settings that the source does not have.
    const isRight = to.name === 'mailkeep_setting' ? counts[to.name]! >= from.rows : counts[to.name] === from.rows
    if (!isRight) wrong.push(`${counts[to.name]} rows instead of ${from.rows} in ${to.name}`)
  }
  if (wrong.length > 0) throw new MailkeepError('conflict', `The copy is incomplete: ${wrong.join('; ')}.`)
  await transaction.run(parameters('delete from mailkeep_setting where name = $1', [copySetting]))
  return counts
}

/** Continues the source's id sequence, so that ids of deleted rows are never reused. */
async function setNextId(transaction: Transaction, { name, identity }: TargetTable, { lastId }: SourceTable) {
  const text = `select setval(pg_get_serial_sequence('${name}', '${identity}'), greatest($1::bigint, 1), $1::bigint > 0)`
  await transaction.run(parameters(text, [lastId]))
}

function otherCopy(): MailkeepError {
  const message =
    'The database has an unfinished copy of another file, or the file has changed since: empty the database and run the copy again.'
  return new MailkeepError('conflict', message)
}

function parameters(text: string, values: readonly unknown[]) {
  return { ...plainQuery(text), parameters: values }
}
