import * as v from 'valibot'
import { audit } from '../../audit/operations.ts'
import type { Caller, Context, Tx } from '../../context.ts'
import { type FieldErrors, invalid, isMailkeepError, MailkeepError } from '../../errors.ts'
import { getList } from '../../lists/operations.ts'
import { closedObject, parse, QueryBoolean } from '../../parse.ts'
import { type AbortInput, abortField, untilAborted } from '../../signal.ts'
import { TurnLimit } from '../../time.ts'
import { addEntries, type Entry, entryOf } from '../bulk.ts'
import { requireMayConfirm } from '../double-opt-in.ts'
import { type BulkResult, isRefused } from '../merge.ts'
import { readCsv } from './csv.ts'
import { type Format, formatField } from './format.ts'
import { fieldsOf } from './imported.ts'
import { readNdjson } from './ndjson.ts'
import type { Row } from './row.ts'

/** A row that was not imported. */
export interface RefusedRow {
  /** Number of the row's last line in the file, from 1. */
  line: number
  /** Messages by field, as in errors of `addToList`. The field is `row` when the row cannot be parsed. */
  errors: FieldErrors
}

/** The result of an import. */
export interface ImportReport {
  /** Number of rows read. Empty lines do not count. */
  total: number
  /** Number of new contacts. */
  created: number
  /** Number of rows whose contact already existed. */
  updated: number
  refused: number
  /** The first refused rows, up to 1 MiB of JSON. */
  refused_rows: RefusedRow[]
}

export interface ImportInput extends AbortInput {
  readonly format: Format
  /**
   * Whether the contacts have confirmed elsewhere that they join the list, so that double opt-in is skipped. Only for
   * admins. Default false.
   */
  readonly confirmed?: boolean | '1' | '0' | 'true' | 'false' | undefined
  /** Called after each batch of rows, with the counts so far. */
  readonly onProgress?: ((counts: ImportCounts) => void) | undefined
}

/** Progress of an import. */
export interface ImportCounts {
  /** Rows read so far. */
  readonly total: number
  readonly created: number
  readonly updated: number
  readonly refused: number
}

const ImportOptions = closedObject({
  ...formatField,
  ...abortField,
  confirmed: v.optional(QueryBoolean, false),
  onProgress: v.optional(
    v.custom<(counts: ImportCounts) => void>((value) => typeof value === 'function', 'This must be a function.'),
  ),
})

/** A source of bytes or text. */
export type Chunks = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>

/** Maximum size of the report's refused rows, in characters of JSON. */
const maxRefusedRowsLength = 1024 * 1024

/** The next batch is read only after the previous one is committed. */
const maxRowsPerBatch = 1000
const maxBytesPerBatch = 2 * 1024 * 1024

/**
 * Adds the contacts of a file to a list, each row as `addToList` does. Invalid rows are refused, and the others are
 * saved. After an error the rows saved before it stay, and the import can be repeated safely.
 *
 * @param source A stream of bytes or text, of any length, read with back-pressure. NDJSON: each line is an input of
 *   `addToList`. CSV: the first line names the columns `email`, `name`, `tags`, and attributes. Tags are names separated
 *   by semicolons or commas, or a JSON array. An empty cell changes nothing.
 * @param options `signal` stops the import, also while it waits for the source. The rows saved before stay.
 * @throws MailkeepError `not_found`: no such list; `invalid_json`: not UTF-8, or not CSV; `validation_failed`: wrong
 *   columns or format, or the list has double opt-in and no public URL is configured; `forbidden`: only an admin may
 *   confirm.
 */
export async function importContacts(
  ctx: Context,
  listId: number,
  source: Chunks,
  options: ImportInput,
): Promise<ImportReport> {
  const { format, onProgress, signal, confirmed } = parse(ImportOptions, options)
  requireMayConfirm(ctx, confirmed)
  if (!isIterable(source)) throw invalid('source', 'source must be a stream, or an iterable of text or bytes.')
  await getList(ctx, listId)
  const report: ImportReport = { total: 0, created: 0, updated: 0, refused: 0, refused_rows: [] }
  const addToReport = reporterOf(report)
  const auditOnce = importAuditor(ctx.caller, listId)
  const importing: Context = { ...ctx, caller: { ...ctx.caller, source: 'import' } }
  const read = format === 'csv' ? readCsv : readNdjson
  for await (const rows of batchesOf(read(bytesOf(untilAborted(source, signal))), (row) =>
    importRowOf(importing, row, confirmed),
  )) {
    await getList(ctx, listId) // also when every row of the batch is refused
    const results = await addEntries(
      importing,
      listId,
      rows.map(({ entry }) => entry),
      { signal, onSave: auditOnce },
    )
    for (const [at, { line }] of rows.entries()) addToReport(line, results[at]!)
    const { total, created, updated, refused } = report
    onProgress?.({ total, created, updated, refused })
  }
  return report
}

/** Returns a function that records the import in the audit log, with the first batch that is committed. */
function importAuditor(caller: Caller, listId: number): (tx: Tx) => Promise<void> {
  let isRecorded = false
  return async (tx) => {
    if (isRecorded) return
    await audit({ ...tx, caller }, 'list.imported', listId)
    tx.transaction.afterCommit(() => {
      isRecorded = true
    })
  }
}

/** A validated row. Rows are validated while reading, so that the content of refused rows is not kept in memory. */
interface ImportRow {
  readonly line: number
  readonly entry: Entry
}

function importRowOf(ctx: Context, row: Row, confirmed: boolean): ImportRow {
  const { line } = row
  if (row.errors) return { line, entry: { refused: unreadableRow(row.errors) } }
  try {
    const entry = entryOf(ctx, fieldsOf(row.input))
    return { line, entry: confirmed && !isRefused(entry) ? { ...entry, confirmed } : entry }
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

/** Returns a function that adds a row's result to the report. */
function reporterOf(report: ImportReport): (line: number, result: BulkResult) => void {
  let refusedRowsLength = 0
  return (line, result) => {
    report.total += 1
    if (!result.refused) {
      report[result.created ? 'created' : 'updated'] += 1
      return
    }
    report.refused += 1
    if (refusedRowsLength > maxRefusedRowsLength) return
    const refused = { line, errors: result.refused.errors! }
    refusedRowsLength += JSON.stringify(refused).length
    if (refusedRowsLength <= maxRefusedRowsLength) report.refused_rows.push(refused)
  }
}

/** A chunk of a file can contain thousands of rows. After this time the import yields to other work. */
const maxTurnMs = 10

async function* batchesOf(
  chunks: AsyncIterable<Row[]>,
  importRowOf: (row: Row) => ImportRow,
): AsyncGenerator<ImportRow[]> {
  let batch: ImportRow[] = []
  let bytes = 0
  let failure: { error: unknown } | undefined
  const turn = new TurnLimit(maxTurnMs)
  try {
    for await (const rows of chunks) {
      for (const row of rows) {
        batch.push(importRowOf(row))
        bytes += row.bytes
        if (turn.isOver()) await turn.next()
        if (batch.length < maxRowsPerBatch && bytes < maxBytesPerBatch) continue
        yield batch
        batch = []
        bytes = 0
      }
      if (turn.isOver()) await turn.next()
    }
  } catch (error) {
    failure = { error }
  }
  if (batch.length > 0) yield batch // also the rows before an error
  if (failure) throw failure.error
}

async function* bytesOf(source: Chunks): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
}
