import { invalid } from '../errors.ts'
import { readJson } from '../json.ts'
import { inputLimits } from '../limits.ts'
import type { AttributeChanges } from './schema.ts'

/** A contact's attributes. A Map, because an attribute may be called `__proto__`. */
export type Attributes = ReadonlyMap<string, string>

export const noAttributes: Attributes = new Map()

/** @param json The stored JSON text. */
export function readAttributes(json: string): Attributes {
  return new Map(Object.entries(readJson(json)))
}

export function writeAttributes(attributes: Attributes): string {
  return JSON.stringify(Object.fromEntries(attributes))
}

/**
 * Returns the attributes with the changes. A contact that was saved before the limit in bytes existed may exceed it. It
 * can still be changed if it does not grow.
 *
 * @throws MailkeepError `validation_failed` on `extra_attributes`: too many, or too large in total.
 */
export function changeAttributes(before: Attributes, changes: AttributeChanges): Attributes {
  const after = new Map(before)
  for (const [name, value] of changes) {
    if (value === null) after.delete(name)
    else after.set(name, value)
  }
  if (after.size > inputLimits.attributes) {
    throw invalid('extra_attributes', `A contact has at most ${inputLimits.attributes} attributes.`)
  }
  const bytes = bytesOf(after)
  if (bytes > inputLimits.attributeBytes && bytes > bytesOf(before)) {
    const kibibytes = inputLimits.attributeBytes / 1024
    throw invalid('extra_attributes', `A contact's attributes must have at most ${kibibytes} KiB in all.`)
  }
  return after
}

function bytesOf(attributes: Attributes): number {
  let bytes = 0
  for (const [name, value] of attributes) bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
  return bytes
}
