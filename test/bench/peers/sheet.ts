/** The results as tables for the terminal and for test/README.md, and as panels of a plot. */
import { barsOf, type Panel } from '../bars.ts'
import { median } from '../summary.ts'

export interface Sheet {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly { readonly name: string; readonly cells: readonly Cell[] }[]
}

export interface Cell {
  readonly text: string
  /** One value a round. */
  readonly values: readonly number[]
}

/** Returns the median, and the smallest and largest value if there are several rounds. */
export function cellOf(values: readonly number[], format: (value: number) => string): Cell {
  const spread = values.length > 1 ? ` (${format(Math.min(...values))}–${format(Math.max(...values))})` : ''
  return { text: format(median(values)) + spread, values }
}

export function markdownOf({ columns, rows }: Sheet): string {
  const lines = [
    ['', ...columns],
    ['---', ...columns.map(() => '---')],
    ...rows.map(({ name, cells }) => [name, ...cells.map(({ text }) => text)]),
  ]
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n')
}

/** Draws each column as a panel. */
export function plotOfSheets(sheets: readonly Sheet[]): string {
  const panels = sheets.flatMap(({ columns, rows }) =>
    columns.map((title, at): Panel => {
      const measured = rows.filter(({ cells }) => cells[at]!.values.length > 0)
      const bars = measured.map(({ name, cells }) => ({
        name,
        value: median(cells[at]!.values),
        label: cells[at]!.text,
      }))
      return { title, bars }
    }),
  )
  return barsOf(panels)
}
