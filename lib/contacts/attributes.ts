import { invalid } from '../errors.ts'
import { inputLimits } from '../limits.ts'
import type { AttributeChanges } from './schema.ts'

/** A contact's attributes. A Map, because an attribute may be called `__proto__`. */
export type Attributes = ReadonlyMap<string, string>

export const noAttributes: Attributes = new Map()

/** @param json The stored JSON text. */
export function readAttributes(json: string): Attributes {
  return new Map(Object.entries(JSON.parse(json)))
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
  if (mayExceed(after) && bytesOf(after) > Math.max(inputLimits.attributeBytes, bytesOf(before))) {
    const kibibytes = inputLimits.attributeBytes / 1024
    throw invalid('extra_attributes', `A contact's attributes must have at most ${kibibytes} KiB in all.`)
  }
  return after
}

/** Checks a cheap upper bound first, which is enough for most contacts. A UTF-16 code unit needs at most 3 UTF-8 bytes. */
function mayExceed(attributes: Attributes): boolean {
  let units = 0
  for (const [name, value] of attributes) units += name.length + value.length
  return 3 * units > inputLimits.attributeBytes
}

function bytesOf(attributes: Attributes): number {
  let bytes = 0
  for (const [name, value] of attributes) bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
  return bytes
}
