import type { Parser } from 'csv-parse'
import { invalid, MailkeepError } from '../../errors.ts'
import { inputLimits } from '../../limits.ts'
import { exportMark } from './imported.ts'
import { longestRowBytes, pieceBytes, type Row, unreadable } from './row.ts'

/** What a column of an import is of a contact; every other column is an attribute of its name. */
const known = ['email', 'name', 'tags'] as const

/** Between names in one cell; a name that has one of them stands in a JSON array. */
const separators = /[;,]/

/**
 * CSV as RFC 4180 has it, in UTF-8, its first line naming the columns. An empty cell says nothing; `tags` is names
 * between semicolons or commas, or a JSON array.
 *
 * @returns The rows of each piece of the file together.
 * @throws MailkeepError `validation_failed` on the columns; `invalid_json`: from here on it is not UTF-8 or no CSV.
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
    max_record_size: longestRowBytes,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true, // such a row is refused, and the others are not
    skip_empty_lines: true,
    // Not through the parser's own stream: after an error it would give nothing of what it read before.
    on_record: (cells: string[], { empty_lines }) => {
      for (const cell of cells) breaks += cell.match(/\r\n|\n|\r/g)?.length ?? 0
      line = ++records + empty_lines + breaks // the parser takes a CRLF in quotes for two
      read.push({ cells, line })
      return null
    },
  })
  const taken = () => {
    const taken = read
    read = []
    return taken
  }
  const linesRead = () => records + parser.info.empty_lines
  parser.on('error', () => {}) // what is written tells of it
  let begun = 0
  try {
    for await (const text of textOf(source)) {
      const before = linesRead()
      const error = await new Promise((resolve) => parser.write(text, resolve))
      yield taken()
      if (error) throw error
      // The parser itself looks at what is in the cells, and not at how many there are.
      begun = linesRead() > before ? text.length : begun + text.length
      if (begun > longestRowBytes) throw Object.assign(new Error('too long'), { code: 'CSV_MAX_RECORD_SIZE' })
    }
    const error = await new Promise((resolve) => parser.end(resolve))
    yield taken()
    if (error) throw error
  } catch (error) {
    throw faultOf(error, line)
  }
}

async function* textOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      yield decoder.decode(chunk.subarray(at, at + pieceBytes), { stream: true })
    }
  }
  yield decoder.decode()
}

/** The parser's own messages quote the file. */
function faultOf(cause: unknown, line: number): unknown {
  const code = String((cause as { code?: unknown }).code)
  const what = code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8' : faults.get(code)
  if (what === undefined) return cause
  return new MailkeepError('invalid_json', `After line ${line} ${what}. What stands before was imported.`, { cause })
}

const openQuote = 'a quote is missing or too much'
const faults: ReadonlyMap<string, string> = new Map([
  ['CSV_INVALID_CLOSING_QUOTE', openQuote],
  ['CSV_QUOTE_NOT_CLOSED', openQuote],
  ['INVALID_OPENING_QUOTE', openQuote],
  ['CSV_MAX_RECORD_SIZE', `a row has more than ${longestRowBytes.toLocaleString('en')} bytes, or a quote is missing`],
])

function columnsOf(cells: readonly string[]): string[] {
  if (cells.length > inputLimits.fields) throw invalid('body', `At most ${inputLimits.fields} columns.`)
  const columns = cells.map((cell) => {
    const name = cell.trim()
    return known.find((each) => each === name.toLowerCase()) ?? name
  })
  const twice = columns.find((name, at) => columns.indexOf(name) < at)
  if (twice !== undefined) throw invalid('body', `Two columns have the name ${JSON.stringify(twice)}.`)
  if (columns.includes('')) throw invalid('body', 'A column has no name.')
  if (!columns.includes('email')) throw invalid('body', withoutEmail(columns))
  return columns
}

/** What is wrong with columns of which none is called email. Cells that may be personal data are not repeated. */
function withoutEmail(columns: readonly string[]): string {
  const rule = 'The first line must name the columns, separated by commas, and one of them must be email'
  const [first = ''] = columns
  const separator = columns.length === 1 ? otherSeparators.find(([character]) => first.includes(character)) : undefined
  if (separator) return `${rule}: they are separated by ${separator[1]}, so save it with commas.`
  if (columns.some((name) => name.includes('@')))
    return `${rule}: it has an e-mail address instead of the columns' names.`
  const shown = columns.slice(0, mostShownColumns).map((name) => JSON.stringify(name.slice(0, 50)))
  const more = columns.length > shown.length ? [`${columns.length - shown.length} more`] : []
  const found = [...shown, ...more].join(', ').replace(/, ([^,]*)$/, ' and $1')
  const meant = columns.find((name) => /^e-?mail[ _-]?(?:address)?$|^address$/i.test(name))
  const remedy = meant === undefined ? '' : `: rename ${JSON.stringify(meant)} to email`
  return `${rule}: found ${found}${remedy}.`
}

const mostShownColumns = 10

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
    // Of an export's row an empty cell is still one of an export.
    if (cell !== '' || name === exportMark) fields.push([name, name === 'tags' ? namesOf(cell) : cell])
  }
  return { line, bytes, input: Object.fromEntries(fields) } // entries: a column may be called __proto__
}

/** @returns the cell itself where it is no list of names: what it is then is refused. */
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

/** The names as one cell, as `readCsv` takes them. */
export function cellOfNames(names: readonly string[]): string {
  const plain = names.every((name) => !separators.test(name) && !name.startsWith('['))
  return plain ? names.join(';') : JSON.stringify(names)
}

/** RFC 4180, 2.5–2.7. */
export function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
