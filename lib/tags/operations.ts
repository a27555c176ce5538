import { randomUUID } from 'node:crypto'
import { audit } from '../audit/operations.ts'
import { lockClient } from '../clients/operations.ts'
import { distinct } from '../collections.ts'
import { type Context, now, type Tx } from '../context.ts'
import { invalid, notFound } from '../errors.ts'
import { inBatches } from '../jobs/batches.ts'
import { type JobHandlers, runInTwoPasses } from '../jobs/operations.ts'
import { listPage, mapPage, type Page, type PageInput } from '../page.ts'
import { parse, requireId } from '../parse.ts'
import { fold } from '../spelling.ts'
import { transact } from '../storage/transaction.ts'
import * as queries from './queries.ts'
import { NewTag, type Tag, type TagInput, tagFrom } from './schema.ts'

export { deleteTagsOfClient } from './queries.ts'

const clearTag = 'clear tag'

export const tagJobs: JobHandlers = { [clearTag]: inBatches(queries.deleteContactTags) }

/**
 * Returns one page of the client's tags, by ascending id.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listTags(ctx: Context, query?: PageInput): Promise<Page<Tag>> {
  const page = await listPage(query, (range) => queries.tags.list(ctx, { client_id: ctx.clientId, ...range }, range))
  return mapPage(page, tagFrom)
}

/** @throws MailkeepError `validation_failed`: also when the name is taken. */
export async function createTag(ctx: Context, input: TagInput): Promise<Tag> {
  const { name } = parse(NewTag, input)
  return transact(ctx, async (tx) => {
    const row = await insertTag(tx, name)
    if (!row) throw nameTaken()
    audit(tx, 'tag.created', row.id)
    return tagFrom(row)
  })
}

/**
 * Renames a tag.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: also when the name is taken.
 */
export async function updateTag(ctx: Context, id: number, input: TagInput): Promise<Tag> {
  const { name } = parse(NewTag, input)
  return transact(ctx, async (tx) => {
    const key = { client_id: tx.clientId, id }
    requireId('tagId', id)
    if (!(await queries.tags.find(tx, key))) throw notFound('tag')
    const name_key = fold(name)
    const holder = await queries.findTagByKey(tx, { client_id: tx.clientId, name_key })
    if (holder && holder.id !== id) throw nameTaken()
    const row = await queries.renameTag(tx, { ...key, name, name_key })
    if (!row) throw notFound('tag')
    audit(tx, 'tag.updated', id)
    return tagFrom(row)
  })
}

/** Locks those of the tags that exist, so that they are not deleted before this transaction ends. */
export async function lockTags(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await queries.tags.lockAll(tx, { client_id: tx.clientId, ids })
}

/**
 * Deletes a tag, and removes it from all contacts.
 *
 * @throws MailkeepError `not_found`; `conflict`: a newsletter with the tag in its audience is choosing its recipients, for
 *   some seconds after its start.
 */
export async function deleteTag(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('tagId', id)
    if (!(await queries.tags.delete(tx, { client_id: tx.clientId, id }))) throw notFound('tag')
    audit(tx, 'tag.deleted', id)
    await tx.local.onTagDeleted(tx, id)
    await runInTwoPasses(tx, clearTag, { targetId: id })
  })
}

/** Returns the existing tags among these ids, by ascending id. */
export async function findTags(ctx: Context, ids: readonly number[]): Promise<Tag[]> {
  return (await queries.tags.findAll(ctx, { client_id: ctx.clientId, ids })).map(tagFrom)
}

/** Returns the tags of these names that exist, by the folded name. */
export async function findTagsByName(ctx: Context, names: readonly string[]): Promise<Map<string, Tag>> {
  const name_keys = distinct(names.map(fold))
  const found = await queries.listTagsByKeys(ctx, { client_id: ctx.clientId, name_keys })
  return new Map(found.map((row) => [row.name_key, tagFrom(row)]))
}

/**
 * Returns the ids of the tags of these names, by the folded name. Creates missing tags.
 *
 * @param known The result of `findTagsByName`, if there is one.
 */
export async function ensureTags(
  tx: Tx,
  names: readonly string[],
  known?: ReadonlyMap<string, Tag>,
): Promise<Map<string, number>> {
  if (names.length === 0) return new Map()
  const ids = new Map<string, number>()
  for (const [key, { id }] of known ?? (await findTagsByName(tx, names))) ids.set(key, id)
  const missing = new Map<string, string>()
  for (const name of names) {
    const key = fold(name)
    if (!ids.has(key) && !missing.has(key)) missing.set(key, name) // the first spelling counts
  }
  // Two transactions that create the same tags in different orders would deadlock.
  if (missing.size > 0) await lockClient(tx)
  for (const [key, name] of missing) ids.set(key, await ensureTag(tx, name))
  return ids
}

async function ensureTag(tx: Tx, name: string): Promise<number> {
  const row =
    (await insertTag(tx, name)) ?? (await queries.findTagByKey(tx, { client_id: tx.clientId, name_key: fold(name) }))
  return row ? row.id : await ensureTag(tx, name) // another transaction deleted it after the insert failed
}

function insertTag(tx: Tx, name: string) {
  return queries.insertTag(tx, {
    client_id: tx.clientId,
    uuid: randomUUID(),
    name,
    name_key: fold(name),
    created_at: now(tx),
  })
}

function nameTaken() {
  return invalid('name', 'There is a tag of this name already.')
}
