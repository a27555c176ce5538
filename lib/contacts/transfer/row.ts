import type { FieldErrors } from '../../errors.ts'

/** A row of an import: what it says of a contact, as `addContactToList` takes it, or why it says nothing. */
export type Row = {
  /** Where it ends in the file, from 1. */
  readonly line: number
  /** Roughly, of what was read. */
  readonly bytes: number
} & ({ readonly input: unknown; readonly errors?: undefined } | { readonly errors: FieldErrors })

/** A file is read in pieces of so many bytes, so that a row that is too long is seen in time. */
export const pieceBytes = 64 * 1024

/** As much as a request that saves one contact may have. */
export const longestRowBytes = 1024 * 1024

export function unreadable(line: number, message: string, bytes = 0): Row {
  return { line, bytes, errors: { row: [message] } }
}

export function tooLong(line: number): Row {
  return unreadable(line, `A row has at most ${longestRowBytes.toLocaleString('en')} bytes.`)
}
