import { EventEmitter } from 'node:events'
import { types } from 'node:util'
import { untilAborted } from '../../abort.ts'
import { type AuditedChange, auditOnce } from '../../audit/operations.ts'
import type { Context } from '../../context.ts'
import { type FieldErrors, invalid, MailkeepError } from '../../errors.ts'
import { recordImport } from '../../imports/operations.ts'
import { getList } from '../../lists/operations.ts'
import { parse } from '../../parse.ts'
import { misuse } from '../../storage/transaction.ts'
import { TurnLimit } from '../../time.ts'
import { inTime } from '../../time-limit.ts'
import { addEntries } from '../bulk.ts'
import type { Entry } from '../bulk-merge.ts'
import { requireMayConfirm } from '../double-opt-in.ts'
import { readCsv } from './csv.ts'
import { dryRunner } from './dry-run.ts'
import { refuseUtf16 } from './encoding.ts'
import {
  type Chunks,
  type ImportInput,
  ImportOptions,
  type ImportReport,
  type ImportRowResult,
  type ParsedOptions,
} from './import-schema.ts'
import { readNdjson } from './ndjson.ts'
import type { Row } from './row.ts'
import { importedEntry, type RowOptions } from './row-state.ts'
import { importSteps, type RowOutcome } from './steps.ts'

/** Maximum size of the report's refused rows, in characters of JSON. */
const maxRefusedRowsLength = 1024 * 1024

/** Number of new contacts after which the statistics are updated, and again after ten times as many and at the end. */
const minCreatedForAnalyze = 1000

/** The next batch is read only after the previous one is committed. */
const maxRowsReadPerBatch = 1000
const maxBytesPerBatch = 2 * 1024 * 1024

/**
 * Adds the contacts of a file to a list, each row as `addToList` does. Invalid rows are refused, and the others are
 * saved. After an error the rows saved before it stay, and the import can be repeated safely.
 *
 * People who have unsubscribed elsewhere, by a column `unsubscribed_at` or `status`, are stored as unsubscribed, and
 * raise no event. No one is subscribed again. A file of `export` restores names, tags, attributes, lists and topics by
 * their names, the subscription and `created_at`; not ids. Lists and topics that are missing are created.
 *
 * @param listId Null: the contacts get only the lists that an export names.
 * @param source A stream of bytes or text, of any length, read with back-pressure. NDJSON: each line is an input of
 *   `addToList`. CSV: the first line names the columns `email`, `name`, `tags`, and attributes, in any case, or as
 *   Mailchimp, Brevo, listmonk and Mailcoach name them. Tags are names separated by semicolons or commas, or a JSON
 *   array. An empty cell changes nothing.
 * @param options `map` names the columns. `dry_run` only checks the rows. `signal` stops the import, also while it waits
 *   for the source. The rows saved before stay.
 * @throws MailkeepError `not_found`: no such list; `invalid_json`: not UTF-8, or not CSV; `validation_failed`: wrong
 *   columns or options, or the list has double opt-in and no public URL is configured; `forbidden`: only an admin may
 *   confirm.
 */
export async function importContacts(
  ctx: Context,
  listId: number | null,
  source: Chunks,
  options: ImportInput,
): Promise<ImportReport> {
  listenForErrors(source)
  const parsed = parse(ImportOptions, options, 'options')
  if (!isIterable(source)) throw wrongSource()
  if (ctx.transaction) throw misuse(withinTransaction)
  if (listId !== null) await getList(ctx, listId)
  requireMayConfirm(ctx, parsed.confirmed)
  const { dry_run, mode, onStart } = parsed
  const progress: Counts = { total: 0, created: 0, updated: 0, skipped: 0, refused: 0 }
  const recorder = await recordImport(ctx, { list_id: listId, dry_run }, progress)
  try {
    await onStart?.(recorder.id)
    const change: AuditedChange =
      listId === null ? { type: 'import.created', targetId: recorder.id } : { type: 'list.imported', targetId: listId }
    const refused_rows = await load(ctx, { listId, change }, source, parsed, progress)
    await recorder.finish()
    const { skipped, ...counts } = progress
    return { ...counts, ...(mode === 'skip' && { skipped }), ...(dry_run && { dry_run }), refused_rows }
  } catch (error) {
    // The error of the import is more useful than that of recording it.
    await recorder.finish(error, parsed.signal).catch(() => {})
    throw error
  } finally {
    if (!dry_run && progress.created >= minCreatedForAnalyze) await analyzeContacts(ctx)
  }
}

/**
 * Updates the database's statistics. Until autovacuum does it, PostgreSQL assumes few contacts. Each batch then reads all
 * contacts of the client to find its addresses, and joins that suit few take half a minute for 100,000.
 */
async function analyzeContacts({ storage }: Context): Promise<void> {
  const { analyzeContacts } = storage.dialect
  if (!analyzeContacts) return
  await storage.transaction(async (tx) => tx.run(analyzeContacts)).catch(() => {}) // the contacts are saved
}

/** Its transaction would last as long as the source, and delay all other writes to a SQLite file. */
const withinTransaction =
  'An import cannot run in withIdempotencyKey, because it waits for its source. Import outside: it can be repeated safely.'

type Counts = { total: number; created: number; updated: number; skipped: number; refused: number }

async function load(
  ctx: Context,
  { listId, change }: { readonly listId: number | null; readonly change: AuditedChange },
  source: Chunks,
  { format, map, mode, status, confirmed, dry_run, signal, onProgress, onResults }: ParsedOptions,
  progress: Counts,
): Promise<ImportReport['refused_rows']> {
  const { refusedRows, add } = reporterOf(progress)
  const begin = () => importSteps(mode)
  const onSave = auditOnce(ctx, change)
  const importing: Context = { ...ctx, caller: { ...ctx.caller, source: 'import' } }
  const convert = (row: Row) => importRowOf(importing, row, { isUnsubscribed: status === 'unsubscribed', confirmed })
  const list = listId === null ? undefined : await getList(ctx, listId)
  const check = dryRunner(ctx, list, mode)
  const read = format === 'csv' ? readCsv : readNdjson
  const options = { map, emptyTags: mode === 'replace_tags', keepSource: onResults !== undefined, isDryRun: dry_run }
  const bytes = refuseUtf16(bytesOf(untilAborted(source, signal)))
  let analyzeAt = minCreatedForAnalyze
  for await (const rows of batchesOf(read(bytes, options), convert)) {
    if (!dry_run && progress.created >= analyzeAt) {
      await analyzeContacts(ctx)
      analyzeAt = 10 * progress.created
    }
    if (listId !== null) await getList(ctx, listId) // also when every row of the batch is refused
    const entries = rows.map(({ entry }) => entry)
    const results: RowOutcome[] = []
    let failure: { error: unknown } | undefined
    try {
      if (dry_run) results.push(...(await check(entries)))
      else await addEntries(importing, listId ?? undefined, entries, { signal, begin, onSave, results })
    } catch (error) {
      failure = { error }
    }
    // An error leaves the transactions before it, so their rows have results too.
    for (const [at, outcome] of results.entries()) add(rows[at]!.line, outcome)
    try {
      await onResults?.(results.map((outcome, at) => rowResult(rows[at]!, outcome)))
    } catch (error) {
      failure ??= { error } // the error of the import is more useful than that of reporting its rows
    }
    if (failure) throw failure.error
    const { total, created, updated, refused } = progress
    await onProgress?.({ total, created, updated, refused })
  }
  return refusedRows
}

/** A validated row. Rows are validated while reading, so that the content of refused rows is not kept in memory. */
interface ImportRow {
  readonly line: number
  readonly entry: Entry
  /** The row as the file has it, if it was refused and results are wanted. */
  readonly source: unknown
}

function importRowOf(ctx: Context, row: Row, options: RowOptions): ImportRow {
  const { line, source } = row
  if (row.errors) return { line, source, entry: { refused: unreadableRow(row.errors) } }
  return { line, source, entry: importedEntry(ctx, row.input, row.state, options) }
}

function rowResult({ line, source }: ImportRow, outcome: RowOutcome): ImportRowResult {
  if (outcome.refused) {
    const errors = outcome.refused.errors!
    return { line, status: 'refused', errors, ...(source !== undefined && { row: source }) }
  }
  return { line, status: statusOf(outcome), ...(outcome.id > 0 && { id: outcome.id }) }
}

function statusOf(outcome: RowOutcome): 'created' | 'updated' | 'skipped' | 'refused' {
  if (outcome.refused) return 'refused'
  if (outcome.skipped) return 'skipped'
  return outcome.created ? 'created' : 'updated'
}

function unreadableRow(errors: FieldErrors): MailkeepError {
  return new MailkeepError('validation_failed', 'The row cannot be read.', { errors })
}

/** A Buffer is refused too: it is an iterable of numbers. */
function isIterable(source: unknown): boolean {
  if (typeof source !== 'object' || source === null || ArrayBuffer.isView(source)) return false
  return Symbol.asyncIterator in source || Symbol.iterator in source
}

/**
 * A stream may fail before it is read, for example when its file is missing. Without a listener that would end the
 * process. The error is thrown when the stream is read.
 */
function listenForErrors(source: unknown): void {
  if (source instanceof EventEmitter) source.on('error', () => {})
}

function wrongSource() {
  return invalid('source', 'source must be a stream, or an iterable of text or bytes, such as [text].')
}

/** Returns a function that counts a row's result, and the first refused rows. */
function reporterOf(progress: Counts) {
  const refusedRows: ImportReport['refused_rows'] = []
  let refusedRowsLength = 0
  const add = (line: number, outcome: RowOutcome) => {
    progress.total += 1
    progress[statusOf(outcome)] += 1
    if (!outcome.refused || refusedRowsLength > maxRefusedRowsLength) return
    const refused = { line, errors: outcome.refused.errors! }
    refusedRowsLength += JSON.stringify(refused).length
    if (refusedRowsLength <= maxRefusedRowsLength) refusedRows.push(refused)
  }
  return { refusedRows, add }
}

/** A chunk of a file can contain thousands of rows. After this time the import yields to other work. */
const maxTurnMs = 10

/** Rows that have arrived are saved after this time, also when the source pauses before the batch is full. */
const maxBatchAgeMs = 1000

async function* batchesOf(chunks: AsyncIterable<Row[]>, convert: (row: Row) => ImportRow): AsyncGenerator<ImportRow[]> {
  let batch: ImportRow[] = []
  let bytes = 0
  let dueMs = 0
  let failure: { error: unknown } | undefined
  const turn = new TurnLimit(maxTurnMs)
  const reader = chunks[Symbol.asyncIterator]()
  let isReading = false
  try {
    for (;;) {
      const next = reader.next()
      next.catch(() => {}) // if the batch before fails, nothing waits for this read any more
      isReading = true
      if (batch.length > 0 && !(await settlesBy(next, dueMs))) {
        yield batch
        batch = []
        bytes = 0
      }
      const { done, value: rows } = await next
      isReading = false
      if (done) break
      for (const row of rows) {
        if (batch.length === 0) dueMs = performance.now() + maxBatchAgeMs
        batch.push(convert(row))
        bytes += row.bytes
        if (turn.isOver()) await turn.next()
        if (batch.length < maxRowsReadPerBatch && bytes < maxBytesPerBatch) continue
        yield batch
        batch = []
        bytes = 0
      }
      if (turn.isOver()) await turn.next()
    }
  } catch (error) {
    failure = { error }
  } finally {
    // Not awaited during a read: a source that is stuck would never answer.
    const returned = Promise.resolve(reader.return?.()).catch(() => {})
    if (!isReading) await returned
  }
  if (batch.length > 0) yield batch // also the rows before an error
  if (failure) throw failure.error
}

/** Returns whether a promise settles before this time of `performance.now()`. */
async function settlesBy(promise: Promise<unknown>, dueMs: number): Promise<boolean> {
  const waitMs = dueMs - performance.now()
  if (waitMs <= 0) return false
  return (await inTime(Promise.allSettled([promise]), waitMs, () => undefined)) !== undefined
}

async function* bytesOf(source: Chunks): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    if (typeof chunk === 'string') yield Buffer.from(chunk)
    else if (types.isUint8Array(chunk)) yield chunk
    else throw wrongSource()
  }
}
