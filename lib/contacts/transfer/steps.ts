/** The steps of an import in each batch, besides saving the contacts. */
import { distinct } from '../../collections.ts'
import { recordHistory } from '../../consent/history.ts'
import { now, type Tx } from '../../context.ts'
import { fold } from '../../spelling.ts'
import { findTagsByName } from '../../tags/operations.ts'
import { noAttributes } from '../attributes.ts'
import type { BatchSteps, SavedContacts } from '../bulk.ts'
import { type BulkResult, mergeContacts } from '../bulk-merge.ts'
import type { ContactEvent } from '../events.ts'
import type { NewContact } from '../schema.ts'
import * as queries from './queries.ts'
import { restoreMemberships, unsubscribedOf } from './restore.ts'
import type { ImportedContact, Restored } from './row-state.ts'

/**
 * What becomes of contacts that exist already. `merge`: as in `addToList`. `skip`: they stay as they are.
 * `replace_tags`: like `merge`, but the row's tags replace the contact's tags.
 */
export const importModes = ['merge', 'skip', 'replace_tags'] as const satisfies ImportMode[]
export type ImportMode = 'merge' | 'skip' | 'replace_tags'

/** The result of a row. A dry run has no ids of contacts that it would create: they are 0. */
export type RowOutcome = BulkResult & { readonly skipped?: true }

/** Returns the steps of one transaction. With `skip` it saves one row of each address that is not stored. */
export function importSteps(mode: ImportMode): BatchSteps {
  const skipped = new Map<NewContact, RowOutcome>()
  const repeated = new Map<NewContact, NewContact>()
  return {
    replacesTags: mode === 'replace_tags',
    choose(stored, contacts) {
      if (mode !== 'skip') return contacts
      const chosen = new Map<string, readonly NewContact[]>()
      const ids = new Map(stored.map(({ id, email_key }) => [email_key, id]))
      for (const [key, same] of contacts) {
        const id = ids.get(key)
        if (id !== undefined) {
          for (const contact of same) skipped.set(contact, { id, created: false, skipped: true })
          continue
        }
        const first = untilAccepted(same)
        chosen.set(key, first)
        for (const other of same.slice(first.length)) repeated.set(other, first.at(-1)!)
      }
      return chosen
    },
    unsubscribed: (saved) => unsubscribedOf(restoredById(saved)),
    async complete(tx, saved, events, confirmed) {
      const restored = restoredById(saved)
      await restoreTimes(tx, saved, restored)
      const all = [...events, ...(await restoreMemberships(tx, restored, confirmed))]
      if (mode === 'replace_tags') all.push(...(await replaceTags(tx, saved)))
      for (const [contact, outcome] of skipped) saved.results.set(contact, outcome)
      for (const [contact, first] of repeated) saved.results.set(contact, asSkipped(saved.results.get(first)!))
      // An unsubscribed person raises no event at all.
      return all.filter(({ contactId }) => !restored.get(contactId)?.unsubscribed)
    },
  }
}

/** Returns the rows of a new address up to the first that is within the limits of a contact, or all if none is. */
export function untilAccepted(contacts: readonly NewContact[]): readonly NewContact[] {
  const isAccepted = (contact: NewContact) =>
    mergeContacts([contact], () => noAttributes, undefined, new Map()).accepted.length > 0
  // The last one need not be checked. Most addresses have only that one.
  const at = contacts.slice(0, -1).findIndex(isAccepted)
  return at < 0 ? contacts : contacts.slice(0, at + 1)
}

function asSkipped(first: BulkResult): RowOutcome {
  return first.refused ? first : { id: first.id, created: false, skipped: true }
}

/** Returns what the rows say of the saved contacts. Of several rows of one contact, every one counts. */
function restoredById({ results }: SavedContacts): Map<number, Restored> {
  const restored = new Map<number, Restored>()
  for (const [contact, result] of results) {
    const said = (contact as ImportedContact).restored
    if (!said || result.refused) continue
    const before = restored.get(result.id)
    restored.set(result.id, before ? joined(before, said) : said)
  }
  return restored
}

function joined(a: Restored, b: Restored): Restored {
  return {
    unsubscribed: a.unsubscribed ?? b.unsubscribed,
    created_at: a.created_at ?? b.created_at,
    lists: distinct([...a.lists, ...b.lists]),
    topics: [...a.topics, ...b.topics],
  }
}

/** Unsubscribes those who the file says are unsubscribed, and sets the creation time of new contacts. */
async function restoreTimes(
  tx: Tx,
  { created }: SavedContacts,
  restored: ReadonlyMap<number, Restored>,
): Promise<void> {
  const client_id = tx.clientId
  const contacts = [...restored].flatMap(([id, { unsubscribed }]) =>
    unsubscribed
      ? [{ id, unsubscribed_at: unsubscribed.at ?? now(tx), unsubscribed_by_contact: unsubscribed.byContact }]
      : [],
  )
  if (contacts.length > 0) {
    const changed = await queries.unsubscribeEach(tx, { client_id, contacts })
    await recordHistory(
      tx,
      changed.map(({ id }) => ({ contactId: id, type: 'unsubscribed' })),
    )
  }
  const times = [...restored].flatMap(([id, { created_at }]) =>
    created_at !== undefined && created.has(id) ? [{ id, created_at }] : [],
  )
  if (times.length > 0) await queries.updateCreationTimes(tx, { client_id, contacts: times })
}

/** Removes the tags that the rows do not have. Of several rows of one contact, the last one with tags counts. */
async function replaceTags(tx: Tx, { results }: SavedContacts): Promise<ContactEvent[]> {
  const wanted = new Map<number, readonly string[]>()
  for (const [{ tags }, result] of results) if (tags && !result.refused) wanted.set(result.id, tags)
  if (wanted.size === 0) return []
  const tags = await findTagsByName(tx, [...wanted.values()].flat())
  const pairs = [...wanted].flatMap(([contact_id, names]) =>
    // Another transaction may have just deleted a tag.
    names.flatMap((name) => tags.get(fold(name)) ?? []).map(({ id: tag_id }) => ({ contact_id, tag_id })),
  )
  const removed = await queries.deleteOtherTags(tx, { contact_ids: [...wanted.keys()], pairs })
  return removed.map(({ contact_id, tag_id }) => ({ type: 'contact.untagged', contactId: contact_id, tagId: tag_id }))
}
