import type * as v from 'valibot'
import { type ContactKey, requireContact } from '../contacts/contact-key.ts'
import type { Context } from '../context.ts'
import { listPage, mapPage, type Page, type PageInput, type Range, readPage } from '../page.ts'
import { parse } from '../parse.ts'
import * as queries from './message-queries.ts'
import { type Message, MessageQuery, type MessageQueryInput, messageFrom } from './message-schema.ts'
import { getNewsletter } from './newsletters.ts'
import { getSequenceSummary } from './sequences.ts'

/**
 * Returns one page of a newsletter's messages, by ascending id.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function listMessages(
  ctx: Context,
  newsletterId: number,
  query: MessageQueryInput = {},
): Promise<Page<Message>> {
  const filters = parse(MessageQuery, query)
  await getNewsletter(ctx, newsletterId)
  return await listMessagesOf(ctx, { campaign_id: newsletterId, ofSequence: false }, filters)
}

/**
 * Returns one page of a sequence's messages, by ascending id.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function listMessagesOfSequence(
  ctx: Context,
  sequenceId: number,
  query: MessageQueryInput = {},
): Promise<Page<Message>> {
  const filters = parse(MessageQuery, query)
  await getSequenceSummary(ctx, sequenceId)
  return await listMessagesOf(ctx, { campaign_id: sequenceId, ofSequence: true }, filters)
}

interface CampaignFilter {
  readonly campaign_id: number
  readonly ofSequence: boolean
}

async function listMessagesOf(
  ctx: Context,
  { campaign_id, ofSequence }: CampaignFilter,
  { status, ...pageQuery }: v.InferOutput<typeof MessageQuery>,
): Promise<Page<Message>> {
  const filters = { campaign_id, status: status ?? 'pending' }
  const page = await readPage(pageQuery, ({ desc, ...range }) =>
    queries.listMessages(ctx, { ...filters, ...range }, { desc, byStatus: status !== undefined, ofSequence }),
  )
  return mapPage(page, messageFrom)
}

/**
 * Returns one page of the messages to a contact, newest first.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function listMessagesOfContact(
  ctx: Context,
  contact: ContactKey,
  query: PageInput = {},
): Promise<Page<Message>> {
  const contact_id = await requireContact(ctx, contact)
  const read = (range: Range) =>
    queries.listMessagesOfContact(ctx, { client_id: ctx.clientId, contact_id, ...range }, range)
  return mapPage(await listPage(query, read, true), messageFrom)
}
