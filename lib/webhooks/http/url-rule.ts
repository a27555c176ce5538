import { isIPv4 } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'
import { inputLimits } from '../../limits.ts'
import { addressProblem } from './address.ts'

export interface GuardSettings {
  /** For development: allows http, any port and private hosts; nothing else. */
  readonly allowPrivate: boolean
  /** Ports that may be called; https without a port is 443. */
  readonly ports: readonly number[]
}

const maxNameLength = 253 // RFC 1035, without the root's dot

/** Parsers strip, map or show these differently; the last two are blank symbols that no category tells of. */
const forbidden = /[\\\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]/u

/** Scheme and authority as written: what stands before the host is lost in a parsed URL when it is empty. */
const beginning = /^(https?):\/\/([^/?]+)/i

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Names that only mean something inside a network: RFC 6761, 6762, 7686, 8375, ICANN's collision names, Kubernetes. */
const privateSuffix =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|mail|svc|arpa|test|invalid|onion)$/

/**
 * The rule for the written form of a webhook's URL. It is judged as the WHATWG parser reads it, which is also what
 * connects; what a name resolves to is judged when connecting.
 *
 * @returns Why this URL is refused, a sentence for people that does not echo the URL, or undefined when it may be
 *   called. Never throws.
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
  const parsed = parse(url)
  if (!parsed || hidesCharacters(authority)) return 'The URL is not valid.'
  if (!settings.allowPrivate && !settings.ports.includes(Number(parsed.port || 443))) {
    return `The URL's port must be one of ${settings.ports.join(', ')}.`
  }
  return hostProblem(parsed.hostname, authority, settings)
}

function parse(url: string): URL | undefined {
  try {
    return new URL(url)
  } catch {
    return undefined
  }
}

/** The parser decodes percent signs in a host and then drops what is invisible. */
function hidesCharacters(authority: string): boolean {
  try {
    return forbidden.test(decodeURIComponent(authority))
  } catch {
    return true
  }
}

function hostProblem(host: string, authority: string, { allowPrivate }: GuardSettings): string | undefined {
  if (host.startsWith('[')) {
    // As written: the parser turns an IPv4 address at the end into hexadecimal.
    return allowPrivate ? undefined : addressProblem(authority.slice(1, authority.indexOf(']')))
  }
  if (isIPv4(host)) return allowPrivate ? undefined : addressProblem(host)
  const name = host.endsWith('.') ? host.slice(0, -1) : host
  return nameProblem(name) ?? (allowPrivate ? undefined : privateName(name))
}

/** Letters, digits and inner hyphens (RFC 952, RFC 1123), and internationalised labels in Punycode. */
function nameProblem(name: string): string | undefined {
  const isValid = name.length <= maxNameLength && name.split('.').every((part) => label.test(part) && isEncoded(part))
  return isValid ? undefined : "The URL's host is not a valid name."
}

/**
 * Whether a label that begins with `xn--` is Punycode of a name. Node 20 refuses others when it parses the URL; Node 22
 * and later keep them as they are.
 */
function isEncoded(part: string): boolean {
  if (!part.startsWith('xn--')) return true
  const text = domainToUnicode(part)
  return text !== '' && text !== part && domainToASCII(text) === part
}

function privateName(name: string): string | undefined {
  if (!name.includes('.')) return "The URL's host must be a full domain name."
  return privateSuffix.test(name) ? "The URL's host is a name for private networks or special use." : undefined
}
