import { isUtf8 } from 'node:buffer'
import { longestRowBytes, type Row, tooLong, unreadable } from './row.ts'

const lineFeed = 0x0a
const byteOrderMark = '\ufeff'

/** Newline-delimited JSON (ndjson.org): one value a line; empty lines, and those of white space, are none. */
export async function* readNdjson(source: AsyncIterable<Uint8Array>): AsyncGenerator<Row> {
  let line = 0
  for await (const bytes of linesOf(source)) {
    line += 1
    const row = bytes === undefined ? tooLong(line) : rowOf(bytes, line)
    if (row) yield row
  }
}

/** @returns undefined for a line without anything. */
function rowOf(bytes: Buffer, line: number): Row | undefined {
  if (!isUtf8(bytes)) return unreadable(line, 'This line is not UTF-8.', bytes.length)
  const text = bytes.toString('utf8')
  const json = line === 1 && text.startsWith(byteOrderMark) ? text.slice(1) : text
  if (json.trim() === '') return undefined
  try {
    return { line, bytes: bytes.length, input: JSON.parse(json) }
  } catch {
    // The parser's own message quotes the line.
    return unreadable(line, 'This line is not JSON.', bytes.length)
  }
}

/** @returns each line's bytes; undefined for one that is too long, which is read past and not kept. */
async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer | undefined> {
  let begun: Uint8Array[] = []
  let bytes = 0
  const line = () => (bytes > longestRowBytes ? undefined : Buffer.concat(begun))
  const take = (part: Uint8Array) => {
    bytes += part.length
    if (bytes <= longestRowBytes) begun.push(part)
    else begun = []
  }
  for await (const chunk of source) {
    let from = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      take(chunk.subarray(from, end))
      yield line()
      begun = []
      bytes = 0
      from = end + 1
    }
    if (from < chunk.length) take(chunk.subarray(from))
  }
  if (bytes > 0) yield line()
}
