import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Ranges = Record<string, [Address, number][]>

/**
 * IPv4 networks that are not globally reachable, from IANA's special-purpose registry. Also Azure's platform address: it
 * is public, but answers only inside Azure. 192.31.196.0/24, 192.52.193.0/24 and 192.175.48.0/24 are in the registry
 * too, but are globally reachable.
 */
const refusedV4 = ranges({
  '"this network" (RFC 1122)': ['0.0.0.0/8'],
  'a private network (RFC 1918)': ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  'carrier-grade NAT (RFC 6598)': ['100.64.0.0/10'],
  'the loopback network (RFC 1122)': ['127.0.0.0/8'],
  'the link-local network (RFC 3927)': ['169.254.0.0/16'],
  'protocol assignments (RFC 6890)': ['192.0.0.0/24'],
  'documentation (RFC 5737)': ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  '6to4 relays (RFC 7526)': ['192.88.99.0/24'],
  'benchmarking (RFC 2544)': ['198.18.0.0/15'],
  'multicast (RFC 5771)': ['224.0.0.0/4'],
  'the reserved class E, or broadcast (RFC 1112, RFC 919)': ['240.0.0.0/4'],
  'a cloud platform (Azure)': ['168.63.129.16/32'],
})

/**
 * Networks inside 2000::/3 that are not globally reachable. 2001::/23 contains Teredo, ORCHID and benchmarking. A 6to4
 * address embeds an IPv4 address.
 */
const refusedV6 = ranges({
  'protocol assignments (RFC 2928)': ['2001::/23'],
  'documentation (RFC 3849, RFC 9637)': ['2001:db8::/32', '3fff::/20'],
  '6to4 (RFC 3056)': ['2002::/16'],
})

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * @param address Text form of an IPv4 (four decimal numbers only) or IPv6 address, without brackets.
 * @returns The reason why this address must not be called, as a sentence without the address, or undefined. Never throws.
 */
export function addressProblem(address: string): string | undefined {
  // isIP accepts only the canonical IPv4 form. It also limits the input of ipaddr's regular expressions.
  if (!isIP(address) || address.includes('%') || !ipaddr.isValid(address)) return 'This is not a plain IP address.'
  const parsed = ipaddr.parse(address)
  const network = parsed instanceof ipaddr.IPv4 ? networkIn(parsed, refusedV4) : networkOfV6(parsed)
  if (network) return `The address belongs to ${network}.`
  const embedded = parsed instanceof ipaddr.IPv6 ? embeddedV4(parsed, address) : undefined
  return embedded && addressProblem(embedded)
}

/**
 * Rejects everything outside 2000::/3. This includes IPv4-mapped, IPv4-compatible, SIIT (::ffff:0:0/96) and NAT64
 * (64:ff9b::/96, 64:ff9b:1::/48) addresses.
 */
function networkOfV6(address: ipaddr.IPv6): string | undefined {
  return address.match(globalUnicast) ? networkIn(address, refusedV6) : 'no global network (RFC 4291)'
}

/**
 * Returns the IPv4 address embedded in a global IPv6 address. It may be written with dots, as RFC 6052 does under a
 * provider's NAT64 prefix. Or it may be in an ISATAP interface identifier, whose universal and group bits may be set
 * (RFC 5214, 6.1).
 */
function embeddedV4({ parts }: ipaddr.IPv6, written: string): string | undefined {
  if (written.includes('.')) return written.slice(written.lastIndexOf(':') + 1)
  const isatap = (parts[4]! & ~0x0300) === 0 && parts[5] === 0x5efe
  return isatap
    ? parts
        .slice(6)
        .flatMap((part) => [part >> 8, part & 0xff])
        .join('.')
    : undefined
}

function networkIn(address: Address, refused: () => Ranges): string | undefined {
  return ipaddr.subnetMatch(address, refused(), '') || undefined
}

/** Parses the ranges on first use, to keep the start fast. */
function ranges(named: Record<string, string[]>): () => Ranges {
  let read: Ranges | undefined
  return () => (read ??= readRanges(named))
}

function readRanges(named: Record<string, string[]>): Ranges {
  return Object.fromEntries(Object.entries(named).map(([name, cidrs]) => [name, cidrs.map((c) => ipaddr.parseCIDR(c))]))
}
