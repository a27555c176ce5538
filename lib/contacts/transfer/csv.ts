import { TextDecoder } from 'node:util'
import type { Parser } from 'csv-parse'
import { MailkeepError } from '../../errors.ts'
import { inputLimits, withCommas } from '../../limits.ts'
import { parseJson } from '../../parse.ts'
import { type Column, type ColumnMap, columnsOf, type RowState } from './columns.ts'
import { maxBytesPerChunk, maxBytesPerRow, type Row, unreadable } from './row.ts'

/** Separate the names in one cell. If a name contains one of them, the cell is a JSON array. */
const separators = /[;,]/

/** Maximum names in a cell of tags, lists or topics. */
const maxNames = inputLimits.tags

/** How the rows of a file are read. */
export interface ReadOptions {
  readonly map: ColumnMap
  /** Whether an empty cell of tags means no tags, rather than no change. */
  readonly emptyTags: boolean
  /** Whether rows keep what the file has, for the file of refused rows. */
  readonly keepSource: boolean
  readonly isDryRun: boolean
}

/**
 * Parses CSV (RFC 4180) in UTF-8. The cells are separated by commas, semicolons or tabs: whatever the first line has
 * most of. The first line names the columns; a line `sep=;` may be before it. An empty cell changes nothing. `tags` is
 * names separated by semicolons or commas, or a JSON array.
 *
 * @returns The rows of each chunk of the file as one array.
 * @throws MailkeepError `validation_failed` on the columns; `invalid_json`: the rest is not UTF-8 or not CSV.
 */
export async function* readCsv(source: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Row[]> {
  let rowOf: ((record: CsvRecord) => Row) | undefined
  for await (const records of recordsOf(source, options)) {
    const rows: Row[] = []
    for (const record of records) {
      if (rowOf) rows.push(rowOf(record))
      else if (!namesDelimiter(record.cells)) rowOf = rowReader(record.cells, options)
    }
    yield rows
  }
}

/** Whether these are the cells of the line `sep=;`, by which programs tell Excel the delimiter. */
function namesDelimiter([first, second, ...more]: readonly string[]): boolean {
  return first?.toLowerCase() === 'sep=' && second === '' && more.length === 0
}

interface CsvRecord {
  readonly cells: readonly string[]
  readonly line: number
}

async function* recordsOf(source: AsyncIterable<Uint8Array>, { isDryRun }: ReadOptions): AsyncGenerator<CsvRecord[]> {
  const { Parser } = await import('csv-parse')
  const texts = textOf(source)
  let line = 0
  let head = ''
  try {
    head = await readHead(texts)
  } catch (error) {
    throw toImportError(error, { head, line, records: 0, isDryRun })
  }
  let read: CsvRecord[] = []
  let [records, breaks] = [0, 0]
  const parser: Parser = new Parser({
    bom: true,
    delimiter: delimiterOf(head),
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
    for await (const text of concatenate(head, texts)) {
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
    throw toImportError(error, { head, line, records, isDryRun })
  } finally {
    await texts.return(undefined) // `concatenate` may not have begun to read it
  }
}

/** Reads up to the end of the first line, which names the columns, or more. */
async function readHead(texts: AsyncGenerator<string>): Promise<string> {
  let head = ''
  while (head.length < maxBytesPerChunk && !/[^\r\n\ufeff][\r\n]/.test(head)) {
    const { done, value } = await texts.next()
    if (done) break
    head += value
  }
  return head
}

const delimiters = [',', ';', '\t'] as const

/** Returns the delimiter that the first line has most of, outside quotes. */
function delimiterOf(head: string): string {
  const line = /[^\r\n]*/.exec(head.replace(/^\ufeff?[\r\n]*/, ''))![0].replace(/"[^"]*"/g, '')
  const counts = delimiters.map((delimiter) => line.split(delimiter).length)
  return delimiters[counts.indexOf(Math.max(...counts))]!
}

async function* concatenate(head: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield head
  yield* rest
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

/** The number of the last line that was read, and how many records there were: the names of the columns and the rows. */
interface ReadSoFar {
  /** The beginning of the file. */
  readonly head: string
  readonly line: number
  readonly records: number
  readonly isDryRun: boolean
}

/** Converts an error of the parser or decoder. The parser's message is not used, because it quotes the file. */
function toImportError(cause: unknown, { head, line, records, isDryRun }: ReadSoFar): unknown {
  const code = String((cause as { code?: unknown } | undefined)?.code)
  const isJson = records === 0 && /^\ufeff?\s*\{/.test(head)
  const what =
    code === encodingError
      ? 'it is not UTF-8. Save it as UTF-8 (in Excel "CSV UTF-8")'
      : isJson && parserErrors.has(code)
        ? 'it is JSON, not CSV. Pass format=ndjson (on the command line --format ndjson)'
        : parserErrors.get(code)
  if (what === undefined) return cause
  // The decoder fails for a whole chunk, before the parser has found the first line.
  const isWholeFile = code === encodingError && records === 0
  const where = isWholeFile
    ? 'The file cannot be read:'
    : records === 0
      ? 'The first line cannot be read:'
      : `After line ${line}`
  const before = records > 1 && !isDryRun ? 'The rows before it were imported.' : 'No row was imported.'
  return new MailkeepError('invalid_json', `${where} ${what}. ${before}`, { cause })
}

const encodingError = 'ERR_ENCODING_INVALID_ENCODED_DATA'
const openQuote = 'a quote is missing or out of place'
const parserErrors: ReadonlyMap<string, string> = new Map([
  ['CSV_INVALID_CLOSING_QUOTE', openQuote],
  ['CSV_QUOTE_NOT_CLOSED', openQuote],
  ['INVALID_OPENING_QUOTE', openQuote],
  ['CSV_MAX_RECORD_SIZE', `a row has more than ${withCommas(maxBytesPerRow)} bytes, or a quote is missing`],
])

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** A cell that `defused` has marked. */
const marked = /^'+[=+\-@\t]/

/** Returns the function that converts the records after the first line. */
function rowReader(names: readonly string[], { map, emptyTags, keepSource }: ReadOptions): (record: CsvRecord) => Row {
  const columns = columnsOf(names, map)
  return ({ cells, line }) => {
    const bytes = cells.reduce((sum, cell) => sum + cell.length + 1, 0)
    const source = keepSource ? { source: cellsByColumn(names, cells) } : {}
    if (cells.length !== columns.length) {
      const [cellCount, columnCount] = [counted(cells.length, 'cell'), counted(columns.length, 'column')]
      const message = `This row has ${cellCount}, and the first line has ${columnCount}.`
      return { ...unreadable(line, message, bytes), ...source }
    }
    const fields: [string, unknown][] = []
    const state: Record<string, unknown> = {}
    let hasState = false
    for (const [at, column] of columns.entries()) {
      const cell = marked.test(cells[at]!) ? cells[at]!.slice(1) : cells[at]!
      if (column.kind === 'ignored' || (cell === '' && !isKeptEmpty(column, emptyTags))) continue
      const value = isNames(column) ? namesOf(cell) : cell
      if (column.kind === 'input') fields.push([column.name, value])
      else {
        state[column.name] = value
        hasState = true
      }
    }
    const input = Object.fromEntries(fields) // not assignment, because a column may be called __proto__
    return { line, bytes, input, ...(hasState && { state: state as RowState }), ...source }
  }
}

/** Returns null for a missing cell, and the cells beyond the columns as an array under the name `''`. */
function cellsByColumn(names: readonly string[], cells: readonly string[]): Record<string, unknown> {
  const byName = names.map((name, at): [string, unknown] => [name, cells[at] ?? null])
  const beyond = cells.slice(names.length)
  return Object.fromEntries(beyond.length > 0 ? [...byName, ['', beyond]] : byName)
}

/** Whether an empty cell says something. Otherwise it changes nothing. */
function isKeptEmpty(column: Column, emptyTags: boolean): boolean {
  if (column.kind === 'state') return column.name === 'subscribed_at'
  return column.kind === 'input' && column.name === 'tags' && emptyTags
}

function isNames(column: Column): boolean {
  if (column.kind === 'ignored') return false
  return column.name === 'tags' || (column.kind === 'state' && /^(?:lists|topics)$/.test(column.name))
}

/** Parses a cell of names. Returns invalid JSON unchanged, so that validation refuses it. */
function namesOf(cell: string): unknown {
  if (cell.trimStart().startsWith('[')) return parseJson(cell) ?? cell
  // Mailchimp quotes each name: "one","two"
  const isQuoted = /^\s*"/.test(cell)
  const names: string[] = []
  for (const [name, inQuotes] of cell.matchAll(isQuoted ? /"((?:[^"]|"")*)"/g : /[^;,]+/g)) {
    const text = inQuotes ?? name
    if (text.trim() !== '') names.push(text)
    if (names.length > maxNames) break // one name too many is enough to refuse the row
  }
  return names
}

/** Writes names as one cell that `readCsv` can parse. */
export function cellOfNames(names: readonly string[]): string {
  const plain = names.every((name) => !separators.test(name) && !/^[["]/.test(name))
  return plain ? names.join(';') : JSON.stringify(names)
}

/** Quotes a cell if necessary (RFC 4180, 2.5–2.7). @param special What a cell that is quoted has. */
export function quoted(cell: string, special = /[",\r\n]/): string {
  return special.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** Marks a cell that a spreadsheet would run as a formula. The import removes the apostrophe. */
export function defused(cell: string): string {
  return /^'*[=+\-@\t]/.test(cell) ? `'${cell}` : cell
}
