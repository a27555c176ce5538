import { invalid } from '../../errors.ts'
import { type Contact, contactFields, inputFields } from '../schema.ts'

/** A row with this field comes from an export. */
export const exportMarkerField = 'extra_attributes' satisfies keyof Contact

/**
 * Converts a row to an input of `addContactToList`. Of an exported contact it takes e-mail, name, tags and attributes.
 * Unknown fields of an exported contact become attributes too. Other rows are returned unchanged.
 *
 * @throws MailkeepError `validation_failed`: the exported contact is unsubscribed. The import would subscribe it again.
 */
export function fieldsOf(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, exportMarkerField)) return input
  const fields = new Map(Object.entries(input))
  if ((fields.get('unsubscribed_at') ?? null) !== null) {
    throw invalid('unsubscribed_at', 'Someone unsubscribed is not imported: that would subscribe them again.')
  }
  const attributes = attributesOf(fields.get(exportMarkerField))
  for (const name of ignoredFields) fields.delete(name)
  if (fields.has('tags')) fields.set('tags', tagNamesOf(fields.get('tags')))
  return Object.fromEntries([...Object.entries(attributes), ...fields])
}

/** Fields of an exported contact that are not imported. */
const ignoredFields = Object.keys(contactFields).filter((name) => !inputFields.has(name))

/** Returns the attributes: an object in NDJSON, JSON text in CSV. An empty CSV cell means no attributes. */
function attributesOf(value: unknown): object {
  if (value === '') return {}
  const attributes = typeof value === 'string' ? parseJson(value) : value
  if (typeof attributes === 'object' && attributes !== null && !Array.isArray(attributes)) return attributes
  throw invalid(exportMarkerField, 'This must be a JSON object.')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the names of exported tags. */
function tagNamesOf(tags: unknown): unknown {
  if (!Array.isArray(tags)) return tags
  return tags.map((tag) => (typeof tag === 'object' && tag !== null && 'name' in tag ? tag.name : tag))
}
