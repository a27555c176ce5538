/** The tokens of links to the pages for contacts. A link is its holder's only credential. */
import type { KeyObject } from 'node:crypto'
import { type Context, now, requirePublicUrl } from '../context.ts'
import { foldAddress } from '../parse.ts'
import { bytesOfNumbers, numberAt, readToken, signToken } from '../sealing/signed-token.ts'
import { type KeyStore, loadStoredKey } from '../sealing/stored-key.ts'
import { dayMs, msOf } from '../time.ts'
import { hashesOf } from './address-hash.ts'

/**
 * The purposes of links: the page that a link opens. Each number is in the tokens of sent mails, so it must not change.
 * The links of the portal have the same key: see lib/clients/portal.ts for their number.
 */
const purposes = { unsubscribe: 1, preferences: 2, confirm: 3 } as const satisfies Record<LinkPurpose, number>
export type LinkPurpose = 'unsubscribe' | 'preferences' | 'confirm'

/**
 * Loads the key that signs links. It is derived from the encryption key once, and then stored: links of sent mails outlive
 * rotations.
 */
export function loadLinkKey(store: KeyStore): Promise<KeyObject> {
  return loadStoredKey(store, 'link_key', () => store.sealer.deriveKey('contact links'))
}

/** The contact that a valid token names. It may be erased since. */
interface LinkContent {
  readonly clientId: number
  readonly contactId: number
  /** Tells the contact from a later one with the same id, for example after a backup was restored. */
  readonly contactUuid: string
  /** What to confirm; undefined for the other purposes. */
  readonly request: { readonly listId: number; readonly addressMark: string } | undefined
}

/** How long the link of a confirmation mail works. */
export const confirmationLifetimeMs = 30 * dayMs

const idBytes = bytesOfNumbers(0).length
const uuidStart = 1 + 2 * idBytes
/** Purpose, client, contact, uuid. */
const contentBytes = uuidStart + 16
const addressMarkBytes = 8
/** A confirmation also has the list, the second of its issue, and the mark of the address that gets it. */
const confirmationBytes = contentBytes + 2 * idBytes + addressMarkBytes

/** The fields of a contact that a link needs. */
export interface LinkedContact {
  readonly id: number
  readonly uuid: string
}

/** A confirmation proves one address. */
interface AddressedContact extends LinkedContact {
  readonly email: string
}

/**
 * Returns a link to a contact's page.
 *
 * @param listId The list to confirm; only for `confirm`. That link expires after 30 days.
 * @throws MailkeepError `validation_failed` on `public_url`
 */
export function contactLink(ctx: Context, contact: LinkedContact, purpose: 'unsubscribe' | 'preferences'): string
export function contactLink(ctx: Context, contact: AddressedContact, purpose: 'confirm', listId: number): string
export function contactLink(
  ctx: Context,
  contact: LinkedContact & { readonly email?: string },
  purpose: LinkPurpose,
  listId?: number,
): string {
  const url = requirePublicUrl(ctx)
  const content = [
    Buffer.of(purposes[purpose]),
    bytesOfNumbers(ctx.clientId, contact.id),
    Buffer.from(contact.uuid.replaceAll('-', ''), 'hex'),
  ]
  if (listId !== undefined) {
    content.push(bytesOfNumbers(listId, Math.floor(msOf(now(ctx)) / 1000)))
    content.push(Buffer.from(addressMarks(ctx, ctx.clientId, contact.email!)[0]!, 'hex'))
  }
  return `${url}/c/${signToken(ctx.local.linkKey, Buffer.concat(content))}/${purpose}`
}

/** Returns what tells an address from others in a link, in hex, the current form first. It does not show the address. */
export function addressMarks(ctx: Context, clientId: number, email: string): string[] {
  const hashes = hashesOf(ctx, clientId, foldAddress(email))
  return hashes.map((hash) => Buffer.from(hash, 'base64url').toString('hex', 0, addressMarkBytes))
}

/** Returns the mail headers for unsubscribing: RFC 2369, and for https also RFC 8058, whose one click needs it. */
export function unsubscribeHeaders(url: string): { 'List-Unsubscribe': string; 'List-Unsubscribe-Post'?: string } {
  const oneClick = url.startsWith('https:') ? { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } : {}
  return { 'List-Unsubscribe': `<${url}>`, ...oneClick }
}

/**
 * Verifies the token of a link. Reads no database.
 *
 * @returns Undefined if it is not a token for this purpose, was altered, or has expired.
 */
export function readLinkToken(ctx: Context, token: string, purpose: LinkPurpose): LinkContent | undefined {
  const isConfirmation = purpose === 'confirm'
  const bytes = isConfirmation ? confirmationBytes : contentBytes
  const content = readToken(ctx.local.linkKey, token, bytes)
  if (content === undefined || content[0] !== purposes[purpose]) return undefined
  const ids = content.subarray(1, uuidStart)
  const rest = content.subarray(contentBytes)
  if (isConfirmation && ctx.clock() >= numberAt(rest, 1) * 1000 + confirmationLifetimeMs) return undefined
  return {
    clientId: numberAt(ids, 0),
    contactId: numberAt(ids, 1),
    contactUuid: uuidFrom(content.subarray(uuidStart, contentBytes)),
    request: isConfirmation ? { listId: numberAt(rest, 0), addressMark: rest.toString('hex', 2 * idBytes) } : undefined,
  }
}

function uuidFrom(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
