import { randomUUID } from 'node:crypto'
import { audit } from '../audit/operations.ts'
import { type Context, now, type Tx } from '../context.ts'
import { notFound } from '../errors.ts'
import { type BatchStep, inBatches } from '../jobs/batches.ts'
import { type JobHandlers, runInTwoPasses } from '../jobs/operations.ts'
import { listPage, mapPage, type Page, type PageInput } from '../page.ts'
import { parse, requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import * as queries from './queries.ts'
import { type List, ListChange, type ListChangeInput, type ListInput, listFrom, NewList } from './schema.ts'

export { deleteListsOfClient } from './queries.ts'

const clearList = 'clear list'

/** State of the job that deletes a list's rows. Jobs of version 0.1.0 have none. */
interface ClearedList {
  /** Ids of the list's topics, which were deleted with the list. */
  readonly topics?: readonly number[]
}

const deleteSubscriptions: BatchStep = async (tx, { limit, state }) => {
  const { topics = [] } = state as ClearedList
  return topics.length === 0 ? 0 : await queries.deleteSubscriptions(tx, { topic_ids: topics, limit })
}

export const listJobs: JobHandlers = {
  [clearList]: inBatches(queries.deleteMemberships, queries.deleteRequests, deleteSubscriptions),
}

/**
 * Returns one page of the client's lists, by ascending id.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listLists(ctx: Context, query?: PageInput): Promise<Page<List>> {
  const page = await listPage(query, (range) => queries.lists.list(ctx, { client_id: ctx.clientId, ...range }, range))
  return mapPage(page, listFrom)
}

/** @throws MailkeepError `not_found` */
export async function getList(ctx: Context, id: number): Promise<List> {
  requireId('listId', id)
  const row = await queries.lists.find(ctx, { client_id: ctx.clientId, id })
  if (!row) throw notFound('list')
  return listFrom(row)
}

/** Locks a list, so that it is not deleted before this transaction ends. @throws MailkeepError `not_found` */
export async function lockList(tx: Tx, id: number): Promise<void> {
  requireId('listId', id)
  if ((await lockLists(tx, [id])).length === 0) throw notFound('list')
}

/** Locks those of the lists that exist, so that they are not deleted before this transaction ends. */
export async function lockLists(tx: Tx, ids: readonly number[]): Promise<readonly { readonly id: number }[]> {
  return ids.length === 0 ? [] : await queries.lists.lockAll(tx, { client_id: tx.clientId, ids })
}

/** Returns the client's lists among these ids, by id. */
export async function findLists(ctx: Context, ids: readonly number[]): Promise<Map<number, List>> {
  const rows = await queries.lists.findAll(ctx, { client_id: ctx.clientId, ids })
  return new Map(rows.map((row) => [row.id, listFrom(row)]))
}

/** Returns a list of each of these names, and creates those that the client does not have. */
export async function ensureLists(tx: Tx, names: readonly string[]): Promise<Map<string, List>> {
  const lists = new Map<string, List>()
  for (const row of await queries.listListsByNames(tx, { client_id: tx.clientId, names })) {
    if (!lists.has(row.name)) lists.set(row.name, listFrom(row)) // of lists with the same name, the oldest
  }
  for (const name of names) if (!lists.has(name)) lists.set(name, await createList(tx, { name }))
  return lists
}

/** @throws MailkeepError `validation_failed` */
export async function createList(ctx: Context, input: ListInput): Promise<List> {
  const { name, double_opt_in = false } = parse(NewList, input)
  return transact(ctx, async (tx) => {
    const row = await queries.insertList(tx, {
      client_id: tx.clientId,
      uuid: randomUUID(),
      name,
      double_opt_in,
      created_at: now(tx),
    })
    audit(tx, 'list.created', row!.id)
    return listFrom(row!)
  })
}

/**
 * Changes a list's name, or whether it has double opt-in. Members and requests stay as they are.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function updateList(ctx: Context, id: number, input: ListChangeInput): Promise<List> {
  const { name = null, double_opt_in = null } = parse(ListChange, input)
  return transact(ctx, async (tx) => {
    requireId('listId', id)
    const row = await queries.updateList(tx, { client_id: tx.clientId, id, name, double_opt_in })
    if (!row) throw notFound('list')
    audit(tx, 'list.updated', id)
    return listFrom(row)
  })
}

/**
 * Deletes a list with its topics and memberships. The contacts stay. Sequences of the list stay without one, and the
 * contacts whom the list had enrolled are stopped.
 *
 * @throws MailkeepError `not_found`; `conflict`: a newsletter that excludes the list is choosing its recipients, for some
 *   seconds after its start.
 */
export async function deleteList(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    await lockList(tx, id)
    const topics = await queries.listTopicIds(tx, { list_id: id })
    await queries.lists.delete(tx, { client_id: tx.clientId, id })
    audit(tx, 'list.deleted', id)
    await tx.local.onListDeleted(tx, id)
    const state: ClearedList = { topics: topics.map((topic) => topic.id) }
    await runInTwoPasses(tx, clearList, { targetId: id, state })
  })
}
