import { randomUUID } from 'node:crypto'
import { audit, auditUpdate } from '../audit/operations.ts'
import { type Context, now } from '../context.ts'
import { notFound } from '../errors.ts'
import { inBatches } from '../jobs/batches.ts'
import { type JobHandlers, runInTwoPasses } from '../jobs/operations.ts'
import { getList, lockList } from '../lists/operations.ts'
import { listPage, mapPage, type Page, type PageInput } from '../page.ts'
import { parse, requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import * as queries from './queries.ts'
import { NewTopic, type Topic, TopicChange, type TopicChangeInput, type TopicInput, topicFrom } from './schema.ts'

export { deleteTopicsOfClient } from './queries.ts'

const clearTopic = 'clear topic'

export const topicJobs: JobHandlers = { [clearTopic]: inBatches(queries.deleteSubscriptions) }

/**
 * Returns one page of a list's topics, by ascending id.
 *
 * @throws MailkeepError `not_found`: no such list; `validation_failed`.
 */
export async function listTopics(ctx: Context, listId: number, query?: PageInput): Promise<Page<Topic>> {
  await getList(ctx, listId)
  const page = await listPage(query, (range) =>
    queries.listTopics(ctx, { client_id: ctx.clientId, list_id: listId, ...range }, range),
  )
  return mapPage(page, topicFrom)
}

/** @throws MailkeepError `not_found` */
export async function getTopic(ctx: Context, id: number): Promise<Topic> {
  requireId('topicId', id)
  const row = await queries.topics.find(ctx, { client_id: ctx.clientId, id })
  if (!row) throw notFound('topic')
  return topicFrom(row)
}

/** Returns those of the topics that still exist, by ascending id. */
export async function findTopics(ctx: Context, ids: readonly number[]): Promise<Topic[]> {
  return (await queries.topics.findAll(ctx, { client_id: ctx.clientId, ids })).map(topicFrom)
}

/** Returns the topics of these lists of the client that have one of these names, by ascending id. */
export async function findTopicsByName(
  ctx: Context,
  list_ids: readonly number[],
  names: readonly string[],
): Promise<Topic[]> {
  return (await queries.listTopicsByNames(ctx, { list_ids, names })).map(topicFrom)
}

/** Returns the first topics of these lists of the client, by ascending id. */
export async function findTopicsOfLists(ctx: Context, listIds: readonly number[], limit: number): Promise<Topic[]> {
  return (await queries.listTopicsOfLists(ctx, { list_ids: listIds, limit })).map(topicFrom)
}

/** @throws MailkeepError `not_found`: no such list; `validation_failed`. */
export async function createTopic(ctx: Context, listId: number, input: TopicInput): Promise<Topic> {
  const { name, description = null } = parse(NewTopic, input)
  return transact(ctx, async (tx) => {
    await lockList(tx, listId) // deleting the list reads its topics before it deletes their subscriptions
    const row = await queries.insertTopic(tx, {
      client_id: tx.clientId,
      uuid: randomUUID(),
      list_id: listId,
      name,
      description,
      created_at: now(tx),
    })
    audit(tx, 'topic.created', row!.id)
    return topicFrom(row!)
  })
}

/**
 * Changes a topic's name or description.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function updateTopic(ctx: Context, id: number, input: TopicChangeInput): Promise<Topic> {
  const change = parse(TopicChange, input)
  return transact(ctx, async (tx) => {
    requireId('topicId', id)
    const topic = await queries.topics.lock(tx, { client_id: tx.clientId, id })
    if (!topic) throw notFound('topic')
    const { name = topic.name, description = topic.description } = change
    auditUpdate(tx, 'topic.updated', id, change)
    return topicFrom((await queries.updateTopic(tx, { client_id: tx.clientId, id, name, description }))!)
  })
}

/**
 * Deletes a topic with its subscriptions.
 *
 * @throws MailkeepError `not_found`
 */
export async function deleteTopic(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('topicId', id)
    if (!(await queries.topics.delete(tx, { client_id: tx.clientId, id }))) throw notFound('topic')
    audit(tx, 'topic.deleted', id)
    await runInTwoPasses(tx, clearTopic, { targetId: id })
  })
}
