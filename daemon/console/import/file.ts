/** Looks into a file before it is imported. The server alone decides what its rows mean. */

export type Format = 'csv' | 'ndjson'

export interface Preview {
  readonly format: Format
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

const previewBytes = 64 * 1024
const previewRows = 5

export function formatOf(file: File): Format {
  return /\.(?:ndjson|jsonl|json)$/i.test(file.name) ? 'ndjson' : 'csv'
}

/** Returns the columns and the first rows. */
export async function previewOf(file: File): Promise<Preview> {
  const format = formatOf(file)
  const text = (await file.slice(0, previewBytes).text()).replace(/^\uFEFF/, '')
  if (format === 'ndjson') return previewOfRecords(text)
  const csv = text.replace(/^sep=[,;\t](?:\r\n?|\n)/i, '') // by such a line, programs tell Excel the delimiter
  const [columns = [], ...rows] = cellsOf(csv, delimiterOf(csv), previewRows + 1)
  return { format, columns, rows }
}

function previewOfRecords(text: string): Preview {
  const records = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, previewRows)
    .map(parseRecord)
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))]
  const rows = records.map((record) => columns.map((name) => cellOf(record[name])))
  return { format: 'ndjson', columns, rows }
}

function parseRecord(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : { '': value }
  } catch {
    return { '': line }
  }
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function delimiterOf(text: string): string {
  const header = (text.split(/[\r\n]/, 1)[0] ?? '').replace(/"[^"]*"/g, '')
  const count = (delimiter: string) => header.split(delimiter).length
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best))
}

/** Returns the cells of the first rows: RFC 4180, with any delimiter. */
function cellsOf(text: string, delimiter: string, maxRows: number): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  const cell = new RegExp(`("(?:[^"]|"")*"|[^${delimiter}\\r\\n]*)(${delimiter}|\\r\\n?|\\n|$)`, 'gy')
  for (let match = cell.exec(text); match && rows.length < maxRows; match = cell.exec(text)) {
    const [all, raw = '', end] = match
    row.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw)
    if (end === delimiter) continue
    if (row.length > 1 || row[0] !== '') rows.push(row)
    row = []
    if (all === '') break
  }
  return rows
}

/** Counts the lines, as an estimate of the rows. They end with LF, CRLF or CR. */
export async function countLines(file: File): Promise<number> {
  let [feeds, returns] = [0, 0]
  for await (const chunk of chunksOf(file)) {
    for (const byte of chunk) {
      if (byte === 10) feeds++
      if (byte === 13) returns++
    }
  }
  return Math.max(1, feeds, returns)
}

/** A row that is longer has a quote that is not closed. */
const maxRowLength = 1_000_000

/** Returns the rows that have the wanted lines, by the number of that line. Lines are counted from 1. */
export async function rowsAt(file: File, wanted: ReadonlySet<number>): Promise<Map<number, string>> {
  const found = new Map<number, string>()
  const decoder = new TextDecoder()
  const isCsv = formatOf(file) === 'csv'
  let number = 0
  let rest = ''
  let row = { text: '', first: 1, isOpen: false }
  const take = (line: string) => {
    number++
    row.text = row.first === number ? line : `${row.text}\n${line}`
    const hasOddQuotes = line.split('"').length % 2 === 0
    // A cell in quotes may continue on the next line.
    if (isCsv && hasOddQuotes && (row.isOpen || /(^|[,;\t])"/.test(line))) row.isOpen = !row.isOpen
    if (row.isOpen && row.text.length < maxRowLength) return
    for (let at = row.first; at <= number; at++) if (wanted.has(at)) found.set(at, row.text)
    row = { text: '', first: number + 1, isOpen: false }
  }
  for await (const chunk of chunksOf(file)) {
    // A chunk may end between the two characters of a line end.
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(isCsv ? /\r\n|\n|\r(?!$)/ : '\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
  for (const line of rest.split(/\r$/)) take(line)
  if (row.isOpen) for (let at = row.first; at <= number; at++) if (wanted.has(at)) found.set(at, row.text)
  return found
}

async function* chunksOf(file: File): AsyncGenerator<Uint8Array> {
  const reader = file.stream().getReader()
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    if (value) yield value
  }
}
