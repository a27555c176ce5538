/** Checks before something is sent: of the content, the sender, and the settings. */
import { getClient } from '../clients/operations.ts'
import { type Context, requirePublicUrl, type Tx } from '../context.ts'
import { type FieldErrors, type Issue, ifFound, invalid, isMailkeepError, MailkeepError, nameField } from '../errors.ts'
import { getIdentity, listIdentities } from '../identities/operations.ts'
import type { Identity } from '../identities/schema.ts'
import { getPageSettings } from '../pages/operations.ts'
import { BlockingQueue } from '../time.ts'
import { requireAudience } from './audience.ts'
import type { Content, ContentVariables, fieldsWithoutLink } from './content.ts'
import type { Audience } from './schema.ts'
import { allowsUnverified } from './settings.ts'

const noTransport =
  'Sending is not set up: set MAILKEEP_MAIL_TRANSPORT, or the option mail.transport of createMailkeep.'

/** Who a message is from. */
interface MailSender extends Pick<Identity, 'name' | 'email'> {
  /** null when it is no identity. */
  readonly id: number | null
}

/** The parts that all messages of a newsletter or sequence share. */
export interface Envelope {
  readonly sender: MailSender
  readonly replyTo: string | null
  readonly client: ContentVariables['client']
}

/** The sender of messages that are only written to files, while a client has no identity. */
const localSender = 'mailkeep@localhost'

/**
 * Checks that a newsletter can be sent to its audience now.
 *
 * @returns Its sender.
 * @throws MailkeepError `validation_failed` on the field that is wrong, on `mail` or on `public_url`.
 */
export async function requireReady(
  tx: Tx,
  newsletter: Parameters<typeof requireSendable>[1] & { readonly audience: Audience },
): Promise<MailSender> {
  const sender = await requireSendable(tx, newsletter)
  await requireAudience(tx, newsletter.audience)
  return sender
}

/**
 * Checks that a message can be sent with the content and sender of a newsletter.
 *
 * @returns Its sender.
 * @throws MailkeepError `validation_failed` on the field that is wrong, on `mail` or on `public_url`.
 */
export async function requireSendable(
  ctx: Context,
  newsletter: Content & { readonly from_identity_id: number | null },
): Promise<MailSender> {
  await requireContent(ctx, newsletter)
  const identity = await requireSender(ctx, newsletter.from_identity_id)
  if (!ctx.local.mail.settings.transport) throw invalid('mail', noTransport)
  requirePublicUrl(ctx)
  return identity
}

/** Templates may block the process for half a second. */
const templates = new BlockingQueue()

/** Resolves for one caller after the other, so that other requests are answered before each. */
export function turnForTemplates(): Promise<void> {
  return templates.turn()
}

/** Loads the libraries for templates at their first use, because that takes long and most processes need none. */
export async function loadTemplates({ transaction }: Context): Promise<typeof import('./content.ts')> {
  await (transaction?.pause() ?? turnForTemplates())
  const loading = import('./content.ts')
  return await (transaction?.waitFor(loading) ?? loading)
}

/**
 * Checks the templates.
 *
 * @param prefix Path of the content in the input, with a dot at its end.
 * @throws MailkeepError `validation_failed` on the templates that are wrong.
 */
export async function requireContent(ctx: Context, content: Content, prefix = ''): Promise<void> {
  const { checkContent } = await loadTemplates(ctx)
  const { subject, preheader, html, text } = content
  refuseIssues(checkContent({ subject, preheader, html, text }), prefix)
}

/**
 * Checks that html and text have the link that unsubscribes. Drafts are checked for nothing else.
 *
 * @throws MailkeepError `validation_failed` on `html` or `text`
 */
export async function requireLink(ctx: Context, content: Parameters<typeof fieldsWithoutLink>[0]): Promise<void> {
  if (content.html === undefined && content.text === undefined) return
  const templates = await loadTemplates(ctx)
  refuseIssues(templates.fieldsWithoutLink(content), '')
}

/** Renders templates, and once more if it took too long: they need not be slow, the process may have been suspended. */
export async function renderInTime<T>(render: () => Promise<T>): Promise<T> {
  return await render().catch((error) => {
    const isOutOfTime = isMailkeepError(error, 'validation_failed') && error.message.includes('render limit exceeded')
    if (!isOutOfTime) throw error
    return render()
  })
}

function refuseIssues(issues: readonly Issue[], prefix: string): void {
  if (issues.length === 0) return
  const errors: FieldErrors = {}
  for (const { path, message } of issues) {
    errors[prefix + path] ??= []
    errors[prefix + path]!.push(message)
  }
  const { path, message } = issues[0]!
  throw new MailkeepError('validation_failed', nameField(prefix + path, message), { errors })
}

/**
 * Returns the sender, by default the first one that is verified.
 *
 * @throws MailkeepError `validation_failed` on `from_identity_id`
 */
export async function requireSender(ctx: Context, id: number | null): Promise<MailSender> {
  const identity = await findSender(ctx, id)
  if (!identity && id === null) {
    throw invalid('from_identity_id', 'There is no verified sender identity: add one, and verify it.')
  }
  if (!identity) throw invalid('from_identity_id', 'The sender identity is not verified, or does not exist.')
  return identity
}

/** Returns the sender if it may send; undefined otherwise. A local transport needs no identity. */
export async function findSender(ctx: Context, id: number | null): Promise<MailSender | undefined> {
  const { settings } = ctx.local.mail
  const allowUnverified = allowsUnverified(settings)
  if (id === null) {
    const query = { per_page: 1, ...(allowUnverified ? {} : { identity_status: 'verified' as const }) }
    const [first] = (await listIdentities(ctx, query)).data
    if (first || !settings.transport?.isLocal) return first
    return { id: null, name: (await getClient(ctx, ctx.clientId)).name, email: localSender }
  }
  const identity = await ifFound(() => getIdentity(ctx, id))
  return allowUnverified || identity?.identity_status === 'verified' ? identity : undefined
}

/** Returns what templates show of the client. @throws MailkeepError `not_found`: the client was deleted. */
export async function clientVariables(ctx: Context): Promise<ContentVariables['client']> {
  const { name } = await getClient(ctx, ctx.clientId)
  const { postal_address } = await getPageSettings(ctx)
  return { name, postal_address: postal_address ?? ctx.local.mail.settings.postalAddress }
}

/** Returns undefined if the sender may not send, or the client was deleted. */
export async function findEnvelope(
  ctx: Context,
  {
    from_identity_id,
    reply_to: replyTo,
  }: { readonly from_identity_id: number | null; readonly reply_to: string | null },
): Promise<Envelope | undefined> {
  return await ifFound(async () => {
    const client = await clientVariables(ctx)
    const sender = await findSender(ctx, from_identity_id)
    return sender && { sender, replyTo, client }
  })
}
