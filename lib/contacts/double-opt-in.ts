/** Lists with double opt-in: a contact joins when it follows the link of its confirmation mail. */
import { recordHistory } from '../consent/history.ts'
import { confirmationLifetimeMs } from '../consent/links.ts'
import { type Context, isAdmin, now, requirePublicUrl, type Tx } from '../context.ts'
import { MailkeepError } from '../errors.ts'
import { maxRowsPerBatch, runBatches } from '../jobs/operations.ts'
import { inputLimits } from '../limits.ts'
import { findLists } from '../lists/operations.ts'
import { type List, plainList } from '../lists/schema.ts'
import { timestamp } from '../time.ts'
import type { ContactEvent } from './events.ts'
import { tooMany } from './limits.ts'
import * as pending from './pending-queries.ts'
import * as queries from './queries.ts'

/** A contact is asked again only after this time. */
const minMsBetweenRequests = 600_000

/**
 * Checks that the caller may skip confirmations.
 *
 * @throws MailkeepError `forbidden`: the caller is not an admin.
 */
export function requireMayConfirm(ctx: Context, confirmed: boolean | undefined): void {
  if (!confirmed || isAdmin(ctx)) return
  throw new MailkeepError('forbidden', '`confirmed: true` needs a token with the role admin.')
}

/** Whether contacts of the list must confirm, unless the caller says that they have. */
export function needsConfirmation({ double_opt_in }: List, confirmed: boolean | undefined): boolean {
  return double_opt_in === true && confirmed !== true
}

/** A contact, and the list that it wants to join. */
export interface Joining {
  readonly contactId: number
  readonly list: List
}

/**
 * Asks contacts to confirm that they join a list. Members are not asked, nor is a contact that was asked a moment ago.
 *
 * @returns The events of those that were asked.
 * @throws MailkeepError `validation_failed` on `public_url`: the public URL is not configured.
 */
export async function requestConfirmations(tx: Tx, joinings: readonly Joining[]): Promise<ContactEvent[]> {
  if (joinings.length === 0) return []
  requirePublicUrl(tx)
  await tx.local.onConfirmationRequests(tx)
  const lists = new Map(joinings.map(({ list }) => [list.id, list]))
  const asked = await pending.insertRequests(tx, {
    pairs: joinings.map(({ contactId, list }) => ({ contact_id: contactId, list_id: list.id })),
    requested_at: now(tx),
    requested_before: timestamp(tx.clock() - minMsBetweenRequests),
    max_lists: inputLimits.lists,
  })
  await recordHistory(
    tx,
    asked.map(({ contact_id, list_id }) => ({
      contactId: contact_id,
      type: 'confirmation_requested',
      listId: list_id,
    })),
  )
  return asked.map(({ contact_id, list_id }) => ({
    type: 'contact.confirmation_requested',
    contactId: contact_id,
    list: lists.get(list_id)!,
  }))
}

/**
 * Asks one contact. @returns Whether it was asked now. A request of a moment ago is kept.
 *
 * @throws MailkeepError `validation_failed`: no public URL, or the contact waits for too many lists.
 */
export async function requestConfirmation(tx: Tx, contactId: number, list: List): Promise<boolean> {
  if ((await requestConfirmations(tx, [{ contactId, list }])).length > 0) return true
  const membership = { contact_id: contactId, list_id: list.id }
  if (await queries.findMembership(tx, membership)) return false
  if (await pending.findRequest(tx, { ...membership, requested_since: validSince(tx) })) return false
  throw tooMany('lists')
}

/** Forgets the requests of contacts that have joined without a confirmation. */
export async function forgetRequests(tx: Tx, joinings: readonly Joining[]): Promise<void> {
  const pairs = joinings
    .filter(({ list }) => list.double_opt_in)
    .map(({ contactId, list }) => ({ contact_id: contactId, list_id: list.id }))
  if (pairs.length > 0) await pending.deleteRequests(tx, { pairs })
}

/** Returns the lists that a contact was asked to confirm. */
export async function findPendingLists(ctx: Context, contactId: number): Promise<List[]> {
  const requests = await pending.listRequests(ctx, { contact_id: contactId, requested_since: validSince(ctx) })
  const lists = await findLists(
    ctx,
    requests.map(({ list_id }) => list_id),
  )
  return [...lists.values()].map(plainList)
}

/** Requests before this time have expired. */
export function validSince(ctx: Context): string {
  return timestamp(ctx.clock() - confirmationLifetimeMs)
}

/** Deletes requests whose links have expired, in batches. */
export async function deleteExpiredRequests(ctx: Context): Promise<void> {
  const batch = { requested_before: validSince(ctx), limit: maxRowsPerBatch }
  await runBatches(ctx, (tx) => pending.deleteExpiredRequests(tx, batch))
}
