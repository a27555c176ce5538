/** Reads one contact. */
import type { Context } from '../context.ts'
import { notFound } from '../errors.ts'
import { type ContactKey, contactIdOf } from './contact-key.ts'
import * as queries from './queries.ts'
import { type Contact, contactFrom } from './schema.ts'

/** @throws MailkeepError `not_found` */
export async function getContact(ctx: Context, id: ContactKey): Promise<Contact> {
  return contactFrom(await findDocument(ctx, id))
}

/**
 * Same as `get`, but returns JSON text.
 *
 * @throws MailkeepError `not_found`
 */
export async function getContactJson(ctx: Context, id: ContactKey): Promise<string> {
  return (await findDocument(ctx, id)).document
}

async function findDocument(ctx: Context, key: ContactKey): Promise<{ document: string }> {
  const id = await contactIdOf(ctx, key)
  const row = await queries.findDocument(ctx, { client_id: ctx.clientId, id })
  if (!row) throw notFound('contact')
  ctx.local.onContactRead?.(id)
  return row
}
