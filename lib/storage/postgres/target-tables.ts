import { plainQuery } from '../connection.ts'
import type { Database } from '../database.ts'

/** A table that rows are copied into. */
export interface TargetTable {
  readonly name: string
  readonly columns: readonly string[]
  typeOf(column: string): string
  /** The identity column, if any. */
  readonly identity: string | undefined
}

const askColumns = plainQuery(`select c.relname as "table", a.attname as name,
    format_type(a.atttypid, a.atttypmod) as type, a.attidentity <> '' as "isIdentity"
  from pg_class as c join pg_attribute as a on a.attrelid = c.oid
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and c.relname like 'mailkeep\\_%' and c.relname <> 'mailkeep_migration' and a.attnum > 0 and not a.attisdropped
  order by c.relname, a.attnum`)

const askReferences = plainQuery(`select distinct conrelid::regclass::text as "from", confrelid::regclass::text as "to"
  from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`)

interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly isIdentity: boolean
}

/** @returns the tables in dependency order: each follows the tables that it references. */
export async function describeTables({ read }: Database): Promise<TargetTable[]> {
  const { rows: columns } = await read<Column>(askColumns)
  const { rows: references } = await read<{ from: string; to: string }>(askReferences)
  const names = [...new Set(columns.map(({ table }) => table))]
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
