import { isPortal, type Role } from '../session.ts'

interface Section {
  readonly href: string
  readonly title: string
  /** Pressed after `g`. */
  readonly key: string
  /** The lowest role that may see it. Default: any. */
  readonly role?: Role
}

const portalSections: readonly Section[] = [
  { href: '/portal', title: 'Webhooks', key: 'w' },
  { href: '/portal/deliveries', title: 'Deliveries', key: 'd' },
]

const consoleSections: readonly Section[] = [
  { href: '/', title: 'Overview', key: 'o' },
  { href: '/console/contacts', title: 'Contacts', key: 'c' },
  { href: '/console/import', title: 'Import', key: 'i', role: 'member' },
  { href: '/console/lists', title: 'Lists & topics', key: 'l' },
  { href: '/console/tags', title: 'Tags', key: 't' },
  { href: '/console/segments', title: 'Segments', key: 'e' },
  { href: '/console/newsletters', title: 'Newsletters', key: 'n' },
  { href: '/console/sequences', title: 'Sequences', key: 'q' },
  { href: '/console/webhooks', title: 'Webhooks', key: 'w', role: 'admin' },
  { href: '/console/deliveries', title: 'Deliveries', key: 'd', role: 'admin' },
  { href: '/console/identities', title: 'Identities', key: 's' },
  { href: '/console/suppressions', title: 'Suppressions', key: 'x' },
  { href: '/console/pages', title: 'Page settings', key: 'p', role: 'admin' },
  { href: '/console/tokens', title: 'Tokens', key: 'k', role: 'admin' },
  { href: '/console/audit', title: 'Audit log', key: 'a', role: 'admin' },
  { href: '/docs', title: 'API docs', key: 'h' },
]

export const sections = isPortal ? portalSections : consoleSections

/** Whether the address belongs to the section. */
export function isWithin(path: string, { href }: Section): boolean {
  return path === href || (href.split('/').length > 2 && path.startsWith(`${href}/`))
}
