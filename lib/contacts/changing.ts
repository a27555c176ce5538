/** Operations that change a contact without a list. */

import { refuseErased } from '../consent/suppressions.ts'
import type { Context } from '../context.ts'
import { invalid } from '../errors.ts'
import { closedObject, foldAddress, parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { findTagsByName } from '../tags/operations.ts'
import { Address, type ContactKey, lockContact } from './contact-key.ts'
import { type ContactEvent, finishChange, tagEvents } from './events.ts'
import { requireAtMost } from './limits.ts'
import { deleteRequestsOfContact } from './pending-queries.ts'
import * as queries from './queries.ts'
import { addTags, saveContact } from './save.ts'
import { type Contact, type ContactInput, NewContact, SomeTags } from './schema.ts'
import { searchText } from './search.ts'

/**
 * Creates a contact without a list, or updates the contact with this e-mail address. Adds tags, and merges attributes by
 * key. An unsubscribed contact stays unsubscribed.
 *
 * @param input Fields besides `email`, `name` and `tags` are attributes.
 * @returns The contact as stored after the change, and whether it is new.
 * @throws MailkeepError `validation_failed`
 */
export async function upsertContact(
  ctx: Context,
  input: ContactInput,
): Promise<{ contact: Contact; created: boolean }> {
  const fields = parse(NewContact, input)
  if (fields.confirmed !== undefined) throw invalid('confirmed', 'This is allowed only when the contact joins a list.')
  return transact(ctx, (tx) => saveContact(tx, fields))
}

export interface EmailInput {
  /** The new address. At most 254 characters. */
  readonly email: string
}

/**
 * Changes the e-mail address of a contact. Its id, lists, tags and history stay, but no open request to confirm.
 *
 * @throws MailkeepError `not_found`; `validation_failed` on `email`: also when another contact has the address.
 */
export async function changeEmail(ctx: Context, key: ContactKey, input: EmailInput): Promise<Contact> {
  const { email } = parse(Address, input)
  return transact(ctx, async (tx) => {
    const stored = await lockContact(tx, key)
    const email_key = foldAddress(email)
    // Not locked: two contacts that exchange their addresses would deadlock.
    const holder = await queries.findIdByEmail(tx, { client_id: tx.clientId, email_key })
    if (holder && holder.id !== stored.id) throw invalid('email', 'Another contact has this e-mail address.')
    const updated = email !== stored.email || !holder // an upgrade may have left the contact without the key
    if (updated) {
      await refuseErased(tx, email_key)
      const search = searchText(stored.name, email)
      // A link that was sent to the old address does not confirm the new one.
      if (email_key !== foldAddress(stored.email)) await deleteRequestsOfContact(tx, { contact_id: stored.id })
      await queries.updateEmail(tx, { client_id: tx.clientId, id: stored.id, email, email_key, search })
      const { id: contactId, search: before } = stored
      if (search !== before)
        tx.transaction.searchChanges.push({ clientId: tx.clientId, contactId, before, after: search })
    }
    const events: ContactEvent[] = updated ? [{ type: 'contact.updated', contactId: stored.id }] : []
    return await finishChange(tx, stored.id, events)
  })
}

export interface TagsInput {
  /** Tag names, at least one. */
  readonly tags: readonly string[]
}

export const TagsChange = closedObject({ tags: SomeTags })

/**
 * Adds tags to a contact. Creates missing tags. It is no error if the contact has a tag already.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: also when the contact would have more than 500 tags.
 */
export async function tagContact(ctx: Context, key: ContactKey, input: TagsInput): Promise<Contact> {
  const { tags } = parse(TagsChange, input)
  return transact(ctx, async (tx) => {
    const { id } = await lockContact(tx, key)
    const tagged = await addTags(tx, id, tags)
    if (tagged.length > 0) await requireAtMost(tx, 'tags', id)
    return await finishChange(tx, id, tagged)
  })
}

/**
 * Removes tags from a contact. The tags themselves stay. It is no error if the contact does not have a tag.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function untagContact(ctx: Context, key: ContactKey, input: TagsInput): Promise<Contact> {
  const { tags } = parse(TagsChange, input)
  return transact(ctx, async (tx) => {
    const { id } = await lockContact(tx, key)
    const tag_ids = [...(await findTagsByName(tx, tags)).values()].map((tag) => tag.id)
    const removed = await queries.deleteContactTags(tx, { contact_id: id, tag_ids })
    const removedIds = removed.map(({ tag_id }) => tag_id)
    return await finishChange(tx, id, tagEvents('contact.untagged', id, removedIds))
  })
}
