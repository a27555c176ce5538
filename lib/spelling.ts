/** Spellings of a text that count as the same. Without packages, because `mailkeep/ses` has none. */
import { domainToASCII, domainToUnicode } from 'node:url'

/** Folds case for comparing names, addresses and searches: NFC, then simple lower case, in every script. */
export function fold(text: string): string {
  const composed = text.normalize('NFC')
  const lower = composed.toLowerCase()
  // Only for these two characters does the full lower case of JavaScript differ from the simple one.
  return /[\u0130\u03a3]/.test(composed) ? simpleLowerCase(composed) : lower
}

function simpleLowerCase(text: string): string {
  let folded = ''
  for (const character of text) folded += character === '\u0130' ? 'i' : character.toLowerCase()
  return folded
}

/** Encodes the domain in Punycode, the only form that the DNS and Amazon SES accept. An invalid domain stays. */
export function withAsciiDomain(email: string): string {
  // The versions 20 and 22 of Node would encode this letter as "ss", but its small form as itself.
  return withDomain(email, (domain) => domainToASCII(domain.replaceAll('ẞ', 'ß')))
}

/** Decodes the domain from Punycode. An invalid domain stays. */
export function withUnicodeDomain(email: string): string {
  return withDomain(email, domainToUnicode)
}

function withDomain(email: string, convert: (domain: string) => string): string {
  const at = email.lastIndexOf('@') + 1
  return email.slice(0, at) + (convert(email.slice(at)) || email.slice(at))
}
