import { isUtf8 } from 'node:buffer'
import { ByteCollector } from '../../byte-collector.ts'
import { readJson } from '../../json.ts'
import { withCommas } from '../../limits.ts'
import { fieldReader } from './columns.ts'
import type { ReadOptions } from './csv.ts'
import { maxBytesPerRow, type Row, unreadable } from './row.ts'

const lineFeed = 0x0a
/** The bytes that are parsed before other work may run. They can be 2,000 lines that are not JSON, which take 40 ms. */
const maxBytesPerRead = 4096
const byteOrderMark = '\ufeff'
const tooLong = `A row has at most ${withCommas(maxBytesPerRow)} bytes.`

/**
 * Parses newline-delimited JSON (ndjson.org). Skips empty lines and lines of white space.
 *
 * @returns The rows of each chunk of the file as one array. A promise per line would cost more than parsing the line.
 */
export async function* readNdjson(
  source: AsyncIterable<Uint8Array>,
  { map, keepSource }: ReadOptions,
): AsyncGenerator<Row[]> {
  const read = fieldReader(map)
  const lines = new Lines((row) => {
    if (row.errors) return keepSource ? row : { ...row, source: undefined }
    return { ...row, ...read(row.input), ...(keepSource && { source: row.input }) }
  })
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; at += maxBytesPerRead) {
      yield lines.read(chunk.subarray(at, at + maxBytesPerRead)) // also without rows: the reader may let other work run
    }
  }
  yield lines.end()
}

/** Splits bytes into lines. A line that is too long is skipped and not kept in memory. */
class Lines {
  #line = 0
  #openLine = new ByteCollector()
  #bytes = 0
  readonly #convert: (row: Row) => Row

  constructor(convert: (row: Row) => Row) {
    this.#convert = convert
  }

  /** @returns The rows that end in these bytes. */
  read(bytes: Uint8Array): Row[] {
    const rows: Row[] = []
    let from = 0
    for (;;) {
      // A file may consist of line feeds, and a search for each takes 40 times as long.
      while (bytes[from] === lineFeed && this.#bytes === 0) {
        this.#line++
        from++
      }
      const end = bytes.indexOf(lineFeed, from)
      if (end < 0) break
      this.#endLine(bytes.subarray(from, end), rows)
      from = end + 1
    }
    if (from < bytes.length) this.#take(bytes.subarray(from))
    return rows
  }

  /** @returns The last row, if no line feed ends it. */
  end(): Row[] {
    const rows: Row[] = []
    if (this.#bytes > 0) this.#endLine(new Uint8Array(), rows)
    return rows
  }

  #take(part: Uint8Array): void {
    this.#bytes += part.length
    if (this.#bytes <= maxBytesPerRow) this.#openLine.add(part)
    else this.#openLine = new ByteCollector()
  }

  #endLine(part: Uint8Array, rows: Row[]): void {
    this.#take(part)
    this.#line++
    const isTooLong = this.#bytes > maxBytesPerRow
    const row = isTooLong ? unreadable(this.#line, tooLong) : rowOf(this.#openLine.bytes(), this.#line)
    if (row) rows.push(this.#convert(row))
    this.#openLine = new ByteCollector()
    this.#bytes = 0
  }
}

/** @returns undefined for a blank line. */
function rowOf(bytes: Buffer, line: number): Row | undefined {
  if (bytes.every(isBlank)) return undefined
  const text = bytes.toString('utf8')
  if (!isUtf8(bytes)) return { ...unreadable(line, 'This line is not UTF-8.', bytes.length), source: text }
  const json = line === 1 && text.startsWith(byteOrderMark) ? text.slice(1) : text
  if (json.trim() === '') return undefined
  try {
    return { line, bytes: bytes.length, input: readJson(json) }
  } catch {
    // The parser's message is not used, because it quotes the line.
    return { ...unreadable(line, 'This line is not JSON.', bytes.length), source: json }
  }
}

/** @returns Whether a byte is ASCII white space. */
function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
}
