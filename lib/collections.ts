/** Groups items by a key. Groups and items keep their order. `Map.groupBy` needs Node 21. */
export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** The same fields, each of which may be absent or undefined. */
export type Optional<T> = { readonly [Name in keyof T]?: T[Name] | undefined }

/** Returns the fields that are not undefined. */
export function defined<T extends object>(fields: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}

/** Returns the values without repeats, in their order. */
export function distinct<T>(values: Iterable<T>): T[] {
  return [...new Set(values)]
}

/**
 * Round robin: returns the items in their order, beginning with the first one for which `isAfter` is true.
 *
 * @param isAfter Whether the item comes after the one that was served last.
 */
export function rotated<T>(items: readonly T[], isAfter: (item: T) => boolean): T[] {
  const first = items.findIndex(isAfter)
  return first <= 0 ? [...items] : [...items.slice(first), ...items.slice(0, first)]
}
