/** Runs operations of a batch that concern different contacts, those of one kind together. */
import { distinct } from '../collections.ts'
import { type Change, recordHistory } from '../consent/history.ts'
import { now, requirePublicUrl, type Tx } from '../context.ts'
import { inputLimits } from '../limits.ts'
import { findLists } from '../lists/operations.ts'
import type { List } from '../lists/schema.ts'
import { fold } from '../spelling.ts'
import { findTagsByName } from '../tags/operations.ts'
import { type EventEndpoints, findEventEndpoints } from '../webhooks/outbox.ts'
import type { BatchOperation, BatchOperationName, BatchOperationResult } from './batch-schema.ts'
import { saveContacts, savedEvents } from './bulk.ts'
import { findListsNearLimit, findTagsNearLimit, type StoredByEmail } from './bulk-limits.ts'
import { addTagsToMany, joinLists } from './bulk-memberships.ts'
import { isRefused, orRefused } from './bulk-merge.ts'
import * as bulk from './bulk-queries.ts'
import { needsConfirmation } from './double-opt-in.ts'
import { auditEvents, type ContactEvent, raiseEventsOfContacts, tagEvents } from './events.ts'
import { tooMany } from './limits.ts'
import { eraseContact, leaveList } from './operations.ts'
import { subscribeAgain } from './past-changes.ts'
import * as queries from './queries.ts'
import { mergeAttributes, replaceTags, saveChanges } from './save.ts'

/** An operation with its position in the batch and its contact's folded e-mail address. */
export interface Planned extends BatchOperation {
  readonly at: number
  readonly key: string
}

/** Operations by their contact's folded e-mail address. */
export type Step = ReadonlyMap<string, Planned>

interface State {
  readonly endpoints: EventEndpoints
  readonly lists: ReadonlyMap<number, List>
  /** The contacts that exist, by folded e-mail address. */
  readonly stored: ReadonlyMap<string, StoredByEmail>
  readonly events: ContactEvent[]
  readonly changes: Change[]
  readonly results: Map<number, BatchOperationResult>
}

/** @returns The results, with the positions of their operations. */
export async function runStep(tx: Tx, step: Step): Promise<Iterable<[number, BatchOperationResult]>> {
  const operations = [...step.values()]
  const stored = await bulk.lockContactsByEmail(tx, { client_id: tx.clientId, email_keys: [...step.keys()] })
  const listIds = distinct(operations.flatMap(({ lists }) => lists))
  const state: State = {
    endpoints: await findEventEndpoints(tx),
    lists: listIds.length > 0 ? await findLists(tx, listIds) : new Map(),
    stored: new Map(stored.map((contact) => [contact.email_key, contact])),
    events: [],
    changes: [],
    results: new Map(),
  }
  await refuseOverLimits(tx, state, refuseImpossible(tx, state, operations))
  for (const [op, run] of Object.entries(kinds)) {
    const some = operations.filter((each) => each.op === op && !state.results.has(each.at))
    if (some.length > 0) await run(tx, state, some)
  }
  auditEvents(tx, state.events)
  await recordHistory(tx, state.changes)
  await raiseEventsOfContacts(tx, state.endpoints, state.events)
  return state.results
}

const joins: ReadonlySet<BatchOperationName> = new Set(['upsert', 'add_to_list'])

/**
 * Refuses operations on contacts and lists that do not exist, and those that need a confirmation link while no public URL is
 * configured. Returns the others.
 */
function refuseImpossible(tx: Tx, { stored, lists, results }: State, operations: readonly Planned[]): Planned[] {
  return operations.filter((operation) => {
    const { at, op, key, id, listField, confirmed } = operation
    const missing = operation.lists.findIndex((listId) => !lists.has(listId))
    const contact = stored.get(key)
    if (op !== 'upsert' && (!contact || (id !== undefined && contact.id !== id))) {
      refuse(results, at, { [id === undefined ? 'email' : 'id']: ['No such contact.'] })
    } else if (missing >= 0) {
      refuse(results, at, { [listField === 'lists' ? `lists.${missing}` : listField]: ['No such list.'] })
    } else if (joins.has(op) && operation.lists.some((listId) => needsConfirmation(lists.get(listId)!, confirmed))) {
      const refused = orRefused(() => requirePublicUrl(tx))
      if (typeof refused === 'object') refuse(results, at, refused.refused.errors!)
    }
    return !results.has(at)
  })
}

function refuse(results: State['results'], at: number, errors: Record<string, string[]>): void {
  results.set(at, { status: 'refused', errors })
}

/** Refuses operations that would give a contact too many lists or tags. `saveContacts` checks those of `upsert`. */
async function refuseOverLimits(tx: Tx, { stored, results }: State, operations: readonly Planned[]): Promise<void> {
  const adding = new Map<number, Planned>()
  for (const each of operations) {
    const contact = stored.get(each.key)
    if (contact && each.op !== 'remove_from_list' && each.op !== 'untag') adding.set(contact.id, each)
  }
  const counts = (what: 'lists' | 'tags') => new Map([...adding].map(([id, operation]) => [id, operation[what].length]))
  for (const [id, taken] of await findListsNearLimit(tx, counts('lists'))) {
    const { at, lists } = adding.get(id)!
    if (new Set([...taken, ...lists]).size > inputLimits.lists) refuse(results, at, tooMany('lists').errors!)
  }
  for (const [id, taken] of await findTagsNearLimit(tx, counts('tags'))) {
    const { at, tags } = adding.get(id)!
    if (new Set([...taken, ...tags.map(fold)]).size > inputLimits.tags) refuse(results, at, tooMany('tags').errors!)
  }
}

type Run = (tx: Tx, state: State, operations: readonly Planned[]) => Promise<void>

/** Runs the operations of each kind, in this order. */
const kinds: Readonly<Record<BatchOperationName, Run>> = {
  async upsert(tx, state, operations) {
    const contacts = new Map(operations.map(({ key, contact }) => [key, [contact!]]))
    const saved = await saveContacts(tx, undefined, contacts)
    const ids = new Map<Planned, number>()
    for (const operation of operations) {
      const result = saved.results.get(operation.contact!)!
      if (result.refused) {
        refuse(state.results, operation.at, result.refused.errors!)
        continue
      }
      ids.set(operation, result.id)
      state.results.set(operation.at, { status: result.created ? 'created' : 'updated', id: result.id })
    }
    state.events.push(...savedEvents(saved, [...ids.values()]))
    const tags = new Map([...ids.values()].map((id) => [id, saved.tags.get(id)!]))
    state.events.push(...(await addTagsToMany(tx, tags, true)))
    await joinAll(tx, state, [...ids])
  },
  async update(tx, state, operations) {
    for (const operation of operations) {
      const stored = state.stored.get(operation.key)!
      const { texts, tags, attributes } = operation.change!
      if (tags) await tx.transaction.pause() // a contact may have hundreds of other tags
      const merged = orRefused(() => ({ attributes: mergeAttributes(stored, attributes) }))
      if (isRefused(merged)) {
        refuse(state.results, operation.at, merged.refused.errors!)
        continue
      }
      const { id: contactId } = stored
      if (await saveChanges(tx, stored, texts, merged.attributes))
        state.events.push({ type: 'contact.updated', contactId })
      if (tags) state.events.push(...(await replaceTags(tx, contactId, tags)))
      state.results.set(operation.at, { status: 'updated', id: contactId })
    }
  },
  async tag(tx, state, operations) {
    const tags = new Map(operations.map((operation) => [state.stored.get(operation.key)!.id, operation.tags]))
    state.events.push(...(await addTagsToMany(tx, tags, true)))
    finish(state, operations)
  },
  async untag(tx, state, operations) {
    const found = await findTagsByName(
      tx,
      operations.flatMap(({ tags }) => tags),
    )
    for (const { key, tags } of operations) {
      const { id: contact_id } = state.stored.get(key)!
      const tag_ids = tags.flatMap((name) => found.get(fold(name))?.id ?? [])
      const removed = tag_ids.length > 0 ? await queries.deleteContactTags(tx, { contact_id, tag_ids }) : []
      const removedIds = removed.map(({ tag_id }) => tag_id)
      state.events.push(...tagEvents('contact.untagged', contact_id, removedIds))
    }
    finish(state, operations)
  },
  async add_to_list(tx, state, operations) {
    await joinAll(
      tx,
      state,
      operations.map((operation) => [operation, state.stored.get(operation.key)!.id]),
    )
    finish(state, operations)
  },
  async remove_from_list(tx, state, operations) {
    for (const { key, lists } of operations) {
      for (const listId of lists) {
        const { changes, events } = await leaveList(tx, state.stored.get(key)!.id, state.lists.get(listId)!)
        state.changes.push(...changes)
        state.events.push(...events)
      }
    }
    finish(state, operations)
  },
  async unsubscribe(tx, state, operations) {
    const ids = operations.map(({ key }) => state.stored.get(key)!.id)
    const change = { client_id: tx.clientId, ids, unsubscribed_at: now(tx), by_contact: false }
    for (const { id: contactId } of await bulk.markAllUnsubscribed(tx, change)) {
      state.events.push({ type: 'contact.unsubscribed', contactId })
      state.changes.push({ type: 'unsubscribed', contactId })
    }
    finish(state, operations)
  },
  async resubscribe(tx, state, operations) {
    const ids = operations.map(({ key }) => state.stored.get(key)!.id)
    for (const contactId of await subscribeAgain(tx, ids)) {
      state.events.push({ type: 'contact.resubscribed', contactId })
      state.changes.push({ type: 'resubscribed', contactId })
    }
    finish(state, operations)
  },
  async delete(tx, state, operations) {
    for (const { key } of operations) {
      await tx.transaction.pause()
      await eraseContact(tx, state.stored.get(key)!.id)
    }
    finish(state, operations)
  },
}

function finish({ stored, results }: State, operations: readonly Planned[]): void {
  for (const { at, key } of operations) results.set(at, { status: 'done', id: stored.get(key)!.id })
}

async function joinAll(tx: Tx, state: State, contacts: readonly (readonly [Planned, number])[]): Promise<void> {
  const joinings = contacts.flatMap(([{ lists, confirmed }, contactId]) =>
    lists.map((id) => ({ contactId, list: state.lists.get(id)!, confirmed })),
  )
  state.events.push(...(await joinLists(tx, joinings)))
}
