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
  /** Of a contact's body: as many attributes to set as there can be, and many more to delete. */
  fields: 1000,
  /** Of a contact's body. */
  tags: 1000,
  /** Of one filter, and of an endpoint's event types, repeats included. */
  values: 100,
  /** In UTF-16 code units. */
  urlCharacters: 2048,
  /** Of an event as it is sent. */
  eventBytes: 64 * 1024,
  pageRecords: 100,
  /** Where nothing is said. */
  usualPageRecords: 25,
} as const
