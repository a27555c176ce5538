import * as v from 'valibot'
import type { Optional } from '../collections.ts'
import { type ContactKey, Key } from '../contacts/contact-key.ts'
import { type PageInput, pageFields, QueryId } from '../page.ts'
import { atMost, closedObject, EmailAddress, idInput, Name, QueryBoolean, Text } from '../parse.ts'
import { Count, described, Email, Id, namesOf, type RecordFields, recordFrom, Time, Uuid } from '../record.ts'
import { groupFilterFields, type IdsInput, Time as TimeInput } from '../segments/filters.ts'
import type { Timestamp } from '../time.ts'
import { type NewsletterStatus, newsletterStatuses } from './statuses.ts'

/** Maximum length of an html or a text, in code points. */
const maxContentCharacters = 500_000
const maxSubjectCharacters = 998 // RFC 5322, 2.1.1

/** Who gets a newsletter: the subscribed contacts that match every filter, and any value of each filter. */
export interface AudienceInput {
  /** Ids of lists, at most 100. `lists`, `tags` or `topics` without ids match no contact, and are refused by `send`. */
  readonly lists?: IdsInput | undefined
  readonly tags?: IdsInput | undefined
  readonly topics?: IdsInput | undefined
  /** Contacts on any of these lists get nothing. */
  readonly exclude_lists?: IdsInput | undefined
  readonly exclude_tags?: IdsInput | undefined
  /** Id of a segment. Its filters apply in addition to the others. */
  readonly segment?: number | string | undefined
}

/** Stored filters. */
export interface Audience {
  lists?: number[] | undefined
  tags?: number[] | undefined
  topics?: number[] | undefined
  exclude_lists?: number[] | undefined
  exclude_tags?: number[] | undefined
  segment?: number | undefined
}

/** Numbers of a newsletter's messages. `recipients` is the sum of the others. It grows while sending starts. */
export interface MessageCounts {
  recipients: number
  pending: number
  sent: number
  failed: number
  skipped: number
  uncertain: number
}

/** A newsletter without its content, as listings and events show it. */
export interface NewsletterSummary {
  id: number
  uuid: string
  name: string
  subject: string
  preheader: string | null
  /** Null: the first verified identity when it is sent. */
  from_identity_id: number | null
  reply_to: string | null
  audience: Audience
  status: NewsletterStatus
  /** Why it could not start; null unless `failed`. */
  error: string | null
  counts: MessageCounts
  scheduled_at: Timestamp | null
  created_at: Timestamp
  updated_at: Timestamp
  started_at: Timestamp | null
  finished_at: Timestamp | null
}

export interface Newsletter extends NewsletterSummary {
  html: string
  /** Null: made from the html. */
  text: string | null
}

/** Who would get a newsletter if it were sent now. */
export interface CurrentAudience {
  count: number
  /** The first 20, by ascending id. */
  contacts: { id: number; email: string }[]
}

export interface NewsletterWithAudience extends Newsletter {
  /** Only with `audience`, and before it has started. null if it cannot be counted now: `audience()` says why. */
  current_audience?: CurrentAudience | null
}

export interface NewsletterOptionsInput {
  /** Whether to add who would get it now; default false. */
  readonly audience?: boolean | '1' | '0' | 'true' | 'false' | undefined
}

export interface ContentInput {
  /** Liquid. At most 998 characters. */
  readonly subject: string
  /** Liquid. Mail programs show it beside the subject. */
  readonly preheader?: string | null | undefined
  /** Liquid. At most 500,000 characters. */
  readonly html: string
  /** Liquid. Default: made from the html. */
  readonly text?: string | null | undefined
}

export interface NewsletterInput extends ContentInput {
  /** 1–255 characters. Recipients do not see it. Default: the subject. */
  readonly name?: string | undefined
  /** Default: the first verified identity when it is sent. */
  readonly from_identity_id?: number | null | undefined
  readonly reply_to?: string | null | undefined
  /** Default: all subscribed contacts. */
  readonly audience?: AudienceInput | undefined
}

/** Absent fields stay unchanged. `audience` replaces all filters. */
export type NewsletterChangeInput = Optional<NewsletterInput>

const noHtmlCharacters = `This must have at most ${maxContentCharacters} characters.`
const Html = v.pipe(Text, v.maxLength(maxContentCharacters, noHtmlCharacters))
const Subject = v.pipe(
  Text,
  v.transform((text) => text.trim()),
  v.minLength(1, 'This must not be empty.'),
  atMost(maxSubjectCharacters),
)

export const contentFields = {
  subject: Subject,
  preheader: v.optional(v.nullable(v.pipe(Text, atMost(maxSubjectCharacters)))),
  html: Html,
  text: v.optional(v.nullable(Html)),
}

/** Absent fields stay as they are stored. */
const optionalContentFields = { ...contentFields, subject: v.optional(Subject), html: v.optional(Html) }

export const IdInput = idInput()

export const senderFields = {
  from_identity_id: v.optional(v.nullable(IdInput)),
  reply_to: v.optional(v.nullable(EmailAddress)),
}

export const AudienceFilters = closedObject({
  ...groupFilterFields,
  segment: v.optional(QueryId),
})

const newsletterFieldsOfInput = { name: v.optional(Name), ...contentFields, ...senderFields }

export const NewNewsletter = closedObject({
  ...newsletterFieldsOfInput,
  audience: v.optional(AudienceFilters, {}),
})

export const NewsletterChange = closedObject({
  ...newsletterFieldsOfInput,
  ...optionalContentFields,
  audience: v.optional(AudienceFilters),
})

export const NewsletterOptions = closedObject({ audience: v.optional(QueryBoolean, false) })

export const NewsletterQuery = closedObject({
  ...pageFields,
  status: v.optional(v.picklist(newsletterStatuses, `This must be one of ${newsletterStatuses.join(', ')}.`)),
})

export interface NewsletterQueryInput extends PageInput {
  readonly status?: NewsletterStatus | undefined
}

export interface SendInput {
  /** ISO 8601 with an offset. Default: now. */
  readonly at?: string | undefined
}

export const SendOptions = closedObject({ at: v.optional(TimeInput) })

export interface ResumeInput {
  /** What to do with messages whose outcome is not known. Default: they stay `uncertain`. */
  readonly uncertain?: 'skip' | 'resend' | undefined
}

export const ResumeOptions = closedObject({
  uncertain: v.optional(v.picklist(['skip', 'resend'], 'This must be "skip" or "resend".')),
})

/** The contact who would get it. Content that is given is shown instead of what is stored. */
export interface PreviewInput extends Optional<ContentInput> {
  readonly contact_id: ContactKey
}

export const PreviewOptions = closedObject({ contact_id: Key, ...optionalContentFields })

/** A newsletter as one contact would get it. */
export interface Preview {
  subject: string
  html: string
  text: string
}

export const previewFields: RecordFields<Preview> = { subject: v.string(), html: v.string(), text: v.string() }

export interface TestInput {
  /** At most 10 addresses. Each gets one message, also if it is repeated. */
  readonly emails: readonly string[]
}

const maxTestAddresses = 10
export const TestOptions = closedObject({
  emails: v.pipe(
    v.array(v.unknown(), 'This must be an array of e-mail addresses.'),
    v.minLength(1, 'At least one address is needed.'),
    v.maxLength(maxTestAddresses, `At most ${maxTestAddresses} addresses.`),
    v.array(EmailAddress),
  ),
})

/** What became of a test message. */
export interface TestResult {
  email: string
  status: 'sent' | 'failed' | 'uncertain'
  error: string | null
}

export const testResultFields: RecordFields<TestResult> = {
  email: Email,
  status: namesOf<TestResult['status']>({ sent: true, failed: true, uncertain: true }),
  error: v.nullable(v.string()),
}

export const countFields: RecordFields<MessageCounts> = {
  recipients: described(Count, 'The sum of the others. It grows while sending starts.'),
  pending: Count,
  sent: Count,
  failed: Count,
  skipped: Count,
  uncertain: Count,
}

export const summaryFields: RecordFields<NewsletterSummary> = {
  id: Id,
  uuid: Uuid,
  name: v.string(),
  subject: v.string(),
  preheader: v.nullable(v.string()),
  from_identity_id: described(v.nullable(Id), 'null: the first verified identity when it is sent.'),
  reply_to: v.nullable(Email),
  audience: v.custom<Audience>(() => true),
  status: v.picklist(newsletterStatuses),
  error: described(v.nullable(v.string()), 'Why it could not start.'),
  counts: v.object(countFields),
  scheduled_at: v.nullable(Time),
  created_at: Time,
  updated_at: Time,
  started_at: v.nullable(Time),
  finished_at: v.nullable(Time),
}

export const newsletterFields: RecordFields<Newsletter> = {
  ...summaryFields,
  html: v.string(),
  text: described(v.nullable(v.string()), 'null: made from the html.'),
}

interface SummaryRow extends Omit<NewsletterSummary, 'audience' | 'counts'>, Omit<MessageCounts, 'pending'> {
  audience: string
}

export function summaryFrom(row: SummaryRow): NewsletterSummary {
  return summaryRecord({ ...row, audience: JSON.parse(row.audience), counts: countsFrom(row) })
}

export function newsletterFrom(row: SummaryRow & { html: string; text: string | null }): Newsletter {
  return { ...summaryFrom(row), html: row.html, text: row.text }
}

const summaryRecord = recordFrom(summaryFields)

function countsFrom(row: Omit<MessageCounts, 'pending'>): MessageCounts {
  const { recipients, sent, failed, skipped, uncertain } = row
  return { recipients, pending: recipients - sent - failed - skipped - uncertain, sent, failed, skipped, uncertain }
}
