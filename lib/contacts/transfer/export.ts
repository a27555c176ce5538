import type { Context } from '../../context.ts'
import { inputLimits } from '../../limits.ts'
import { closedObject, parse } from '../../parse.ts'
import { listDocuments } from '../listing.ts'
import { contactFrom, filterFields } from '../schema.ts'
import { csvHeader, csvLine } from './exported.ts'
import { formatField } from './format.ts'

/** Reads one page per query, so that other work can run between pages. */
const per_page = inputLimits.pageRecords

const ExportQuery = closedObject({ ...filterFields, ...formatField })

/**
 * Exports the client's contacts as a file, with the filters of the listing. It reads page by page. A row that is inserted
 * or deleted during the export makes it neither miss nor repeat another row.
 *
 * @param query The listing's filters, and `format`: `csv` or `ndjson`.
 * @returns Chunks of text, each of whole lines. The query is validated before the first chunk.
 * @throws MailkeepError `validation_failed`
 */
export async function* exportContacts(ctx: Context, query: unknown): AsyncGenerator<string, void, undefined> {
  const { format, ...filters } = parse(ExportQuery, query)
  const textOf = format === 'csv' ? csvOf : ndjsonOf
  let head = format === 'csv' ? csvHeader : ''
  let cursor: string | undefined
  do {
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
