import * as v from 'valibot'
import type { Context } from '../../context.ts'
import { type FieldErrors, isMailkeepError } from '../../errors.ts'
import type { ImportCounts } from '../../inputs.ts'
import { getList } from '../../lists/operations.ts'
import { closedObject, parse } from '../../parse.ts'
import { addContactsToList, type BulkResult } from '../bulk.ts'
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
  await getList(ctx, listId)
  const report: ImportReport = { total: 0, created: 0, updated: 0, refused: 0, refused_rows: [] }
  const note = noterOf(report)
  const read = format === 'csv' ? readCsv : readNdjson
  for await (const rows of portionsOf(fieldsOfEach(read(bytesOf(source))))) {
    const inputs = rows.flatMap((row) => (row.errors ? [] : [row.input]))
    const results = await addContactsToList(ctx, listId, inputs)
    let next = 0
    for (const row of rows) note(row, row.errors ? undefined : results[next++])
    const { total, created, updated, refused } = report
    onProgress?.({ total, created, updated, refused })
  }
  return report
}

/** @returns what enters into the report what became of a row. */
function noterOf(report: ImportReport): (row: Row, result: BulkResult | undefined) => void {
  let told = 0
  return (row, result) => {
    report.total += 1
    if (result && !result.refused) {
      report[result.created ? 'created' : 'updated'] += 1
      return
    }
    report.refused += 1
    const refused = { line: row.line, errors: row.errors ?? result!.refused.errors! }
    told += JSON.stringify(refused).length
    if (told <= mostTold) report.refused_rows.push(refused)
  }
}

async function* portionsOf(rows: AsyncIterable<Row>): AsyncGenerator<Row[]> {
  let some: Row[] = []
  let bytes = 0
  let fault: { error: unknown } | undefined
  try {
    for await (const row of rows) {
      some.push(row)
      bytes += row.bytes
      if (some.length < portion.rows && bytes < portion.bytes) continue
      yield some
      some = []
      bytes = 0
    }
  } catch (error) {
    fault = { error }
  }
  if (some.length > 0) yield some // also those before what cannot be read
  if (fault) throw fault.error
}

async function* fieldsOfEach(rows: AsyncIterable<Row>): AsyncGenerator<Row> {
  for await (const row of rows) yield row.errors ? row : takeFields(row)
}

function takeFields({ input, ...place }: Exclude<Row, { errors: FieldErrors }>): Row {
  try {
    return { ...place, input: fieldsOf(input) }
  } catch (error) {
    if (!isMailkeepError(error, 'validation_failed')) throw error
    return { ...place, errors: error.errors! }
  }
}

async function* bytesOf(source: Chunks): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
}
