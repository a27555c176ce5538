/** Internationalised domains of addresses, in both forms. Without packages, because `mailkeep/ses` has none. */
import { domainToASCII, domainToUnicode } from 'node:url'

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
