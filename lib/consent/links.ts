/** The tokens of links to the pages for contacts. A link is its holder's only credential. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Context, now } from '../context.ts'
import { requirePublicUrl } from '../public-url.ts'
import { loadStoredKey } from '../sealing/stored-key.ts'
import { msOf } from '../time.ts'

/** What a link lets its holder do. Each number is in the tokens of sent mails, so it must not change. */
const purposes = { unsubscribe: 1, preferences: 2, confirm: 3 } as const satisfies Record<LinkPurpose, number>
export type LinkPurpose = 'unsubscribe' | 'preferences' | 'confirm'

/** The key that signs links. */
export interface LinkKey {
  /** Loads the key. Must be called before `value` is used. */
  load(ctx: Context): Promise<void>
  readonly value: Buffer
}

/** The key is derived from the encryption key once, and then stored: links of sent mails outlive rotations. */
export function linkKey(): LinkKey {
  let value: Buffer = Buffer.alloc(0)
  return {
    async load(ctx) {
      value = await loadStoredKey(ctx, 'link_key', () => ctx.sealer.deriveKey('contact links'))
    },
    get value() {
      return value
    },
  }
}

/** What a valid token names. The contact may be erased since. */
export interface LinkContent {
  readonly clientId: number
  readonly contactId: number
  /** Tells the contact from a later one with the same id, for example after a backup was restored. */
  readonly contactUuid: string
  /** The list to confirm; undefined for the other purposes. */
  readonly listId: number | undefined
}

/** How long the link of a confirmation mail works. */
export const confirmationLifetimeMs = 30 * 86_400_000

const macBytes = 16
const idBytes = 6
/** Purpose, client, contact, uuid, MAC. */
const tokenBytes = 1 + 2 * idBytes + 16 + macBytes
/** A confirmation also has the list, and the second of its issue. */
const confirmationBytes = tokenBytes + 2 * idBytes

/** The fields of a contact that a link needs. */
export interface LinkedContact {
  readonly id: number
  readonly uuid: string
}

/**
 * Returns a link to a contact's page.
 *
 * @param listId The list to confirm; only for `confirm`. That link expires after 30 days.
 * @throws MailkeepError `validation_failed` on `public_url`
 */
export function contactLink(ctx: Context, contact: LinkedContact, purpose: 'unsubscribe' | 'preferences'): string
export function contactLink(ctx: Context, contact: LinkedContact, purpose: 'confirm', listId: number): string
export function contactLink(ctx: Context, contact: LinkedContact, purpose: LinkPurpose, listId?: number): string {
  const url = requirePublicUrl(ctx)
  const parts = [
    Buffer.of(purposes[purpose]),
    numberOf(ctx.clientId),
    numberOf(contact.id),
    Buffer.from(contact.uuid.replaceAll('-', ''), 'hex'),
  ]
  if (listId !== undefined) parts.push(numberOf(listId), numberOf(Math.floor(msOf(now(ctx)) / 1000)))
  const content = Buffer.concat(parts)
  const token = Buffer.concat([content, macOf(ctx.local.linkKey.value, content)]).toString('base64url')
  return `${url}/c/${token}/${purpose}`
}

/**
 * Verifies the token of a link. Reads no database.
 *
 * @returns Undefined if it is not a token for this purpose, was altered, or has expired.
 */
export function readLinkToken(ctx: Context, token: string, purpose: LinkPurpose): LinkContent | undefined {
  const bytes = Buffer.from(String(token), 'base64url')
  const isConfirmation = purpose === 'confirm'
  if (bytes.length !== (isConfirmation ? confirmationBytes : tokenBytes)) return undefined
  if (bytes.toString('base64url') !== token) return undefined // base64url has several spellings of some bytes
  const content = bytes.subarray(0, -macBytes)
  const mac = bytes.subarray(-macBytes)
  if (!timingSafeEqual(macOf(ctx.local.linkKey.value, content), mac)) return undefined
  if (content[0] !== purposes[purpose]) return undefined
  const idAt = (position: number) => content.readUIntBE(1 + position * idBytes, idBytes)
  const uuidStart = 1 + 2 * idBytes
  const rest = content.subarray(uuidStart + 16)
  if (isConfirmation) {
    const issuedMs = rest.readUIntBE(idBytes, idBytes) * 1000
    if (ctx.clock() >= issuedMs + confirmationLifetimeMs) return undefined
  }
  return {
    clientId: idAt(0),
    contactId: idAt(1),
    contactUuid: uuidFrom(content.subarray(uuidStart, uuidStart + 16)),
    listId: isConfirmation ? rest.readUIntBE(0, idBytes) : undefined,
  }
}

function macOf(key: Buffer, content: Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest().subarray(0, macBytes)
}

function numberOf(value: number): Buffer {
  const bytes = Buffer.alloc(idBytes)
  bytes.writeUIntBE(value, 0, idBytes)
  return bytes
}

function uuidFrom(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
