import type { Context } from '../../context.ts'
import { inputLimits } from '../../limits.ts'
import { closedObject, parse } from '../../parse.ts'
import { listDocuments } from '../listing.ts'
import { contactFrom, filterFields } from '../schema.ts'
import { csvHeader, csvLine } from './exported.ts'
import { formatField } from './format.ts'

/** Read at once: others are let in between. */
const per_page = inputLimits.pageRecords

const ExportQuery = closedObject({ ...filterFields, ...formatField })

/**
 * The client's contacts as a file: all that the listing has with the same filters, page by page, so that a row deleted
 * or inserted meanwhile makes it neither miss nor repeat any other.
 *
 * @param query The listing's filters, and `format`: `csv` or `ndjson`.
 * @returns Pieces of text, of whole lines. The first comes when the query is known to be good.
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
