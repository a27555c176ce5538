import type { Parser } from 'csv-parse'
import { invalid, MailkeepError } from '../../errors.ts'
import { inputLimits } from '../../limits.ts'
import { inputFields } from '../schema.ts'
import { exportMarkerField } from './imported.ts'
import { maxBytesPerChunk, maxBytesPerRow, type Row, unreadable } from './row.ts'

/** Separate the names in one cell. If a name contains one of them, the cell is a JSON array. */
const separators = /[;,]/

/**
 * Parses CSV (RFC 4180) in UTF-8. The first line names the columns. An empty cell changes nothing. `tags` is names
 * separated by semicolons or commas, or a JSON array.
 *
 * @returns The rows of each chunk of the file as one array.
 * @throws MailkeepError `validation_failed` on the columns; `invalid_json`: the rest is not UTF-8 or not CSV.
 */
export async function* readCsv(source: AsyncIterable<Uint8Array>): AsyncGenerator<Row[]> {
  let columns: readonly string[] | undefined
  for await (const records of recordsOf(source)) {
    const rows: Row[] = []
    for (const { cells, line } of records) {
      if (columns) rows.push(rowOf(columns, cells, line))
      else columns = columnsOf(cells)
    }
    yield rows
  }
}

interface CsvRecord {
  readonly cells: readonly string[]
  readonly line: number
}

async function* recordsOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRecord[]> {
  const { Parser } = await import('csv-parse')
  let read: CsvRecord[] = []
  let [records, breaks, line] = [0, 0, 0]
  const parser: Parser = new Parser({
    bom: true,
    max_record_size: maxBytesPerRow,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true, // so that only such rows are refused
    skip_empty_lines: true,
    // Not read through the parser's stream: after an error it would drop the records that it has already parsed.
    on_record: (cells: string[], { empty_lines }) => {
      for (const cell of cells) breaks += cell.match(/\r\n|\n|\r/g)?.length ?? 0
      line = ++records + empty_lines + breaks // not the parser's line count, which counts a quoted CRLF twice
      read.push({ cells, line })
      return null
    },
  })
  const takeRecords = () => {
    const records = read
    read = []
    return records
  }
  const linesRead = () => records + parser.info.empty_lines
  parser.on('error', () => {}) // the callbacks of `write` and `end` report errors
  let openRecordLength = 0
  try {
    for await (const text of textOf(source)) {
      const before = linesRead()
      const error = await new Promise((resolve) => parser.write(text, resolve))
      yield takeRecords()
      if (error) throw error
      // `max_record_size` limits the content of the cells, but not their number.
      openRecordLength = linesRead() > before ? text.length : openRecordLength + text.length
      if (openRecordLength > maxBytesPerRow) throw Object.assign(new Error('too long'), { code: 'CSV_MAX_RECORD_SIZE' })
    }
    const error = await new Promise((resolve) => parser.end(resolve))
    yield takeRecords()
    if (error) throw error
  } catch (error) {
    throw toImportError(error, line)
  }
}

async function* textOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; at += maxBytesPerChunk) {
      yield decoder.decode(chunk.subarray(at, at + maxBytesPerChunk), { stream: true })
    }
  }
  yield decoder.decode()
}

/** Converts an error of the parser or decoder. The parser's message is not used, because it quotes the file. */
function toImportError(cause: unknown, line: number): unknown {
  const code = String((cause as { code?: unknown }).code)
  const what = code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8' : parserErrors.get(code)
  if (what === undefined) return cause
  return new MailkeepError('invalid_json', `After line ${line} ${what}. The rows before it were imported.`, { cause })
}

const openQuote = 'a quote is missing or too much'
const parserErrors: ReadonlyMap<string, string> = new Map([
  ['CSV_INVALID_CLOSING_QUOTE', openQuote],
  ['CSV_QUOTE_NOT_CLOSED', openQuote],
  ['INVALID_OPENING_QUOTE', openQuote],
  ['CSV_MAX_RECORD_SIZE', `a row has more than ${maxBytesPerRow.toLocaleString('en')} bytes, or a quote is missing`],
])

function columnsOf(cells: readonly string[]): string[] {
  if (cells.length > inputLimits.fields) throw invalid('body', `At most ${inputLimits.fields} columns.`)
  const columns = cells.map((cell) => {
    const name = cell.trim()
    return inputFields.has(name.toLowerCase()) ? name.toLowerCase() : name // other columns are attributes
  })
  const twice = columns.find((name, at) => columns.indexOf(name) < at)
  if (twice !== undefined) throw invalid('body', `Two columns have the name ${JSON.stringify(twice)}.`)
  if (columns.includes('')) throw invalid('body', 'A column has no name.')
  if (!columns.includes('email')) throw invalid('body', missingEmailMessage(columns))
  return columns
}

/** Returns the error for a missing email column. The message omits cells that may be personal data. */
function missingEmailMessage(columns: readonly string[]): string {
  const rule = 'The first line must name the columns, separated by commas, and one of them must be email'
  const [first = ''] = columns
  const separator = columns.length === 1 ? otherSeparators.find(([character]) => first.includes(character)) : undefined
  if (separator) return `${rule}: they are separated by ${separator[1]}, so save it with commas.`
  if (columns.some((name) => name.includes('@')))
    return `${rule}: it has an e-mail address instead of the columns' names.`
  const shown = columns.slice(0, maxShownColumns).map((name) => JSON.stringify(name.slice(0, 50)))
  const more = columns.length > shown.length ? [`${columns.length - shown.length} more`] : []
  const found = [...shown, ...more].join(', ').replace(/, ([^,]*)$/, ' and $1')
  const emailLike = columns.find((name) => /^e-?mail[ _-]?(?:address)?$|^address$/i.test(name))
  const remedy = emailLike === undefined ? '' : `: rename ${JSON.stringify(emailLike)} to email`
  return `${rule}: found ${found}${remedy}.`
}

const maxShownColumns = 10

const otherSeparators = [
  [';', 'semicolons'],
  ['\t', 'tabs'],
  ['|', 'bars'],
] as const

function rowOf(columns: readonly string[], cells: readonly string[], line: number): Row {
  const bytes = cells.reduce((sum, cell) => sum + cell.length + 1, 0)
  if (cells.length !== columns.length) {
    return unreadable(line, `This row has ${cells.length} cells, and there are ${columns.length} columns.`, bytes)
  }
  const fields: [string, unknown][] = []
  for (const [at, name] of columns.entries()) {
    const cell = cells[at]!
    // Keep an empty marker cell, because it identifies the row of an export.
    if (cell !== '' || name === exportMarkerField) fields.push([name, name === 'tags' ? namesOf(cell) : cell])
  }
  return { line, bytes, input: Object.fromEntries(fields) } // not assignment, because a column may be called __proto__
}

/** Parses a cell of names. Returns invalid JSON unchanged, so that validation refuses it. */
function namesOf(cell: string): unknown {
  if (cell.trimStart().startsWith('[')) {
    try {
      return JSON.parse(cell)
    } catch {
      return cell
    }
  }
  return cell.split(separators).filter((name) => name.trim() !== '')
}

/** Writes names as one cell that `readCsv` can parse. */
export function cellOfNames(names: readonly string[]): string {
  const plain = names.every((name) => !separators.test(name) && !name.startsWith('['))
  return plain ? names.join(';') : JSON.stringify(names)
}

/** Quotes a cell if necessary (RFC 4180, 2.5–2.7). */
export function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
