import { invalid } from '../../errors.ts'
import type { Contact } from '../schema.ts'

/** What has this field is a contact as an export has it. */
export const exportMark = 'extra_attributes' satisfies keyof Contact

/**
 * What an import makes of a row. Of a contact as an export has it, e-mail, name, tags and attributes are taken, and
 * fields that no contact has are attributes too; any other row is what `addContactToList` takes.
 *
 * @throws MailkeepError `validation_failed`: the row's contact is unsubscribed, and would no longer be.
 */
export function fieldsOf(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, exportMark)) return input
  const fields = new Map(Object.entries(input))
  if ((fields.get('unsubscribed_at') ?? null) !== null) {
    throw invalid('unsubscribed_at', 'Someone unsubscribed is not imported: that would subscribe them again.')
  }
  const attributes = attributesOf(fields.get(exportMark))
  for (const name of notTaken) fields.delete(name)
  if (fields.has('tags')) fields.set('tags', tagNamesOf(fields.get('tags')))
  return Object.fromEntries([...Object.entries(attributes), ...fields])
}

/** What an installation gives a contact itself. */
const notTaken: readonly (keyof Contact)[] = [
  'id',
  'uuid',
  exportMark,
  'unsubscribed_at',
  'unsubscribed_by_contact',
  'lists',
  'topics',
  'created_at',
]

/** An object in NDJSON, its text in CSV, where an empty cell is none. */
function attributesOf(value: unknown): object {
  if (value === '') return {}
  const attributes = typeof value === 'string' ? parsed(value) : value
  if (typeof attributes === 'object' && attributes !== null && !Array.isArray(attributes)) return attributes
  throw invalid(exportMark, 'This must be a JSON object.')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Of tags as contacts have them, the names. */
function tagNamesOf(tags: unknown): unknown {
  if (!Array.isArray(tags)) return tags
  return tags.map((tag) => (typeof tag === 'object' && tag !== null && 'name' in tag ? tag.name : tag))
}
