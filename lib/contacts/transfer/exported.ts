/** How a contact stands in an export, and how an import takes it back. */
import { invalid } from '../../errors.ts'
import type { Contact } from '../schema.ts'
import { cellOfNames, quoted } from './csv.ts'

const columns = [
  'id',
  'uuid',
  'name',
  'email',
  'extra_attributes',
  'unsubscribed_at',
  'unsubscribed_by_contact',
  'tags',
  'lists',
  'topics',
  'created_at',
] as const satisfies readonly (keyof Contact)[]

export const csvHeader = `${columns.join(',')}\r\n`

/** A contact as a line of CSV: its attributes as a JSON object; of tags, lists and topics the names. */
export function csvLine(contact: Contact): string {
  return `${columns.map((name) => quoted(cellOf(contact[name]))).join(',')}\r\n`
}

function cellOf(value: Contact[(typeof columns)[number]]): string {
  if (value === null) return ''
  if (Array.isArray(value)) return cellOfNames(value.map(({ name }) => name))
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/**
 * What an import makes of a row: one that has `extra_attributes` is of an export, and of that its e-mail, name, tags and
 * attributes are taken; any other is what `addContactToList` takes.
 *
 * @throws MailkeepError `validation_failed`: the row's contact is unsubscribed, and would no longer be.
 */
export function fieldsOf(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || !('extra_attributes' in input)) return input
  const { email, name, tags, extra_attributes, unsubscribed_at } = input as Record<string, unknown>
  if (unsubscribed_at !== undefined && unsubscribed_at !== null) {
    throw invalid('unsubscribed_at', 'Someone unsubscribed is not imported: that would subscribe them again.')
  }
  return Object.fromEntries([
    ...Object.entries(attributesOf(extra_attributes)),
    ...Object.entries({ email, name, tags: namesOf(tags) }).filter(([, value]) => value !== undefined),
  ])
}

/** An object in NDJSON, its text in CSV. */
function attributesOf(value: unknown): object {
  const attributes = typeof value === 'string' ? parsed(value) : value
  if (typeof attributes === 'object' && attributes !== null && !Array.isArray(attributes)) return attributes
  throw invalid('extra_attributes', 'This must be a JSON object.')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Of tags as contacts have them, the names. */
function namesOf(tags: unknown): unknown {
  if (!Array.isArray(tags)) return tags
  return tags.map((tag) => (typeof tag === 'object' && tag !== null && 'name' in tag ? tag.name : tag))
}
