/** Previews of a newsletter or step, and test messages. */
import { randomUUID } from 'node:crypto'
import { defined } from '../collections.ts'
import { isAddressSuppressed } from '../consent/suppressions.ts'
import type { ContactKey } from '../contacts/contact-key.ts'
import { getContact } from '../contacts/reading.ts'
import type { Context } from '../context.ts'
import { foldAddress, parse } from '../parse.ts'
import type { Content } from './content.ts'
import { messageOf, variablesOf } from './dispatch/compose.ts'
import { handOver } from './dispatch/mailer.ts'
import { getNewsletter } from './newsletters.ts'
import {
  type Preview,
  type PreviewInput,
  PreviewOptions,
  type TestInput,
  TestOptions,
  type TestResult,
} from './schema.ts'
import { clientVariables, loadTemplates, requireContent, requireSendable, turnForTemplates } from './sendable.ts'
import { type StepPreviewInput, StepPreviewOptions } from './sequence-schema.ts'
import { getSequenceSummary } from './sequences.ts'
import { isUncertainError, type MailMessage } from './transport.ts'

/**
 * Renders a newsletter as a contact would get it. Sends and stores nothing.
 *
 * @param input Content that is given is shown instead of what is stored.
 * @throws MailkeepError `not_found`: no such newsletter or contact; `validation_failed` on the template that is wrong, or
 *   on `public_url`.
 */
export async function previewNewsletter(ctx: Context, id: number, input: PreviewInput): Promise<Preview> {
  const { contact_id, ...given } = parse(PreviewOptions, input)
  return await previewContent(ctx, { ...(await getNewsletter(ctx, id)), ...defined(given) }, contact_id)
}

/**
 * Renders a step, stored or not, as a contact would get it. Sends and stores nothing.
 *
 * @throws MailkeepError `not_found`: no such sequence or contact; `validation_failed`: also on the template that is wrong,
 *   or on `public_url`.
 */
export async function previewStep(ctx: Context, sequenceId: number, input: StepPreviewInput): Promise<Preview> {
  const { contact_id, subject, preheader = null, html, text = null } = parse(StepPreviewOptions, input)
  await getSequenceSummary(ctx, sequenceId)
  return await previewContent(ctx, { subject, preheader, html, text }, contact_id)
}

async function previewContent(ctx: Context, content: Content, contactId: ContactKey): Promise<Preview> {
  const contact = await getContact(ctx, contactId)
  await requireContent(ctx, content)
  const { prepareContent, render } = await loadTemplates(ctx)
  const client = await clientVariables(ctx)
  return render(prepareContent(content), variablesOf(ctx, contact, contact.extra_attributes, client))
}

/** The links of test messages belong to no contact. They lead to the page of a link that does not work. */
const sampleContact = { id: 1, uuid: '00000000-0000-0000-0000-000000000000' }

/**
 * Sends a newsletter to some addresses now, with sample values and links that do not work. Nothing is stored. Addresses
 * that are suppressed get nothing.
 *
 * @param input At most 10 addresses.
 * @returns What became of each message.
 * @throws MailkeepError `not_found`; `validation_failed`: also on the template that is wrong, on `from_identity_id`,
 *   `mail` or `public_url`.
 */
export async function testNewsletter(ctx: Context, id: number, input: TestInput): Promise<TestResult[]> {
  const { emails } = parse(TestOptions, input)
  const newsletter = await getNewsletter(ctx, id)
  const sender = await requireSendable(ctx, newsletter)
  const { prepareContent, render } = await loadTemplates(ctx)
  const prepared = prepareContent(newsletter)
  const variables = variablesOf(ctx, { ...sampleContact, name: '', email: '' }, {}, await clientVariables(ctx))
  const { reply_to: replyTo } = newsletter
  const messageTo = (email: string): MailMessage => {
    const addressed = { ...variables, contact: { ...variables.contact, email } }
    const envelope = { uuid: randomUUID(), sender, replyTo, campaign: `newsletter-${newsletter.id}` }
    return messageOf(ctx, render(prepared, addressed), addressed, envelope)
  }
  const send = async (message: MailMessage): Promise<TestResult> => {
    const { email } = message.to
    if (await isAddressSuppressed(ctx, email)) return { email, status: 'failed', error: 'The address is suppressed.' }
    try {
      const outcome = await handOver({ settings: ctx.local.mail.settings }, message, new AbortController())
      if (outcome.kind === 'sent') return { email, status: 'sent', error: null }
      const error = 'error' in outcome ? outcome.error : null
      return { email, status: outcome.kind === 'uncertain' ? 'uncertain' : 'failed', error }
    } catch (error) {
      const { message: reason } = error instanceof Error ? error : { message: 'The message could not be sent.' }
      return { email, status: isUncertainError(error) ? 'uncertain' : 'failed', error: reason }
    }
  }
  const messages: MailMessage[] = []
  for (const email of distinctAddresses(emails)) {
    await turnForTemplates()
    messages.push(messageTo(email))
  }
  return await Promise.all(messages.map(send))
}

/** Drops repeated addresses. The first spelling is kept. */
function distinctAddresses(emails: readonly string[]): string[] {
  const keys = emails.map(foldAddress)
  return emails.filter((_, at) => keys.indexOf(keys[at]!) === at)
}
