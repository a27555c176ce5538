/** Joins two contacts of one person. `bulk-merge.ts` merges the inputs of a batch that have the same e-mail address. */

import { audit } from '../audit/operations.ts'
import { moveHistoryOfContact, writeHistory } from '../consent/history.ts'
import type { Context, Tx } from '../context.ts'
import { invalid } from '../errors.ts'
import { moveResultsOfContact } from '../idempotency/operations.ts'
import { type BatchStep, inBatches } from '../jobs/batches.ts'
import { type JobHandlers, runInTwoPasses } from '../jobs/operations.ts'
import { findLists } from '../lists/operations.ts'
import { closedObject, foldAddress, parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { moveEventsOfContact } from '../webhooks/deletion.ts'
import { findEventEndpoints, raise } from '../webhooks/outbox.ts'
import { changeAttributes, readAttributes, writeAttributes } from './attributes.ts'
import { type ContactKey, contactIdOf, Key, lockContact } from './contact-key.ts'
import { clearContact } from './deletion.ts'
import { forgetRequests } from './double-opt-in.ts'
import { type ContactEvent, raiseDeleted, raiseEventsOfContacts } from './events.ts'
import { requireAtMost } from './limits.ts'
import * as mergeQueries from './merging-queries.ts'
import { keepCreations, keepUnsubscriptions } from './past-changes.ts'
import { copyRequests } from './pending-queries.ts'
import * as queries from './queries.ts'
import { getContact } from './reading.ts'
import { type StoredContact, saveChanges } from './save.ts'
import { type Contact, type ContactTexts, textNames } from './schema.ts'

export interface MergeInput {
  /** The contact that stays. */
  readonly into: ContactKey
}

export const Merge = closedObject({ into: Key })

/**
 * Merges a contact into another contact of the same person, and deletes it. The other contact gets its tags, lists,
 * topics and stored events, and the values that it does not have itself. If one of the two has unsubscribed, the merged
 * contact is unsubscribed, because a merge subscribes no one. Raises `contact.deleted` for the merged contact; for the
 * other `contact.updated`, and the events of what it joins. Links in mails to the merged contact work for the other.
 *
 * @returns The contact that stays.
 * @throws MailkeepError `not_found`: no such contact; `validation_failed`: `into` is the same contact, or the contact
 *   would have too many tags, lists, topics or attributes.
 */
export async function mergeContact(ctx: Context, key: ContactKey, input: MergeInput): Promise<Contact> {
  const { into } = parse(Merge, input)
  return transact(ctx, async (tx) => {
    const id = await contactIdOf(tx, key)
    const targetId = await contactIdOf(tx, into)
    if (id === targetId) throw invalid('into', 'This must be another contact.')
    await tx.local.onMerge(tx, id)
    const { source, target } = await lockBoth(tx, id, targetId)
    await mergeValues(tx, source, target)
    const joined = await moveMemberships(tx, id, targetId)
    await copyRequests(tx, { source: id, target: targetId })
    const isUnsubscribed = (await mergeQueries.copyUnsubscription(tx, { source: id, target: targetId })) > 0
    keepCreations(tx, [id])
    if (!isUnsubscribed) keepUnsubscriptions(tx, [id]) // otherwise the target shows it
    await deleteSource(tx, source, targetId)
    await takeKey(tx, source, target)
    audit(tx, 'contact.deleted', id)
    audit(tx, 'contact.updated', targetId)
    if (isUnsubscribed) {
      writeHistory(tx, [{ contactId: targetId, type: 'unsubscribed' }])
      audit(tx, 'contact.unsubscribed', targetId)
    }
    const contact = await getContact(tx, targetId)
    if (contact.unsubscribed_at) {
      await tx.local.onMemberships(
        tx,
        [id, targetId].map((contactId) => ({ contactId, type: 'unsubscribed' })),
      )
    }
    if (isUnsubscribed) await raise(tx, 'contact.unsubscribed', { contact }, targetId)
    const events: ContactEvent[] = [{ type: 'contact.updated', contactId: targetId }, ...joined]
    await raiseEventsOfContacts(tx, await findEventEndpoints(tx), events)
    return contact
  })
}

/** Locks both in the order of their ids, so that two merges of the same contacts cannot deadlock. */
async function lockBoth(tx: Tx, id: number, targetId: number) {
  const first = await lockContact(tx, Math.min(id, targetId))
  const second = await lockContact(tx, Math.max(id, targetId))
  return id < targetId ? { source: first, target: second } : { source: second, target: first }
}

/** Gives the target the values that it does not have. */
async function mergeValues(tx: Tx, source: StoredContact, target: StoredContact): Promise<void> {
  const texts: { -readonly [Name in keyof ContactTexts]?: string } = {}
  for (const name of textNames) if (target[name] === '') texts[name] = source[name]
  const merged = changeAttributes(readAttributes(source.attributes), readAttributes(target.attributes))
  await saveChanges(tx, target, texts, writeAttributes(merged))
}

/** Gives the target the key of its address if the source had it. An upgrade leaves such contacts: see `addressKeys`. */
async function takeKey(tx: Tx, source: StoredContact, { id, email }: StoredContact): Promise<void> {
  const email_key = foldAddress(email)
  if (email_key === foldAddress(source.email)) await mergeQueries.takeKey(tx, { client_id: tx.clientId, id, email_key })
}

/** @returns The events of the tags, lists and topics that the target did not have. */
async function moveMemberships(tx: Tx, source: number, target: number): Promise<ContactEvent[]> {
  const copy = async (kind: 'tags' | 'lists' | 'topics') => {
    const copied = await mergeQueries.copyMemberships[kind](tx, { source, target })
    if (copied.length > 0) await requireAtMost(tx, kind, target)
    return copied.map(({ id }) => id)
  }
  const [tagIds, listIds, topicIds] = [await copy('tags'), await copy('lists'), await copy('topics')]
  const lists = await findLists(tx, listIds)
  // The sequences of the lists continue with the enrolments of the source: `recordHistory` would start them again.
  writeHistory(tx, [
    ...listIds.map((listId) => ({ contactId: target, type: 'list_joined' as const, listId })),
    ...topicIds.map((topicId) => ({ contactId: target, type: 'topic_subscribed' as const, topicId })),
  ])
  await forgetRequests(
    tx,
    [...lists.values()].map((list) => ({ contactId: target, list })),
  )
  return [
    ...tagIds.map((tagId) => ({ type: 'contact.tagged' as const, contactId: target, tagId })),
    ...[...lists.values()].map((list) => ({ type: 'contact.subscribed' as const, contactId: target, list })),
    ...topicIds.map((topicId) => ({ type: 'contact.topic_subscribed' as const, contactId: target, topicId })),
  ]
}

const mergeKind = 'merge contact'

/**
 * Moves the stored events and answers that show a merged contact, so that an erasure of the person finds them. If the
 * target was merged too before that, they belong to the contact that stays. If it was erased, they are erased.
 *
 * @param more Further steps of a merge, of slices above this one.
 */
export function mergeJobs(more: readonly BatchStep[]): JobHandlers {
  const moveAll = inBatches(...more, moveHistoryOfContact, moveEventsOfContact, moveResultsOfContact)
  return {
    [mergeKind]: async (tx, job) => {
      const into = await lockTarget(tx, job.targetId)
      if (into === undefined) return await tx.local.jobs.handlers[clearContact]!(tx, job)
      return await moveAll(tx, { ...job, state: { into } })
    },
  }
}

/** Locks the contact that stays. Returns undefined if it was erased. */
async function lockTarget(tx: Tx, mergedId: number): Promise<number | undefined> {
  const found = await mergeQueries.findTarget(tx, { contact_id: mergedId })
  if (!found) return undefined
  const { into_id: id } = found
  // Without it, another transaction has just merged or erased the target.
  return (await queries.lockContact(tx, { client_id: tx.clientId, id })) ? id : await lockTarget(tx, mergedId)
}

async function deleteSource(tx: Tx, { id }: StoredContact, into: number): Promise<void> {
  await mergeQueries.moveMerged(tx, { source: id, target: into })
  const { search, uuid, email } = (await queries.deleteContact(tx, { client_id: tx.clientId, id }))!
  tx.transaction.searchChanges.push({ clientId: tx.clientId, contactId: id, before: search, after: null })
  await mergeQueries.insertMerged(tx, { contact_id: id, client_id: tx.clientId, uuid, into_id: into })
  await runInTwoPasses(tx, mergeKind, { targetId: id })
  await raiseDeleted(tx, { id, uuid, email })
}
