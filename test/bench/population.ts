/** The contacts of the measured databases: generated, and the same on every run. */

export const token = 'mk_bench_0123456789abcdefghijklmnopqrstuvwxyz'
export const encryptionKey = Buffer.alloc(32, 7).toString('base64')
/** Id of the client that owns all contacts. */
export const clientId = 1
export const listCount = 20
export const tagCount = 1000
/** Number of tags that light writes use. Each is on one contact in 50. */
export const lightTagCount = 50

const firstNames = [
  'Ada',
  'Bram',
  'Chloé',
  'Dmitri',
  'Emma',
  'Femke',
  'Grace',
  'Hugo',
  'Ines',
  'Jonas',
  'Kofi',
  'Lotte',
]
const lastNames = ['Jansen', 'Müller', 'Lovelace', 'de Vries', 'Okafor', 'Novak', 'Rossi', 'Silva', 'Tanaka', 'Weber']
const domains = ['example.org', 'example.com', 'mail.example.net']

/** @param i Starts at 0; the contact's id is i + 1. */
export function emailOf(i: number): string {
  return `c${i.toString(36)}.${i % 977}@${domains[i % domains.length]}`
}

/** Includes a rare name now and then, for the searches. */
export function nameOf(i: number): string {
  if (i % 50_000 === 777) return 'Zebulon Quixote'
  if (i % 50_000 === 778) return '100% "O\'Neil" _under\\score*'
  if (i % 5_000 === 779) return 'ŁUKASZ Ødegård'
  return `${firstNames[i % firstNames.length]} ${lastNames[Math.floor(i / firstNames.length) % lastNames.length]} ${i % 1013}`
}

/** Returns one common tag and one other. */
export function tagsOf(i: number): [number, number] {
  return [1 + (i % lightTagCount), 1 + lightTagCount + (spread(i) % (tagCount - lightTagCount))]
}

/** Puts every other contact on list 1. */
export function listOf(i: number): number {
  return i % 2 === 0 ? 1 : 2 + (spread(i) % (listCount - 1))
}

/** Every third contact has the only topic of its list; topic and list have the same id. */
export function hasTopic(i: number): boolean {
  return i % 3 === 0
}

/** Attributes as JSON: three cities, and every fourth contact with the other plan. */
export function attributesOf(i: number): string {
  const city = ['Rotterdam', 'Lisbon', 'Accra'][i % 3]
  return `{"city":"${city}","plan":"${i % 4 === 0 ? 'premium' : 'basic'}"}`
}

export function isUnsubscribed(i: number): boolean {
  return i % 20 === 19
}

export const tagName = (id: number) => `tag ${id}`

/** Scatters neighbours by Knuth's multiplicative hash. */
function spread(i: number): number {
  return Math.imul(i, 2654435761) >>> 8
}
