import { hash } from 'node:crypto'
import * as v from 'valibot'
import { distinct } from '../collections.ts'
import type { ContactTexts } from '../contacts/schema.ts'
import { inputLimits } from '../limits.ts'
import { atMost, closedObject, Text } from '../parse.ts'
import { described, type RecordFields } from '../record.ts'

/** The attributes by which contacts can be filtered. */
export interface AttributeSettings {
  /** Names of the indexed attributes. */
  indexed: string[]
}

export interface AttributeSettingsInput {
  /** At most 10 names. They replace the indexed attributes. */
  readonly indexed: readonly string[]
}

export const attributeSettingsFields: RecordFields<AttributeSettings> = {
  indexed: described(v.array(v.string()), 'Names of the attributes by which contacts can be filtered.'),
}

/** Fields of a contact that are never attributes. */
const ownFields: Record<'email' | 'tags' | keyof ContactTexts, true> = { email: true, name: true, tags: true }

const IndexedName = v.pipe(
  Text,
  v.minLength(1, 'This must not be empty.'),
  atMost(inputLimits.nameCharacters),
  v.check(
    (name) => !Object.hasOwn(ownFields, name),
    'This is a field of the contact, not an attribute: filter by email, search or tags.',
  ),
)

export const AttributeSettingsChange = closedObject({
  indexed: v.pipe(
    v.array(v.unknown(), 'This must be an array of attribute names.'),
    v.maxLength(inputLimits.indexedAttributes, `At most ${inputLimits.indexedAttributes} attributes can be indexed.`),
    v.array(IndexedName),
    v.transform(distinct),
  ),
})

/** PostgreSQL's indexes take at most 2,700 bytes, so longer values are indexed by their hash. */
const maxIndexedBytes = 255

/** Returns the text under which a value is indexed. Its first character keeps values and hashes apart. */
export function valueKeyOf(value: string): string {
  return Buffer.byteLength(value) <= maxIndexedBytes ? `=${value}` : `#${hash('sha256', value)}`
}
