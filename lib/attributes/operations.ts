import { audit } from '../audit/operations.ts'
import type { Context, Tx } from '../context.ts'
import { invalid, MailkeepError } from '../errors.ts'
import { lockBatches } from '../jobs/batch-queue.ts'
import { inBatches } from '../jobs/batches.ts'
import {
  continueJob,
  done,
  type Job,
  type JobHandlers,
  type JobResult,
  maxRowsPerBatch,
  runInTwoPasses,
  runOrEnqueue,
  secondPassDelayMs,
} from '../jobs/operations.ts'
import { parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import * as queries from './queries.ts'
import { type AttributeSettings, AttributeSettingsChange, type AttributeSettingsInput, valueKeyOf } from './schema.ts'

export { deleteAttributesOfClient } from './queries.ts'

const fillAttribute = 'fill attribute'
const clearAttribute = 'clear attribute'

export const attributeJobs: JobHandlers = {
  [fillAttribute]: fillBatch,
  [clearAttribute]: inBatches(queries.deleteValues),
}

/** Returns the attributes by which contacts can be filtered. */
export async function getAttributeSettings(ctx: Context): Promise<AttributeSettings> {
  const rows = await listIndexed(ctx)
  return { indexed: rows.sort((a, b) => a.id - b.id).map(({ name }) => name) }
}

/**
 * Replaces the attributes by which contacts can be filtered. A stored job indexes the stored contacts. Until it has,
 * filtering by a new attribute fails with `unavailable`. Up to 500 contacts are indexed immediately.
 *
 * @throws MailkeepError `validation_failed`: more than 10 names, or not an attribute's name; `conflict`: a newsletter whose
 *   segment filters by an attribute that is removed is choosing its recipients, for some seconds after its start.
 */
export async function updateAttributeSettings(ctx: Context, input: AttributeSettingsInput): Promise<AttributeSettings> {
  const { indexed } = parse(AttributeSettingsChange, input)
  return transact(ctx, async (tx) => {
    // Not the client, which saves lock after their contacts: the first batch of the index locks contacts.
    await lockBatches(tx)
    const stored = await listIndexed(tx)
    const names = new Set(indexed)
    const removed = stored.filter(({ name }) => !names.delete(name))
    for (const name of names) {
      const row = await queries.insertIndexed(tx, { client_id: tx.clientId, name })
      await runOrEnqueue(tx, fillAttribute, { targetId: row!.id, state: {} })
    }
    // After the contacts are locked: a save writes the index of a contact that it has locked, and both would deadlock.
    // By ascending id, the order in which a newsletter that starts locks them.
    for (const { id, name } of removed.sort((a, b) => a.id - b.id)) {
      await queries.deleteIndexed(tx, { client_id: tx.clientId, id })
      await tx.local.onAttributeRemoved(tx, name)
      await runInTwoPasses(tx, clearAttribute, { targetId: id })
    }
    audit(tx, 'attributes.declared', tx.clientId)
    return { indexed }
  })
}

/** State of the job that indexes the stored contacts. */
interface FillState {
  /** Id of the contact that was indexed last. */
  readonly after?: number
  /** Whether it repeats the work, for contacts that a transaction saved before it saw the attribute. */
  readonly isSecondPass?: boolean
}

/** The database parses all attributes of each contact, up to 256 KiB. */
const contactsPerTurn = 50

async function fillBatch(tx: Tx, { targetId, state }: Job): Promise<JobResult> {
  const attribute = await queries.findIndexed(tx, { client_id: tx.clientId, id: targetId })
  if (!attribute) return done() // it is no longer indexed
  const { after = 0, isSecondPass = false } = state as FillState
  await lockBatches(tx)
  const page = await queries.listContactIds(tx, { client_id: tx.clientId, after, limit: maxRowsPerBatch })
  const ids = page.map(({ id }) => id)
  for (let at = 0; at < ids.length; at += contactsPerTurn) {
    await tx.transaction.pause()
    const found = await queries.lockValues(tx, { ids: ids.slice(at, at + contactsPerTurn), name: attribute.name })
    const values = found.flatMap(({ id, value }) =>
      value === null ? [] : [{ contact_id: id, attribute_id: targetId, value_key: valueKeyOf(value) }],
    )
    if (values.length > 0) await queries.saveValues(tx, { values })
  }
  if (page.length === maxRowsPerBatch) return continueJob({ after: page.at(-1)!.id, isSecondPass })
  if (isSecondPass) return done()
  await queries.markReady(tx, { id: targetId })
  if (!tx.storage.dialect.concurrentWriters) return done()
  return continueJob({ after: 0, isSecondPass: true }, tx.clock() + secondPassDelayMs)
}

/** A value of an indexed attribute, as the index has it. */
export interface IndexedValue {
  readonly attribute_id: number
  readonly value_key: string
}

/**
 * Returns the index entries of attributes to filter by.
 *
 * @param field The name of the filter, for errors.
 * @throws MailkeepError `validation_failed`: an attribute is not indexed; `unavailable`: its index is being filled.
 */
export async function findIndexedValues(
  ctx: Context,
  attributes: Readonly<Record<string, string>>,
): Promise<IndexedValue[]> {
  const names = Object.keys(attributes)
  if (names.length === 0) return []
  const indexed = await requireIndexed(ctx, names, 'attributes')
  return names.map((name) => {
    const { id, ready } = indexed.get(name)!
    if (!ready) {
      throw new MailkeepError('unavailable', `The index of the attribute "${name}" is being filled: try again shortly.`)
    }
    return { attribute_id: id, value_key: valueKeyOf(attributes[name]!) }
  })
}

/** @throws MailkeepError `validation_failed`: one of the attributes is not indexed. */
export async function requireIndexed(ctx: Context, names: readonly string[], field: string) {
  const rows = await listIndexed(ctx)
  const indexed = new Map(rows.map((row) => [row.name, row]))
  const missing = names.find((name) => !indexed.has(name))
  if (missing === undefined) return indexed
  throw invalid(
    `${field}.${missing}`,
    'This is not declared. Contacts can be filtered by declared attributes only: PUT /settings/attributes, or settings.attributes.update.',
  )
}

/** A contact whose attributes have changed. */
export interface ChangedContact {
  readonly contactId: number
  /** All its attributes. */
  readonly attributes: ReadonlyMap<string, string>
  /** Whether the index has no values of the contact yet. */
  readonly isNew: boolean
}

/** The attributes by which the client's contacts can be filtered. */
export type IndexedAttributes = readonly { readonly id: number; readonly name: string }[]

/** Locks the client's indexed attributes. @returns Their names. */
export async function lockIndexed(tx: Tx): Promise<string[]> {
  return (await queries.lockIndexed(tx, { client_id: tx.clientId })).map(({ name }) => name)
}

/** Lists the client's indexed attributes, in any order. */
export function listIndexed(ctx: Context) {
  return queries.listIndexed(ctx, { client_id: ctx.clientId })
}

/** Updates the index for contacts whose attributes have changed. @param known Read if it is not given. */
export async function indexAttributes(
  tx: Tx,
  contacts: readonly ChangedContact[],
  known?: IndexedAttributes,
): Promise<void> {
  const changed = contacts.filter(({ attributes, isNew }) => !isNew || attributes.size > 0)
  if (changed.length === 0) return
  const indexed = known ?? (await listIndexed(tx))
  if (indexed.length === 0) return
  const values = changed.flatMap(({ contactId, attributes }) =>
    indexed.flatMap(({ id, name }) => {
      const value = attributes.get(name)
      return value === undefined ? [] : [{ contact_id: contactId, attribute_id: id, value_key: valueKeyOf(value) }]
    }),
  )
  for (const { contactId, attributes, isNew } of changed) {
    if (isNew) continue
    const attribute_ids = indexed.filter(({ name }) => attributes.has(name)).map(({ id }) => id)
    tx.transaction.defer(queries.deleteOtherValues(tx, { contact_id: contactId, attribute_ids }))
  }
  if (values.length > 0) tx.transaction.defer(queries.saveValues(tx, { values }))
}
