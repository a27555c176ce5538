/** Checks the rows of an import without writing. */
import { hash } from 'node:crypto'
import { addressErased, findErased } from '../../consent/suppressions.ts'
import { type Context, requirePublicUrl } from '../../context.ts'
import type { List } from '../../lists/schema.ts'
import { noAttributes, readAttributes } from '../attributes.ts'
import { batchesOf } from '../batch-size.ts'
import { type ByEmail, groupByEmail, limitsOf } from '../bulk-limits.ts'
import { type Entry, isRefused, mergeContacts } from '../bulk-merge.ts'
import { listContactsByEmail } from '../bulk-queries.ts'
import { needsConfirmation } from '../double-opt-in.ts'
import { tooMany } from '../limits.ts'
import type { NewContact } from '../schema.ts'
import { isUnsubscribed } from './row-state.ts'
import { type ImportMode, type RowOutcome, untilAccepted } from './steps.ts'

/** A later row of the same address counts as an update. Beyond this number of new addresses it counts as new. */
const maxRememberedAddresses = 500_000

/**
 * Returns a function that tells what an import would do with the next rows of the file. It only reads.
 *
 * @throws MailkeepError `validation_failed` on `public_url`, as the import would.
 */
export function dryRunner(
  ctx: Context,
  list: List | undefined,
  mode: ImportMode,
): (entries: readonly Entry[]) => Promise<RowOutcome[]> {
  const remembered = new Set<number>()
  const check = async (contacts: ByEmail, outcomes: Map<NewContact, RowOutcome>) => {
    const stored = await listContactsByEmail(ctx, { client_id: ctx.clientId, email_keys: [...contacts.keys()] })
    const replacesTags = mode === 'replace_tags'
    const limits = await limitsOf(ctx, list, stored, contacts, replacesTags)
    const storedByKey = new Map(stored.map((contact) => [contact.email_key, contact]))
    const erased = await findErased(ctx, [...contacts.keys()])
    for (const [key, all] of contacts) {
      const before = storedByKey.get(key)
      const id = before?.id ?? 0
      let exists = before !== undefined || remembered.has(hashOf(key))
      const same = mode !== 'skip' ? all : exists ? [] : untilAccepted(all)
      for (const contact of all.slice(same.length)) outcomes.set(contact, { id, created: false, skipped: true })
      if (before && limits.fullOfLists.has(id)) {
        for (const contact of same) outcomes.set(contact, { refused: tooMany('lists') })
        continue
      }
      if (!before && erased.has(key)) {
        for (const contact of all) outcomes.set(contact, { refused: addressErased() })
        continue
      }
      const attributes = () => (before ? readAttributes(before.attributes) : noAttributes)
      const tagKeys = before ? limits.tagKeys.get(id) : replacesTags ? undefined : new Set<string>()
      const { accepted } = mergeContacts(same, attributes, tagKeys, outcomes)
      for (const contact of accepted) {
        if (list && needsConfirmation(list, contact.confirmed) && !isUnsubscribed(contact)) requirePublicUrl(ctx)
        outcomes.set(contact, { id, created: !exists })
        exists = true
      }
      if (!before && exists && remembered.size < maxRememberedAddresses) remembered.add(hashOf(key))
    }
  }
  return async (entries) => {
    const contacts = new Map<string, NewContact[]>()
    for (const entry of entries) if (!isRefused(entry)) groupByEmail(contacts, entry)
    const outcomes = new Map<NewContact, RowOutcome>()
    // Divided by address: rows of one address that are checked apart would not count against its limits together.
    const firsts = [...contacts.values()].map(([first]) => first!)
    for await (const batch of batchesOf(ctx, firsts, false)) {
      await check(new Map([...batch.contacts.keys()].map((key) => [key, contacts.get(key)!])), outcomes)
    }
    return entries.map((entry) => (isRefused(entry) ? entry : outcomes.get(entry)!))
  }
}

/** 48 bits: less memory than the address, and a collision is very unlikely. */
function hashOf(key: string): number {
  return hash('sha256', key, 'buffer').readUIntBE(0, 6)
}
