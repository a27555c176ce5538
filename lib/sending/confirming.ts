/**
 * Mails the links of double opt-in, in a handler of an event. So the mail is sent after the request has committed, is
 * retried on the schedule of webhooks, and is erased with the contact.
 */
import { getClient } from '../clients/operations.ts'
import { isAddressSuppressed } from '../consent/suppressions.ts'
import { openLink } from '../contacts/links.ts'
import type { Context, Tx } from '../context.ts'
import { ifFound } from '../errors.ts'
import { getPageSettings } from '../pages/operations.ts'
import type { EventHandler, HandledEvent } from '../webhooks/handlers/handlers.ts'
import { ensureOwnSubscriber } from '../webhooks/handlers/subscribers.ts'
import { confirmationMail } from './confirmation-mail.ts'
import { handOver } from './dispatch/mailer.ts'
import { suppressMailbox } from './dispatch/record.ts'
import { domainOf, feedbackId } from './headers.ts'
import { findSender } from './sendable.ts'
import { isUncertainError, type MailMessage } from './transport.ts'

type Requested = 'contact.confirmation_requested'

/** Stored: it must not change. */
export const confirmationSubscriber = 'mailkeep: confirmation mail'

/** Makes the events of this transaction wait for the handler, if this process has a mail transport. */
export async function awaitConfirmationMail(tx: Tx): Promise<void> {
  if (!tx.local.mail.settings.transport) return
  await ensureOwnSubscriber(tx, confirmationSubscriber, ['contact.confirmation_requested'])
}

/** Returns the handler that sends the mail. It throws when the mail must be tried again. */
export function mailConfirmation(process: Context): EventHandler<Requested> {
  return async (event, { deliveryId, signal }) => {
    const ctx = { ...process, clientId: event.clientId }
    const { contact, confirm_url } = event.data
    if (!(await isAwaited(ctx, confirm_url)) || (await isAddressSuppressed(ctx, contact.email))) return
    const message = await compose(ctx, deliveryId, event)
    const controller = new AbortController()
    signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true })
    try {
      const outcome = await handOver(ctx.local.mail, message, controller)
      if (outcome.kind === 'temporary') throw new Error(outcome.error)
      if (outcome.kind === 'permanent' && outcome.unknownMailbox) await suppressMailbox(ctx, contact)
      if (outcome.kind !== 'sent') logLoss(ctx, deliveryId, outcome.kind)
    } catch (error) {
      if (!isUncertainError(error)) throw error
      logLoss(ctx, deliveryId, 'uncertain')
    }
  }
}

/** Whether the contact may still confirm: the link works, and the contact has not joined the list since. */
async function isAwaited(ctx: Context, confirmUrl: string): Promise<boolean> {
  const link = await ifFound(() => openLink(ctx, confirmUrl.split('/').at(-2)!, 'confirm'))
  return link !== undefined && !link.contact.lists.some(({ id }) => id === link.listId)
}

/** @param id UUID of the delivery. A retry has the same, so that receivers can detect repeats. */
async function compose(ctx: Context, id: string, { data }: HandledEvent<Requested>): Promise<MailMessage> {
  const { contact, list, confirm_url: confirmUrl } = data
  const sender = await findSender(ctx, null)
  if (!sender) throw new Error('There is no verified sender identity: add one, and verify it.')
  const { name, language } = await getPageSettings(ctx)
  const clientName = name ?? (await getClient(ctx, ctx.clientId)).name
  return {
    id,
    clientId: ctx.clientId,
    from: { name: sender.name, email: sender.email },
    to: { name: contact.name || null, email: contact.email },
    ...confirmationMail(language ?? 'en', { clientName, listName: list.name, confirmUrl }),
    headers: {
      'Message-ID': `<${id}@${domainOf(sender.email)}>`,
      'Auto-Submitted': 'auto-generated',
      'Feedback-ID': feedbackId(ctx.clientId, 'confirmation'),
    },
  }
}

/** Another request sends another mail. */
function logLoss({ clientId, logger }: Context, delivery: string, outcome: string): void {
  logger.warn({ client_id: clientId, delivery, outcome }, 'a confirmation mail was not sent, or may not have been')
}
