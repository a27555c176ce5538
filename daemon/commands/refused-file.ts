import { open } from 'node:fs/promises'
import type { Format, ImportRowResult } from '../../lib/index.ts'
import { isRefusedColumn, quoted } from '../../lib/internal.ts'
import { CliError, fieldMessages, reasonOf } from '../cli-error.ts'

/** A file of refused rows, which can be corrected and imported again. */
interface RefusedFile {
  write(results: readonly ImportRowResult[]): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the file, in the format of the import. Each row has its line in the imported file and the reasons. After them, a
 * row of CSV has the cells beyond the columns, or one empty cell if some are missing. So it is refused until it is corrected.
 *
 * @throws CliError It cannot be written.
 */
export async function openRefusedFile(path: string, format: Format): Promise<RefusedFile> {
  const fail = (error: unknown): never => {
    throw new CliError(`${path} cannot be written: ${reasonOf(error)}.`)
  }
  const file = await open(path, 'w', 0o600).catch(fail)
  let hasHeader = false
  return {
    async write(results) {
      const refused = results.filter(({ status }) => status === 'refused')
      if (refused.length === 0) return
      const head = format === 'csv' && !hasHeader ? headerOf(refused[0]!) : ''
      hasHeader = true
      // `write` may write a part of the text only, as on a disk that becomes full.
      await file.appendFile(head + refused.map(format === 'csv' ? csvLine : ndjsonLine).join('')).catch(fail)
    },
    close: () => file.close(),
  }
}

/** Quotes names that have a delimiter. The import looks for the delimiter outside quotes. */
function headerOf({ row }: ImportRowResult): string {
  const names = [...Object.keys(row as object).filter(isKept), 'refused_line', 'refused_reason']
  return csvText(names, /[",;\t\r\n]/)
}

function csvLine({ row, line, errors = {} }: ImportRowResult): string {
  const byColumn = row as Record<string, string | null>
  const cells = Object.entries(byColumn).flatMap(([name, cell]) => (isKept(name) ? [cell ?? ''] : []))
  const missing = Object.values(byColumn).includes(null) ? [''] : []
  const { '': beyond = missing } = row as { readonly ''?: readonly string[] }
  return csvText([...cells, String(line), fieldMessages(errors), ...beyond])
}

/** Whether this is a column of the row. The imported file may be one of refused rows, with other lines and reasons. */
function isKept(name: string): boolean {
  return name !== '' && !isRefusedColumn(name)
}

function csvText(cells: readonly string[], special?: RegExp): string {
  return `${cells.map((cell) => quoted(cell, special)).join(',')}\r\n`
}

function ndjsonLine({ row, line, errors = {} }: ImportRowResult): string {
  const isObject = typeof row === 'object' && row !== null && !Array.isArray(row)
  const fields = isObject ? row : row === undefined ? {} : { row }
  const why = { refused_line: line, refused_reason: fieldMessages(errors) }
  try {
    return `${JSON.stringify({ ...fields, ...why })}\n`
  } catch {
    return `${JSON.stringify(why)}\n` // JSON.parse reads deeper values than JSON.stringify writes
  }
}
