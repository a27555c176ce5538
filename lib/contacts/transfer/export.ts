import type { Context } from '../../context.ts'
import { inputLimits } from '../../limits.ts'
import { closedObject, parse } from '../../parse.ts'
import { type AbortInput, abortField } from '../../signal.ts'
import { listDocuments } from '../listing.ts'
import { type ContactFiltersInput, contactFrom, filterFields } from '../schema.ts'
import { csvHeader, csvLine } from './exported.ts'
import { type Format, formatField } from './format.ts'

/** Reads one page per query, so that other work can run between pages. */
const per_page = inputLimits.pageRecords

export interface ExportInput extends ContactFiltersInput, AbortInput {
  readonly format: Format
}

const ExportQuery = closedObject({ ...filterFields, ...formatField, ...abortField })

/**
 * Exports the client's contacts as a file, with the filters of `list`. NDJSON has one contact per line. CSV has the
 * fields as columns, attributes as JSON, and the names of tags, lists and topics.
 *
 * @returns Chunks of text, each of whole lines, read page by page.
 * @throws MailkeepError `validation_failed`, when the first chunk is read.
 */
export async function* exportContacts(ctx: Context, query: ExportInput): AsyncGenerator<string, void, undefined> {
  const { format, signal, ...filters } = parse(ExportQuery, query)
  const textOf = format === 'csv' ? csvOf : ndjsonOf
  let head = format === 'csv' ? csvHeader : ''
  let cursor: string | undefined
  do {
    signal?.throwIfAborted()
    const { data, meta } = await listDocuments(ctx, { ...filters, per_page, cursor }, inputLimits.exportBytes)
    yield head + textOf(data)
    head = ''
    cursor = meta.next_cursor ?? undefined
  } while (cursor !== undefined)
}

function ndjsonOf(documents: readonly string[]): string {
  return documents.map((document) => `${document}\n`).join('')
}

function csvOf(documents: readonly string[]): string {
  return documents.map((document) => csvLine(contactFrom({ document }))).join('')
}
