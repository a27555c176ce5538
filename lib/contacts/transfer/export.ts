import * as v from 'valibot'
import { type AbortInput, abortField } from '../../abort.ts'
import type { Context } from '../../context.ts'
import { closedObject, parse, QueryBoolean } from '../../parse.ts'
import { pagesOfDocuments } from '../listing.ts'
import { type Contact, type ContactFiltersInput, contactFields, contactFrom, filterFields } from '../schema.ts'
import { cellOfNames, defused, quoted } from './csv.ts'
import { type Format, formatField } from './row.ts'

const columns = Object.keys(contactFields) as (keyof Contact)[]

const csvHeader = `${columns.join(',')}\r\n`

export interface ExportInput extends ContactFiltersInput, AbortInput {
  readonly format: Format
  /** In CSV, leaves cells that look like formulas as they are; default false. */
  readonly raw?: boolean | '1' | '0' | 'true' | 'false' | undefined
}

const ExportQuery = closedObject({
  ...filterFields,
  ...formatField,
  raw: v.optional(QueryBoolean, false),
  ...abortField,
})

/**
 * Exports the client's contacts as a file, with the filters of `list`. NDJSON has one contact per line. CSV has the
 * fields as columns, attributes as JSON, and the names of tags, lists and topics. Cells that begin with `=`, `+`, `-`,
 * `@` or a tab get a leading apostrophe, so that spreadsheets do not run them; `import` removes it.
 *
 * @returns Chunks of text, each of whole lines, read page by page.
 * @throws MailkeepError `validation_failed`, when the first chunk is read.
 */
export async function* exportContacts(ctx: Context, query: ExportInput): AsyncGenerator<string, void, undefined> {
  const { format, raw, signal, ...filters } = parse(ExportQuery, query)
  const textOf = format === 'csv' ? csvOf(raw) : ndjsonOf
  let head = format === 'csv' ? csvHeader : ''
  for await (const documents of pagesOfDocuments(ctx, filters, signal)) {
    yield head + textOf(documents)
    head = ''
  }
}

function ndjsonOf(documents: readonly string[]): string {
  return documents.map((document) => `${document}\n`).join('')
}

function csvOf(isRaw: boolean) {
  return (documents: readonly string[]) =>
    documents.map((document) => csvLine(contactFrom({ document }), isRaw)).join('')
}

/**
 * Returns a contact as a line of CSV. Attributes are a JSON object; tags, lists and topics are their names.
 *
 * @param isRaw Whether cells that look like formulas stay as they are.
 */
function csvLine(contact: Contact, isRaw: boolean): string {
  const cells = columns.map((name) => (name === 'topics' ? topicsCell(contact) : cellOf(contact[name])))
  return `${cells.map((cell) => quoted(isRaw ? cell : defused(cell))).join(',')}\r\n`
}

function cellOf(value: Contact[keyof Contact]): string {
  if (value === null) return ''
  if (Array.isArray(value)) return cellOfNames(value.map(({ name }) => name))
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Names alone do not say whose topics they are when the contact is on several lists. */
function topicsCell({ lists, topics }: Contact): string {
  if (lists.length <= 1 || topics.length === 0) return cellOf(topics)
  const listNames = new Map(lists.map(({ id, name }) => [id, name]))
  return JSON.stringify(topics.map(({ list_id, name }) => ({ list: listNames.get(list_id), topic: name })))
}
