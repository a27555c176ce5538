import { getClient } from '../clients/operations.ts'
import { addressMarks, contactLink, type LinkPurpose, readLinkToken, unsubscribeHeaders } from '../consent/links.ts'
import { isAddressSuppressed } from '../consent/suppressions.ts'
import type { Context } from '../context.ts'
import { isMailkeepError, notFound } from '../errors.ts'
import type { ContactKey } from './contact-key.ts'
import { validSince } from './double-opt-in.ts'
import { findMerged } from './merging-queries.ts'
import { findRequest } from './pending-queries.ts'
import { getContact } from './reading.ts'
import type { Contact } from './schema.ts'

/** Links to a contact's pages, and headers for the mails to this contact. */
export interface ContactLinks {
  unsubscribe_url: string
  preferences_url: string
  /** Headers by name. `List-Unsubscribe-Post` is present if the public URL is https. */
  headers: { 'List-Unsubscribe': string; 'List-Unsubscribe-Post'?: string }
}

/**
 * Returns the links to a contact's pages, and the mail headers for unsubscribing with one click (RFC 8058). They never
 * expire, and stop working when the contact is erased. `createContactPages` of mailkeep/http and the daemon serve them.
 *
 * @throws MailkeepError `not_found`; `validation_failed` on `public_url`: the public URL is not configured.
 */
export async function createLinks(ctx: Context, id: ContactKey): Promise<ContactLinks> {
  const contact = await getContact(ctx, id)
  const unsubscribe_url = contactLink(ctx, contact, 'unsubscribe')
  return {
    unsubscribe_url,
    preferences_url: contactLink(ctx, contact, 'preferences'),
    headers: unsubscribeHeaders(unsubscribe_url),
  }
}

/** What the holder of a link may see and change. */
export interface OpenedLink {
  readonly clientId: number
  readonly contact: Contact
  /** The list to confirm; undefined for the other purposes. */
  readonly listId: number | undefined
  /** Whether the contact's address is suppressed, so that it gets no mail. */
  readonly isSuppressed: boolean
}

/**
 * Verifies the token of a link, `…/c/TOKEN/PURPOSE`, and returns its contact: after a merge, the one that stays.
 *
 * @param purpose `unsubscribe`, `preferences` or `confirm`.
 * @throws MailkeepError `not_found`, always the same: not valid for the purpose, erased contact, or nothing to confirm.
 */
export async function openLink(ctx: Context, token: string, purpose: LinkPurpose): Promise<OpenedLink> {
  const content = typeof token === 'string' ? readLinkToken(ctx, token, purpose) : undefined
  if (!content) throw notFound('link')
  const { clientId, contactId, contactUuid, request } = content
  try {
    await getClient(ctx, clientId)
    const own = { ...ctx, clientId }
    const merged = await findMerged(own, { client_id: clientId, contact_id: contactId, uuid: contactUuid })
    const contact = await getContact(own, merged?.into_id ?? contactId)
    const isContact = merged || contact.uuid === contactUuid
    if (!isContact) throw notFound('link')
    const isSuppressed = await isAddressSuppressed(own, contact.email)
    if (!request) return { clientId, contact, listId: undefined, isSuppressed }
    const { listId } = request
    // The link of a former address proves nothing about the new one. Of a merged contact the address is not known.
    const isProof = merged || addressMarks(ctx, clientId, contact.email).includes(request.addressMark)
    if (isProof && (await mayConfirm(own, contact, listId))) return { clientId, contact, listId, isSuppressed }
  } catch (error) {
    if (!isMailkeepError(error, 'not_found')) throw error
  }
  throw notFound('link')
}

/** Whether the contact was asked to confirm the list, or has confirmed it. */
async function mayConfirm(ctx: Context, { id, lists }: Contact, listId: number): Promise<boolean> {
  if (lists.some((list) => list.id === listId)) return true
  const request = { contact_id: id, list_id: listId, requested_since: validSince(ctx) }
  return (await findRequest(ctx, request)) !== undefined
}
