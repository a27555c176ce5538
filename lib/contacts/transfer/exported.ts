/** Formats a contact for a CSV export. */
import { type Contact, contactFields } from '../schema.ts'
import { cellOfNames, defused, quoted } from './csv.ts'

const columns = Object.keys(contactFields) as (keyof Contact)[]

export const csvHeader = `${columns.join(',')}\r\n`

/**
 * Returns a contact as a line of CSV. Attributes are a JSON object; tags, lists and topics are their names.
 *
 * @param isRaw Whether cells that look like formulas stay as they are.
 */
export function csvLine(contact: Contact, isRaw: boolean): string {
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
