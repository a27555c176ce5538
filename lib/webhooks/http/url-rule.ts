import { isIPv4 } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'
import { inputLimits } from '../../limits.ts'
import { addressProblem } from './address.ts'

export interface GuardSettings {
  /** For development: allows http, any port and private hosts. All other rules still apply. */
  readonly allowPrivate: boolean
  /** Ports that may be called; https without a port is 443. */
  readonly ports: readonly number[]
}

const maxHostNameLength = 253 // RFC 1035, without the root's dot

/** Characters that parsers strip, map or show differently. The last two are blank symbols without a Unicode category. */
const forbidden = /[\\\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]/u

/** Matches scheme and authority in the unparsed URL. A parsed URL loses an empty user name before the host. */
const beginning = /^(https?):\/\/([^/?]+)/i

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Names for private networks: RFC 6761, 6762, 7686, 8375, ICANN's name collision list, Kubernetes. */
const privateSuffix =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|mail|svc|arpa|test|invalid|onion)$/

/**
 * Checks a webhook's URL. It uses the WHATWG parser, which also parses the URL for the connection. The addresses that
 * the host resolves to are checked when connecting.
 *
 * @returns The reason why this URL is refused, as a sentence that does not repeat the URL, or undefined when it is
 *   allowed. Never throws.
 */
export function urlProblem(url: string, settings: GuardSettings): string | undefined {
  if (url.length > inputLimits.urlCharacters)
    return `The URL must be at most ${inputLimits.urlCharacters} characters long.`
  if (forbidden.test(url)) return 'The URL must not contain backslashes, white space, control or invisible characters.'
  if (url.includes('#')) return 'The URL must not have a fragment.'
  const [, scheme, authority] = beginning.exec(url) ?? []
  if (!scheme || !authority) return 'The URL must begin with https:// and a host.'
  if (scheme.toLowerCase() !== 'https' && !settings.allowPrivate) return 'The URL must use https.'
  if (authority.includes('@')) return 'The URL must not contain a user name or password.'
  if (!URL.canParse(url) || hidesCharacters(authority)) return 'The URL is not valid.'
  const parsed = new URL(url)
  if (!settings.allowPrivate && !settings.ports.includes(Number(parsed.port || 443))) {
    return `The URL's port must be one of ${settings.ports.join(', ')}.`
  }
  return hostProblem(parsed.hostname, authority, settings)
}

/** Returns whether the host has percent-encoded forbidden characters. The parser decodes and drops invisible ones. */
function hidesCharacters(authority: string): boolean {
  try {
    return forbidden.test(decodeURIComponent(authority))
  } catch {
    return true
  }
}

function hostProblem(host: string, authority: string, { allowPrivate }: GuardSettings): string | undefined {
  if (host.startsWith('[')) {
    // The unparsed authority is checked, because the parser converts an embedded IPv4 address to hexadecimal.
    return allowPrivate ? undefined : addressProblem(authority.slice(1, authority.indexOf(']')))
  }
  if (isIPv4(host)) return allowPrivate ? undefined : addressProblem(host)
  const name = host.endsWith('.') ? host.slice(0, -1) : host
  return nameProblem(name) ?? (allowPrivate ? undefined : privateNameProblem(name))
}

/** Allows letters, digits and inner hyphens (RFC 952, RFC 1123), and internationalised labels in Punycode. */
function nameProblem(name: string): string | undefined {
  const isValid =
    name.length <= maxHostNameLength && name.split('.').every((part) => label.test(part) && isValidPunycode(part))
  return isValid ? undefined : "The URL's host is not a valid name."
}

/**
 * Returns whether a label that begins with `xn--` is valid Punycode. Node 20 rejects invalid Punycode when it parses the
 * URL; Node 22 and later do not.
 */
function isValidPunycode(part: string): boolean {
  if (!part.startsWith('xn--')) return true
  const text = domainToUnicode(part)
  return text !== '' && text !== part && domainToASCII(text) === part
}

function privateNameProblem(name: string): string | undefined {
  if (!name.includes('.')) return "The URL's host must be a full domain name."
  return privateSuffix.test(name) ? "The URL's host is a name for private networks or special use." : undefined
}
