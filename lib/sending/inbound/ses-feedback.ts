/** Bounces and complaints in the messages of Amazon SES. */
import * as v from 'valibot'
import { parseJson } from '../../parse.ts'

/** A hard bounce of an address, or a complaint of its owner. */
export interface Feedback {
  readonly kind: 'bounce' | 'complaint'
  /** Undefined: the original headers are missing. */
  readonly clientId: number | undefined
  /** Undefined: the report has no address that can be read. */
  readonly email: string | undefined
}

/** SES may show a recipient as the header `To` has it: `Ada <ada@example.org>`. */
const Recipient = v.pipe(
  v.string(),
  v.maxLength(4000),
  v.transform((shown) => /<([^<>]*)>\s*$/.exec(shown)?.[1] ?? shown),
)

const Recipients = v.pipe(v.array(v.fallback(v.object({ emailAddress: v.optional(Recipient) }), {})), v.maxLength(100))

/** https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html. Event publishing says `eventType` instead. */
const SesMessage = v.object({
  notificationType: v.optional(v.string()),
  eventType: v.optional(v.string()),
  mail: v.object({ headers: v.optional(v.array(v.object({ name: v.string(), value: v.string() }))) }),
  bounce: v.optional(v.object({ bounceType: v.string(), bouncedRecipients: Recipients })),
  complaint: v.optional(v.object({ complaintFeedbackType: v.nullish(v.string()), complainedRecipients: Recipients })),
})

/**
 * Returns the hard bounces and complaints in a message of SES. Temporary bounces and reports that a mail is no spam have
 * no effect. The client is in the header `Feedback-ID`, so SES must be set to include the original headers.
 */
export function feedbackOf(message: string): readonly Feedback[] {
  const parsed = v.safeParse(SesMessage, parseJson(message))
  if (!parsed.success) return []
  const { notificationType, eventType = notificationType, mail, bounce, complaint } = parsed.output
  const clientId = clientOf(mail.headers ?? [])
  if (eventType === 'Bounce' && bounce?.bounceType === 'Permanent') {
    return bounce.bouncedRecipients.map(({ emailAddress }) => ({ kind: 'bounce', clientId, email: emailAddress }))
  }
  if (eventType === 'Complaint' && complaint && complaint.complaintFeedbackType !== 'not-spam') {
    return complaint.complainedRecipients.map(({ emailAddress }) => ({
      kind: 'complaint',
      clientId,
      email: emailAddress,
    }))
  }
  return []
}

/** Reads the client from `Feedback-ID`, as `mailHeaders` writes it. */
function clientOf(headers: readonly { name: string; value: string }[]): number | undefined {
  const found = headers.find(({ name }) => name.toLowerCase() === 'feedback-id')
  const id = Number(/^[\w-]+:client-(\d{1,15}):[\w-]+:mailkeep$/.exec(found?.value ?? '')?.[1])
  return id > 0 ? id : undefined
}
