/** Addresses that must not be mailed. */
import { type RawBuilder, sql } from 'kysely'
import { audit } from '../audit/operations.ts'
import { type Context, now, type Tx } from '../context.ts'
import { invalid, type MailkeepError, notFound } from '../errors.ts'
import { listPage, mapPage, type Page, type PageInput, type Range } from '../page.ts'
import { foldAddress, parse, requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { hashesOf } from './address-hash.ts'
import * as queries from './queries.ts'
import {
  NewSuppression,
  type Suppression,
  type SuppressionInput,
  type SuppressionReason,
  suppressionFrom,
} from './schema.ts'

export { deleteSuppressionsOfClient } from './queries.ts'

/**
 * Returns one page of the client's suppressions, by ascending id.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listSuppressions(ctx: Context, query?: PageInput): Promise<Page<Suppression>> {
  const read = (range: Range) => queries.suppressions.list(ctx, { client_id: ctx.clientId, ...range }, range)
  return mapPage(await listPage(query, read), suppressionFrom)
}

/**
 * Suppresses an address: it is not mailed, whether or not a contact has it. A contact with it can still be stored. An
 * address that is suppressed already keeps its reason.
 *
 * @returns The suppression, and whether it is new.
 * @throws MailkeepError `validation_failed` on `email`
 */
export async function createSuppression(
  ctx: Context,
  input: SuppressionInput,
): Promise<{ suppression: Suppression; created: boolean }> {
  const { email } = parse(NewSuppression, input)
  return transact(ctx, async (tx) => {
    const result = await suppress(tx, email, 'manual')
    await reportContact(tx, email)
    return result
  })
}

/** Reports the contact whose address an answer shows, so that the stored result is deleted with the contact. */
async function reportContact(tx: Tx, email: string): Promise<void> {
  const { onContactRead } = tx.local
  if (!onContactRead) return
  const contact = await queries.findContactOfAddress(tx, { client_id: tx.clientId, email_key: foldAddress(email) })
  if (contact) onContactRead(contact.id)
}

/** Suppresses an address for a reason, unless it is suppressed already. */
export async function suppress(
  tx: Tx,
  email: string,
  reason: Exclude<SuppressionReason, 'erased'>,
): Promise<{ suppression: Suppression; created: boolean }> {
  const email_key = foldAddress(email)
  const stored = await findByKey(tx, email_key)
  if (stored) return { suppression: suppressionFrom(stored), created: false }
  const row = await queries.insertSuppression(tx, {
    ...keyOf(tx, email_key),
    email,
    email_key,
    reason,
    created_at: now(tx),
  })
  if (!row) return await suppress(tx, email, reason) // another transaction has just inserted it
  audit(tx, 'suppression.created', row.id)
  return { suppression: suppressionFrom(row), created: true }
}

/**
 * Removes a suppression, so that the address can be mailed, and stored if it was erased.
 *
 * @throws MailkeepError `not_found`
 */
export async function deleteSuppression(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('suppressionId', id)
    if (!(await queries.suppressions.delete(tx, { client_id: tx.clientId, id }))) throw notFound('suppression')
    audit(tx, 'suppression.deleted', id)
  })
}

/**
 * Forgets the address of a contact that was erased, with the suppression that shows it.
 *
 * @param suppresses Whether the address stays suppressed: as a hash only, so that it cannot be stored again.
 */
export async function forgetAddress(tx: Tx, email: string, suppresses: boolean): Promise<void> {
  const email_key = foldAddress(email)
  const other = await queries.findContactOfAddress(tx, { client_id: tx.clientId, email_key })
  if (other) {
    // An upgrade keeps two contacts whose addresses became one. The other one still shows it.
    if (suppresses) await suppress(tx, other.email, 'manual')
    return
  }
  if (suppresses) {
    const row = await queries.saveErased(tx, { ...keyOf(tx, email_key), created_at: now(tx) })
    audit(tx, 'suppression.created', row!.id)
  }
  const deleted = await queries.deleteByAddress(tx, { client_id: tx.clientId, email_key })
  for (const { id } of deleted) audit(tx, 'suppression.deleted', id)
}

/** @throws MailkeepError `validation_failed` on `email`: a contact with this address was erased and suppressed. */
export async function refuseErased(tx: Tx, emailKey: string): Promise<void> {
  if ((await findByKey(tx, emailKey))?.reason === 'erased') throw addressErased()
}

/** Returns those of the keys whose addresses were erased and suppressed. Costs one statement if the client has none. */
export async function findErased(ctx: Context, emailKeys: readonly string[]): Promise<ReadonlySet<string>> {
  if (!(await queries.findAnyErased(ctx, { client_id: ctx.clientId }))) return new Set()
  const keys = new Map<string, string>()
  for (const key of emailKeys) for (const hash of hashesOf(ctx, ctx.clientId, key)) keys.set(hash, key)
  const erased = await queries.listErased(ctx, { client_id: ctx.clientId, email_hashes: [...keys.keys()] })
  return new Set(erased.map(({ email_hash }) => keys.get(email_hash)!))
}

export function addressErased(): MailkeepError {
  return invalid(
    'email',
    'The contact with this address was erased, and the address was suppressed: it cannot be stored again until its suppression is deleted.',
  )
}

/** Whether an address of the client must not be mailed. */
export async function isAddressSuppressed(ctx: Context, email: string): Promise<boolean> {
  return (await findSuppression(ctx, email)) !== null
}

/** Returns the suppression of an address; null if there is none. */
export async function findSuppression(ctx: Context, email: string): Promise<Suppression | null> {
  const row = await findByKey(ctx, foldAddress(email))
  return row ? suppressionFrom(row) : null
}

async function findByKey(ctx: Context, emailKey: string) {
  for (const email_hash of hashesOf(ctx, ctx.clientId, emailKey)) {
    const row = await queries.findSuppression(ctx, { client_id: ctx.clientId, email_hash })
    if (row) return row
  }
  return undefined
}

function keyOf({ clientId, local }: Context, emailKey: string) {
  return { client_id: clientId, email_hash: local.addresses.of(clientId, emailKey) }
}

/** A condition on a statement: the folded address of a client must not be mailed. It costs one index seek. */
export function isSuppressed(clientId: RawBuilder<unknown>, emailKey: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from mailkeep_suppression as s
    where s.client_id = ${clientId} and s.email_key = ${emailKey})`
}
