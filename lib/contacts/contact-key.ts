/** Finds the contact that a caller names, by id or by e-mail address. */
import * as v from 'valibot'
import type { Context, Tx } from '../context.ts'
import { notFound } from '../errors.ts'
import { closedObject, EmailAddress, foldAddress, idInput, isRecord, parse, requireId } from '../parse.ts'
import * as queries from './queries.ts'
import type { StoredContact } from './save.ts'

/** Names a contact: its id, or its e-mail address, in any case, and with its domain in Unicode or Punycode. */
export type ContactKey = number | { readonly email: string }

export const Address = closedObject({ email: EmailAddress })
export type Address = v.InferOutput<typeof Address>

const Id = idInput('This must be the id of a contact, or an object with its email.')

/** A field of an input that names a contact. */
export const Key = v.lazy((value): v.GenericSchema<ContactKey> => (isRecord(value) ? Address : Id))

/**
 * Returns the contact's id. An id is not looked up: the caller's next statement finds out whether it exists.
 *
 * @throws MailkeepError `not_found`; `validation_failed` on `contactId` or `email`.
 */
export async function contactIdOf(ctx: Context, key: ContactKey): Promise<number> {
  const email_key = addressOf(key)
  if (email_key === undefined) {
    requireId('contactId', key)
    return key
  }
  const found = await queries.findIdByEmail(ctx, { client_id: ctx.clientId, email_key })
  if (!found) throw notFound('contact')
  return found.id
}

/** Returns the id of a contact that exists. @throws MailkeepError `not_found`, `validation_failed` */
export async function requireContact(ctx: Context, key: ContactKey): Promise<number> {
  const id = await contactIdOf(ctx, key)
  if (!(await queries.findContact(ctx, { client_id: ctx.clientId, id }))) throw notFound('contact')
  return id
}

/**
 * Locks the contact, so that no other transaction changes its row or its memberships until this one ends.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function lockContact(tx: Tx, key: ContactKey): Promise<StoredContact> {
  const address = addressOf(key)
  const stored = await (address === undefined
    ? queries.lockContact(tx, { client_id: tx.clientId, id: await contactIdOf(tx, key) })
    : queries.lockContactByEmail(tx, { client_id: tx.clientId, email_key: address }))
  if (!stored) throw notFound('contact')
  return stored
}

/** Returns the folded address that names a contact; undefined if an id does. @throws MailkeepError `validation_failed` */
function addressOf(key: ContactKey): string | undefined {
  return isRecord(key) && Object.hasOwn(key, 'email') ? foldAddress(parse(Address, key).email) : undefined
}
