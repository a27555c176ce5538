import { randomUUID } from 'node:crypto'
import { audit, auditUpdate } from '../audit/operations.ts'
import { defined } from '../collections.ts'
import { countContacts } from '../contacts/counting.ts'
import { listPageOfContacts } from '../contacts/listing.ts'
import { type Context, isAdmin, now, type Tx } from '../context.ts'
import { invalid, isMailkeepError, MailkeepError, notFound } from '../errors.ts'
import { getIdentity } from '../identities/operations.ts'
import { runOrEnqueue } from '../jobs/operations.ts'
import { mapPage, type Page, type Range, readPage } from '../page.ts'
import { parse, requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { requireExists, requireSegment } from './audience.ts'
import { clearNewsletter } from './deletion.ts'
import * as queries from './newsletter-queries.ts'
import {
  type Audience,
  type CurrentAudience,
  NewNewsletter,
  type Newsletter,
  NewsletterChange,
  type NewsletterChangeInput,
  type NewsletterInput,
  NewsletterOptions,
  type NewsletterOptionsInput,
  NewsletterQuery,
  type NewsletterQueryInput,
  type NewsletterSummary,
  type NewsletterWithAudience,
  newsletterFrom,
  summaryFrom,
} from './schema.ts'
import { requireLink, requireReady, requireSender } from './sendable.ts'

/**
 * Returns one page of the client's newsletters without their content, newest first.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listNewsletters(
  ctx: Context,
  query: NewsletterQueryInput = {},
): Promise<Page<NewsletterSummary>> {
  const { status, ...pageQuery } = parse(NewsletterQuery, query)
  const filters = { client_id: ctx.clientId, status: status ?? 'draft' }
  const read = (range: Range) =>
    queries.listNewsletters(ctx, { ...filters, ...range }, { ...range, byStatus: status !== undefined })
  return mapPage(await readPage(pageQuery, read, true), summaryFrom)
}

/** @throws MailkeepError `not_found` */
export async function getNewsletter(ctx: Context, id: number): Promise<Newsletter> {
  requireId('newsletterId', id)
  const row = await queries.newsletters.find(ctx, { client_id: ctx.clientId, id })
  if (!row) throw notFound('newsletter')
  return newsletterFrom(row)
}

/**
 * Returns a newsletter. With `audience`, and before it has started, also who would get it now.
 *
 * @throws MailkeepError `not_found`; `validation_failed`
 */
export async function getNewsletterWithAudience(
  ctx: Context,
  id: number,
  query: NewsletterOptionsInput = {},
): Promise<NewsletterWithAudience> {
  const { audience } = parse(NewsletterOptions, query)
  const newsletter = await getNewsletter(ctx, id)
  if (!audience || newsletter.started_at !== null) return newsletter
  return { ...newsletter, current_audience: await currentAudience(ctx, newsletter.audience) }
}

const maxShownContacts = 20

/** Returns null where `countAudience` throws. */
async function currentAudience(ctx: Context, audience: Audience): Promise<CurrentAudience | null> {
  try {
    const count = await countContacts(ctx, { ...audience })
    const { data } = await listPageOfContacts(ctx, { ...audience, per_page: maxShownContacts })
    return { count, contacts: data.map(({ id, email }) => ({ id, email })) }
  } catch (error) {
    const codes: readonly unknown[] = ['not_found', 'unavailable', 'validation_failed']
    if (isMailkeepError(error) && codes.includes(error.code)) return null
    throw error
  }
}

/**
 * Creates a newsletter as a draft. Its templates are checked when it is previewed, tested, scheduled or sent, and its
 * audience when it is scheduled or sent.
 *
 * @throws MailkeepError `validation_failed`: also when the html or text has no `unsubscribe_url`, or the sender identity
 *   or the segment does not exist.
 */
export async function createNewsletter(ctx: Context, input: NewsletterInput): Promise<Newsletter> {
  const { audience, ...fields } = parse(NewNewsletter, input)
  await requireLink(ctx, fields)
  return transact(ctx, async (tx) => {
    await requireReferences(tx, fields.from_identity_id, audience)
    const at = now(tx)
    const row = await queries.insertNewsletter(tx, {
      client_id: tx.clientId,
      uuid: randomUUID(),
      name: fields.name ?? [...fields.subject].slice(0, 255).join(''),
      subject: fields.subject,
      preheader: fields.preheader ?? null,
      from_identity_id: fields.from_identity_id ?? null,
      reply_to: fields.reply_to ?? null,
      html: fields.html,
      text: fields.text ?? null,
      audience: JSON.stringify(audience),
      status: 'draft',
      created_at: at,
      updated_at: at,
    })
    audit(tx, 'newsletter.created', row!.id)
    return newsletterFrom(row!)
  })
}

/** The fields that cannot change once a newsletter has started: its content was sent, and its recipients were chosen. */
const fixedFields = ['subject', 'preheader', 'html', 'text', 'audience'] as const

/**
 * Changes a newsletter. A scheduled newsletter must stay ready to be sent. Once it has started, its content and audience
 * stay as they are. The messages that are not sent yet get a new sender.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: also on `status` when it has started; `forbidden`: it is no
 *   draft, and the caller's token is not an admin's.
 */
export async function updateNewsletter(ctx: Context, id: number, input: NewsletterChangeInput): Promise<Newsletter> {
  const { audience, ...change } = parse(NewsletterChange, input)
  await requireLink(ctx, change)
  return transact(ctx, async (tx) => {
    const stored = await lockNewsletter(tx, id)
    const hasStarted = stored.status !== 'draft' && stored.status !== 'scheduled'
    if (hasStarted && fixedFields.some((name) => input[name] !== undefined)) {
      throw invalid('status', `The newsletter is ${stored.status}: its content and audience cannot be changed.`)
    }
    if (stored.status !== 'draft') requireAdmin(tx, `changing a newsletter that is ${stored.status}`)
    await requireReferences(tx, change.from_identity_id, audience ?? {})
    if (hasStarted && change.from_identity_id !== undefined) await requireSender(tx, change.from_identity_id)
    const row = await queries.updateNewsletter(tx, {
      ...stored,
      ...defined(change),
      client_id: tx.clientId,
      audience: JSON.stringify(audience ?? stored.audience),
      updated_at: now(tx),
    })
    const newsletter = newsletterFrom(row!)
    if (stored.status === 'scheduled') await requireReady(tx, newsletter)
    auditUpdate(tx, 'newsletter.updated', id, { ...change, audience })
    if (hasStarted) tx.transaction.afterCommit(tx.local.mail.wake)
    return newsletter
  })
}

/**
 * Deletes a newsletter that is not being sent, with its messages. One that is scheduled is not sent then.
 *
 * @throws MailkeepError `not_found`; `validation_failed` on `status`: it is being sent or paused: cancel it first;
 *   `forbidden`: it is no draft, and the caller's token is not an admin's.
 */
export async function deleteNewsletter(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    const { status } = await lockNewsletter(tx, id)
    if (status === 'sending' || status === 'paused') {
      throw invalid('status', `The newsletter is ${status}: cancel it first.`)
    }
    if (status !== 'draft') requireAdmin(tx, `deleting a newsletter that is ${status}`)
    await queries.newsletters.delete(tx, { client_id: tx.clientId, id })
    audit(tx, 'newsletter.deleted', id)
    await runOrEnqueue(tx, clearNewsletter, { targetId: id })
  })
}

/**
 * Counts the contacts who would get the newsletter if it were sent now.
 *
 * @throws MailkeepError `not_found`: also when its segment was deleted; `validation_failed`: an attribute of its segment is
 *   not declared any more; `unavailable`: the index of an attribute is being filled.
 */
export async function countAudience(ctx: Context, id: number): Promise<{ count: number }> {
  const { audience } = await getNewsletter(ctx, id)
  return { count: await countContacts(ctx, { ...audience }) }
}

/** Locks the newsletter. @throws MailkeepError `not_found` */
export async function lockNewsletter(tx: Tx, id: number): Promise<Newsletter> {
  requireId('newsletterId', id)
  const row = await queries.newsletters.lock(tx, { client_id: tx.clientId, id })
  if (!row) throw notFound('newsletter')
  return newsletterFrom(row)
}

/** Tokens of members change drafts only. */
function requireAdmin(ctx: Context, what: string): void {
  if (isAdmin(ctx)) return
  throw new MailkeepError('forbidden', `This needs a token with the role admin: ${what}.`)
}

async function requireReferences(tx: Tx, identityId: number | null | undefined, audience: Audience): Promise<void> {
  if (identityId) await requireExists('from_identity_id', () => getIdentity(tx, identityId))
  await requireSegment(tx, audience)
}
