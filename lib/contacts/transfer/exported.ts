/** Formats a contact for a CSV export. */
import { type Contact, contactFields } from '../schema.ts'
import { cellOfNames, quoted } from './csv.ts'

const columns = Object.keys(contactFields) as (keyof Contact)[]

export const csvHeader = `${columns.join(',')}\r\n`

/** Returns a contact as a line of CSV. Attributes are a JSON object; tags, lists and topics are their names. */
export function csvLine(contact: Contact): string {
  return `${columns.map((name) => quoted(cellOf(contact[name]))).join(',')}\r\n`
}

function cellOf(value: Contact[keyof Contact]): string {
  if (value === null) return ''
  if (Array.isArray(value)) return cellOfNames(value.map(({ name }) => name))
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
