import * as v from 'valibot'
import type { FieldErrors } from '../../errors.ts'
import type { RowState } from './columns.ts'

/** Formats of imports and exports: CSV (RFC 4180), or one JSON object per line (ndjson.org). */
const formats = ['csv', 'ndjson'] as const satisfies readonly Format[]
export type Format = 'csv' | 'ndjson'

export const formatField = { format: v.picklist(formats, 'This must be csv or ndjson.') }

/** A row of an import: an input for `addContactToList`, or the errors of a row that cannot be parsed. */
export type Row = {
  /** Number of the row's last line in the file, from 1. */
  readonly line: number
  /** Approximate size of the row in the file. */
  readonly bytes: number
  /** The row as the file has it: see `ImportRowResult`. */
  readonly source?: unknown
} & (
  | { readonly input: unknown; readonly state?: RowState | undefined; readonly errors?: undefined }
  | { readonly errors: FieldErrors }
)

/** A CSV file is parsed in chunks of this size, so that a row that is too long is detected early. */
export const maxBytesPerChunk = 64 * 1024

/** The same limit as for the body of a request that saves one contact. */
export const maxBytesPerRow = 1024 * 1024

export function unreadable(line: number, message: string, bytes = 0): Row {
  return { line, bytes, errors: { row: [message] } }
}
