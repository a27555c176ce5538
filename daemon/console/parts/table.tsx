/** Tables of records, with the pages of their listing. */
import type { ComponentChildren } from 'preact'
import type { PageQuery } from '../api.ts'
import { Loaded, type Loading, useLoad } from './load.tsx'
import { type CursorParameter, type Meta, Pager, useQuery } from './page.tsx'
import { Time } from './time.tsx'

export interface Column<T> {
  readonly title: string
  /** `wide` columns are left out on a narrow screen. `figure` columns have numbers. */
  readonly class?: 'wide' | 'figure' | 'wide figure'
  readonly isTime?: boolean
  readonly cell: (row: T) => ComponentChildren
}

/** Returns a column of times. */
export function timeColumn<T>(title: string, at: (row: T) => string | null | undefined, isWide = false): Column<T> {
  return { title, isTime: true, ...(isWide && { class: 'wide' }), cell: (row) => <Time at={at(row)} /> }
}

interface TableProps<T> {
  /** The first one says what a row is. */
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  /** Draws the buttons of a row. */
  readonly actions?: (row: T) => ComponentChildren
}

export function Table<T extends { readonly id: number }>({ columns, rows, actions }: TableProps<T>) {
  return (
    <table>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.title} scope="col" class={column.class}>
              {column.title}
            </th>
          ))}
          {actions && (
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            {columns.map((column, at) => (
              <td key={column.title} class={classOf(column, at === 0)}>
                {column.cell(row)}
              </td>
            ))}
            {actions && <td class="do">{actions(row)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function classOf(column: Column<never>, isMain: boolean): string | undefined {
  return [isMain && 'main', column.class, column.isTime && 'nowrap'].filter(Boolean).join(' ') || undefined
}

interface ListingProps<T> extends Omit<TableProps<T>, 'rows'> {
  readonly of: Loading<{ readonly data: readonly T[]; readonly meta: Meta }>
  /** Replaces a table without rows. */
  readonly empty: ComponentChildren
  /** The parameter of the address that has the cursor. A second table of a page needs its own. */
  readonly parameter?: CursorParameter
}

/** One page of a listing, with links to the others. */
export function Listing<T extends { readonly id: number }>({ of, empty, parameter, ...table }: ListingProps<T>) {
  return (
    <Loaded of={of}>
      {({ data, meta }) =>
        data.length === 0 ? (
          empty
        ) : (
          <>
            <Table rows={data} {...table} />
            <Pager meta={meta} {...(parameter && { parameter })} />
          </>
        )
      }
    </Loaded>
  )
}

/**
 * Loads the page of a listing that the address names.
 *
 * @param keys What `load` depends on besides the page.
 */
export function usePage<T>(load: (query: PageQuery) => Promise<T>, keys: readonly unknown[] = []): Loading<T> {
  const [{ cursor }] = useQuery()
  return useLoad(() => load({ per_page: 50, ...(cursor && { cursor }) }), [...keys, cursor])
}
