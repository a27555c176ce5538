/** Limits of inputs. Characters are counted in code points. The daemon also limits the size of a request body. */
export const inputLimits = {
  /** Maximum length of the name of a tag, list, topic, contact, sender or attribute. */
  nameCharacters: 255,
  /** RFC 5321 limits a path to 256 characters, including its angle brackets. */
  emailCharacters: 254,
  descriptionCharacters: 1000,
  /** Maximum length of an attribute's value. */
  attributeCharacters: 10_000,
  /** Maximum attributes of a contact. */
  attributes: 100,
  /** Maximum UTF-8 bytes of a contact's attributes in total, names and values. */
  attributeBytes: 256 * 1024,
  /** Maximum fields of a contact's body. Higher than `attributes`, because fields may also delete attributes. */
  fields: 1000,
  /** Maximum tags of a contact. */
  tags: 500,
  /** Maximum lists of a contact. */
  lists: 500,
  /** Maximum topics of a contact. */
  topics: 500,
  /** Maximum values of one filter, and event types of an endpoint. Duplicates count. */
  values: 100,
  /** Maximum attributes by which a client's contacts can be filtered. */
  indexedAttributes: 10,
  /** Maximum size of a segment's filters as JSON. */
  segmentBytes: 16 * 1024,
  /** Maximum length of a text on the pages for contacts. */
  pageTextCharacters: 500,
  /** In UTF-16 code units. */
  urlCharacters: 2048,
  /** Maximum size of an event's body. */
  eventBytes: 64 * 1024,
  /** Maximum records of a page. */
  pageRecords: 100,
  /**
   * Maximum size of a page of contacts. A page with large contacts ends early. Other records need no limit. The
   * largest are topics: a page of them has at most 1 MiB, or 4 MiB if every character is escaped.
   */
  pageBytes: 4 * 1024 * 1024,
  /** Maximum size of a chunk of an export. The next chunk is built after the previous one is read. */
  exportBytes: 512 * 1024,
  /** Maximum steps of a series of statistics. */
  seriesSteps: 1500,
  /** Default records of a page. */
  usualPageRecords: 25,
} as const

/**
 * Returns a limit as messages show it: `10,000`. Schemas need it while the program is loaded, so it does without `Intl`:
 * loading the data of `Intl` takes 9 ms and 8 MB.
 */
export function withCommas(limit: number): string {
  return String(limit).replace(/\B(?=(\d{3})+$)/g, ',')
}
