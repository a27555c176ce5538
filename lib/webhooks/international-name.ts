/**
 * What is accepted of internationalised host names. Node's URL parser follows the tables of its own version (Unicode 15
 * to 17 among those in use) and, in newer versions, takes any label that begins with `xn--` as it is. A URL must mean the
 * same in every process of a database, so this is stricter than any of them where they differ.
 */
import { domainToASCII } from 'node:url'
import { decodePunycode } from './punycode.ts'

/**
 * Characters that versions of Node map differently, or that only newer ones know: the capital sharp s, for example, and
 * accents that form no one letter with the letter before them, which older versions compose wrongly.
 */
const differing =
  /[\u0300-\u036f]|\u0897|[\u1acf-\u1add]|[\u1ae0-\u1aeb]|[\u04c0\u088f\u0c5c\u0cdc\u10a0-\u10c5\u1806\u1b4e\u1b4f\u1b7f\u1c89\u1c8a\u1e9e\u20c1\u2132\u2183\u2427-\u2429\u2b96\u31e4\u31e5\ua7cb-\ua7cf\ua7d2\ua7d4\ua7da-\ua7dc\ua7f1\ufbc3-\ufbd2\ufd90\ufd91\ufdc8-\ufdce]/u

/** Beyond the basic plane: emoji and Chinese characters of Unicode 15, and what stands for plain letters and digits. */
const rareCharacter =
  /(?![\u{1d400}-\u{1d7ff}\u{1f100}-\u{1f1ff}\u{1f300}-\u{1f6d2}\u{1f900}-\u{1f9ff}\u{20000}-\u{2a6df}\u{2a700}-\u{2b739}\u{2b740}-\u{2b81d}\u{2b820}-\u{2cea1}\u{2ceb0}-\u{2ebe0}\u{30000}-\u{3134a}])[\u{10000}-\u{10ffff}]/u

const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/

/** RFC 5893, 2, without its rarer classes: begins with a letter, ends with a letter or digit, one kind of digits. */
const rightToLeftLabel =
  /^(?=\p{L})(?!.*[0-9\u06f0-\u06f9].*[\u0660-\u0669])(?!.*[\u0660-\u0669].*[0-9\u06f0-\u06f9])(?:(?=[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff])[\p{L}\p{M}]|[0-9\u0660-\u0669\u06f0-\u06f9-])+(?<!-)$/u
const leftToRightLabel = /^\p{L}[\p{L}\p{M}\p{N}-]*(?<!-)$/u

/** @param text A host as it is written, or a label in Unicode. */
export function dependsOnVersion(text: string): boolean {
  return differing.test(text.normalize('NFC')) || rareCharacter.test(text)
}

/**
 * Tells whether the labels of a host, as the URL parser gives them, are a name that all versions of Node take.
 *
 * @param labels Lower-case ASCII.
 */
export function isSoundName(labels: readonly string[]): boolean {
  const decoded: string[] = []
  for (const label of labels) {
    const text = label.startsWith('xn--') ? decodeLabel(label) : label
    if (text === undefined) return false
    decoded.push(text)
  }
  // One label from right to left makes the rule apply to all of them: RFC 5893, 1.4.
  if (!decoded.some((text) => rightToLeft.test(text))) return true
  return decoded.every((text) => (rightToLeft.test(text) ? rightToLeftLabel : leftToRightLabel).test(text))
}

/**
 * Encoded again by Node, which checks what is written in Unicode, a label must be the same. That refuses `xn--a`, which is
 * not Punycode of a name, and `xn--localhost-`, which hides one.
 */
function decodeLabel(label: string): string | undefined {
  const text = decodePunycode(label.slice('xn--'.length))
  if (text === undefined || dependsOnVersion(text)) return undefined
  return domainToASCII(text) === label ? text : undefined
}
