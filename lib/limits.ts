/** How much callers may send; texts are counted in code points. The body of a request over HTTP has its own limit. */
export const inputLimits = {
  /** A name of a tag, list, topic, contact, sender or attribute. */
  nameCharacters: 255,
  /** RFC 5321's path of 256, without its angle brackets. */
  emailCharacters: 254,
  descriptionCharacters: 1000,
  /** The value of an attribute. */
  attributeCharacters: 10_000,
  /** Of a contact. */
  attributes: 100,
  /** Of a contact's attributes in all: the UTF-8 bytes of their names and values. */
  attributeBytes: 256 * 1024,
  /** Of a contact's body: as many attributes to set as there can be, and many more to delete. */
  fields: 1000,
  /** Of a contact. */
  tags: 500,
  /** That a contact is on. */
  lists: 500,
  /** That a contact is subscribed to. */
  topics: 500,
  /** Of one filter, and of an endpoint's event types, repeats included. */
  values: 100,
  /** In UTF-16 code units. */
  urlCharacters: 2048,
  /** Of an event as it is sent. */
  eventBytes: 64 * 1024,
  pageRecords: 100,
  /**
   * Of a page of contacts: it ends early where they are large. The pages of other records need no such limit: by the
   * limits of their fields the largest, of topics, has less than 1 MiB, and 4 MiB if every character must be escaped.
   */
  pageBytes: 4 * 1024 * 1024,
  /** Of a portion of an export, which is made only when the one before it is taken. */
  exportBytes: 512 * 1024,
  /** Where nothing is said. */
  usualPageRecords: 25,
} as const
