import * as v from 'valibot'
import type { Context } from '../../context.ts'
import { type FieldErrors, invalid, isMailkeepError, MailkeepError } from '../../errors.ts'
import type { ImportCounts } from '../../inputs.ts'
import { getList } from '../../lists/operations.ts'
import { closedObject, parse } from '../../parse.ts'
import { TurnLimit } from '../../time.ts'
import { addEntries, type Entry, entryOf } from '../bulk.ts'
import type { BulkResult } from '../merge.ts'
import { readCsv } from './csv.ts'
import { formatField } from './format.ts'
import { fieldsOf } from './imported.ts'
import { readNdjson } from './ndjson.ts'
import type { Row } from './row.ts'

/** A row that was not imported. */
export interface RefusedRow {
  /** Where it ends in the file, from 1. */
  line: number
  /** As an error of `addToList` has them; `row` where it cannot be read. */
  errors: FieldErrors
}

/** What became of an import. */
export interface ImportReport {
  /** Rows that were read; empty lines are none. */
  total: number
  /** Contacts that are new. */
  created: number
  /** Rows whose contact was there already. */
  updated: number
  refused: number
  /** The first of those that were refused: as many as a megabyte holds. */
  refused_rows: RefusedRow[]
}

const ImportOptions = closedObject({
  ...formatField,
  onProgress: v.optional(
    v.custom<(counts: ImportCounts) => void>((value) => typeof value === 'function', 'This must be a function.'),
  ),
})

/** What a source may give: bytes, or text. */
export type Chunks = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>

/** Of what is told of refused rows, in characters of JSON. */
const mostTold = 1024 * 1024

/** Saved together: the next are read only when these are durable. */
const portion = { rows: 1000, bytes: 2 * 1024 * 1024 }

/**
 * Puts the contacts of a file on a list: each row as `addContactToList` does. A row that breaks a rule leaves nothing
 * behind, and the others are saved. What was saved before an error stays; doing it again changes nothing.
 *
 * @param source A stream of bytes or text, of any length: it is read no faster than its rows are saved.
 * @param options `{ format, onProgress? }`: `csv` or `ndjson`; a function that gets the counts after each batch.
 * @throws MailkeepError `not_found`: no such list; `invalid_json`: no UTF-8, or no CSV; `validation_failed`: the columns
 *   or the format.
 */
export async function importContacts(
  ctx: Context,
  listId: number,
  source: Chunks,
  options: unknown,
): Promise<ImportReport> {
  const { format, onProgress } = parse(ImportOptions, options)
  if (!isIterable(source)) throw invalid('source', 'source must be a stream, or an iterable of text or bytes.')
  await getList(ctx, listId)
  const report: ImportReport = { total: 0, created: 0, updated: 0, refused: 0, refused_rows: [] }
  const note = noterOf(report)
  const read = format === 'csv' ? readCsv : readNdjson
  for await (const rows of portionsOf(read(bytesOf(source)))) {
    await getList(ctx, listId) // where no row can be saved, too
    const results = await addEntries(
      ctx,
      listId,
      rows.map(({ entry }) => entry),
    )
    for (const [at, { line }] of rows.entries()) note(line, results[at]!)
    const { total, created, updated, refused } = report
    onProgress?.({ total, created, updated, refused })
  }
  return report
}

/** A row, validated at once: what was read of one that is refused is kept no longer. */
interface ImportRow {
  readonly line: number
  readonly entry: Entry
}

function importRowOf(row: Row): ImportRow {
  const { line } = row
  if (row.errors) return { line, entry: { refused: unreadableRow(row.errors) } }
  try {
    return { line, entry: entryOf(fieldsOf(row.input)) }
  } catch (error) {
    if (!isMailkeepError(error, 'validation_failed')) throw error
    return { line, entry: { refused: error } }
  }
}

function unreadableRow(errors: FieldErrors): MailkeepError {
  return new MailkeepError('validation_failed', 'The row cannot be read.', { errors })
}

function isIterable(source: unknown): boolean {
  return typeof source === 'object' && source !== null && (Symbol.asyncIterator in source || Symbol.iterator in source)
}

/** @returns what enters into the report what became of a row. */
function noterOf(report: ImportReport): (line: number, result: BulkResult) => void {
  let told = 0
  return (line, result) => {
    report.total += 1
    if (!result.refused) {
      report[result.created ? 'created' : 'updated'] += 1
      return
    }
    report.refused += 1
    if (told > mostTold) return
    const refused = { line, errors: result.refused.errors! }
    told += JSON.stringify(refused).length
    if (told <= mostTold) report.refused_rows.push(refused)
  }
}

/** After so long other work gets a turn: a piece of a file can hold thousands of rows. */
const maxTurnMs = 10

async function* portionsOf(pieces: AsyncIterable<Row[]>): AsyncGenerator<ImportRow[]> {
  let some: ImportRow[] = []
  let bytes = 0
  let fault: { error: unknown } | undefined
  const turn = new TurnLimit(maxTurnMs)
  try {
    for await (const rows of pieces) {
      for (const row of rows) {
        some.push(importRowOf(row))
        bytes += row.bytes
        if (turn.isOver()) await turn.next()
        if (some.length < portion.rows && bytes < portion.bytes) continue
        yield some
        some = []
        bytes = 0
      }
      if (turn.isOver()) await turn.next()
    }
  } catch (error) {
    fault = { error }
  }
  if (some.length > 0) yield some // also those before what cannot be read
  if (fault) throw fault.error
}

async function* bytesOf(source: Chunks): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
}
