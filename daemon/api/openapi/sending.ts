/** Schemas and examples of newsletters, sequences and messages. */
import type { CurrentAudience, Enrolment, Message, Newsletter, Sequence } from '../../../lib/index.ts'
import * as schemas from '../../../lib/schemas.ts'
import { groupTexts } from './contact-bodies.ts'
import { inputOf, recordOf, schemasOf } from './fields.ts'
import { arrayOf, id, record, ref, type Schema } from './schema.ts'

const audience: Schema = {
  ...inputOf(schemas.AudienceFilters, { ...groupTexts, segment: 'A segment, whose filters apply too.' }),
  description: 'Subscribed contacts who match every filter. Without filters: all of them.',
}

const pattern = 'unsubscribe_url'
const content = {
  subject: 'Liquid.',
  preheader: 'Shown beside the subject.',
  html: { pattern, description: 'Liquid. Must contain `{{ unsubscribe_url }}`.' },
  text: {
    pattern,
    description: 'Liquid. Must contain `{{ unsubscribe_url }}`. Made from the html when absent or null.',
  },
}
const from_identity_id = 'null: the first verified identity.'
const newsletter = {
  name: 'Recipients do not see it. The subject when absent.',
  ...content,
  from_identity_id,
  audience,
}
const list_id = 'Contacts who are added to this list are enrolled.'
const step = inputOf(schemas.NewStep, {
  id: 'A step that stays. Without it the step is new, unless no step has one.',
  position: 'Orders the steps if every step has one. Else the array does.',
  delay_seconds: 'After the step before it.',
  ...content,
})
const steps = { items: step }

export const sendingBodies = {
  NewsletterInput: inputOf(schemas.NewNewsletter, newsletter),
  NewsletterChange: inputOf(schemas.NewsletterChange, newsletter),
  PreviewInput: inputOf(schemas.PreviewOptions, content),
  TestInput: inputOf(schemas.TestOptions),
  SendInput: inputOf(schemas.SendOptions, { at: 'ISO 8601 with an offset. Now when absent.' }),
  ResumeInput: inputOf(schemas.ResumeOptions, { uncertain: 'What to do with `uncertain` messages.' }),
  SequenceInput: inputOf(schemas.NewSequence, { list_id, from_identity_id, status: '`active` when absent.', steps }),
  SequenceChange: inputOf(schemas.SequenceChange, { list_id, from_identity_id }),
  StepsInput: inputOf(schemas.NewSteps, { steps }),
  StepPreviewInput: inputOf(schemas.StepPreviewOptions, content),
  EnrolmentInput: inputOf(schemas.NewEnrolment),
}

/** Returns the schema of a record that has an audience, whose filters the library's schema does not describe. */
function withAudience({ audience: _, ...fields }: Parameters<typeof schemasOf>[0]): Schema {
  return record({ ...schemasOf(fields), audience })
}

const newsletterSchema = withAudience(schemas.newsletterFields)

const currentAudience: Schema = {
  anyOf: [ref('CurrentAudience'), { type: 'null' }],
  description:
    'Only with `audience`, and before it has started. null if it cannot be counted now: the route of the audience says why.',
}

export const sendingRecords = {
  Newsletter: newsletterSchema,
  NewsletterWithAudience: {
    ...newsletterSchema,
    properties: { ...newsletterSchema.properties, current_audience: currentAudience },
  },
  CurrentAudience: record<CurrentAudience>(
    {
      count: { type: 'integer', minimum: 0 },
      contacts: {
        ...arrayOf(record<CurrentAudience['contacts'][number]>({ id, email: { type: 'string', format: 'idn-email' } })),
        description: 'The first 20, by ascending id.',
      },
    },
    'Who would get a newsletter if it were sent now.',
  ),
  NewsletterSummary: withAudience(schemas.summaryFields),
  MessageCounts: recordOf(schemas.countFields),
  Step: recordOf(schemas.stepFields),
  Preview: recordOf(schemas.previewFields),
  TestResult: recordOf(schemas.testResultFields),
  Message: recordOf(schemas.messageFields),
  Sequence: recordOf(schemas.sequenceFields),
  SequenceSummary: recordOf(schemas.sequenceSummaryFields),
  Enrolment: recordOf(schemas.enrolmentFields),
} satisfies Readonly<Record<string, Schema>>

const created_at = '2026-01-02T03:04:05.678901Z'
const uuid = '5f2b8c1e-7d4a-4b6f-9e3a-0c1d2e3f4a5b'
const templates = {
  subject: 'News for {{ contact.name }}',
  preheader: null,
  html: '<p>Hello {{ contact.name }}</p><a href="{{ unsubscribe_url }}">Unsubscribe</a>',
  text: null,
}
const { html, text: textTemplate, ...subjects } = templates

const counts = { recipients: 1200, pending: 1000, sent: 195, failed: 1, skipped: 4, uncertain: 0 }
const summary = {
  ...{ id: 1, uuid, name: 'January', ...subjects, from_identity_id: 1, reply_to: null, audience: { lists: [1] } },
  ...{ status: 'sending' as const, error: null, counts, scheduled_at: null },
  ...{ created_at, updated_at: created_at, started_at: created_at, finished_at: null },
}
const currentAudienceExample: CurrentAudience = { count: 4800, contacts: [{ id: 7, email: 'ada@example.org' }] }
const newsletterExample: Newsletter = { ...summary, html, text: textTemplate }
const sequenceSummary = {
  ...{ id: 1, uuid, name: 'Welcome', list_id: 1, from_identity_id: 1, reply_to: null },
  ...{ status: 'active' as const, created_at, updated_at: created_at },
}
const sequence: Sequence = { ...sequenceSummary, steps: [{ id: 1, position: 1, delay_seconds: 0, ...templates }] }
const message: Message = {
  ...{ id: 1, uuid, contact_id: 7, contact_email: 'ada@example.org', newsletter_id: 1, sequence_id: null },
  ...{ step_id: null, status: 'sent', reason: null },
  ...{ attempts: 1, error: null, provider_message_id: '0102018d', created_at, sent_at: created_at },
}
const enrolment: Enrolment = {
  ...{ id: 1, sequence_id: 1, contact_id: 7, contact_email: 'ada@example.org' },
  ...{ status: 'active', reason: null, next_step_id: 1 },
  ...{ due_at: created_at, created_at },
}

export const sendingRecordExamples = {
  Newsletter: newsletterExample,
  NewsletterWithAudience: { ...newsletterExample, current_audience: currentAudienceExample },
  CurrentAudience: currentAudienceExample,
  NewsletterSummary: summary,
  Preview: { subject: 'News for Ada', html: '<p>Hello Ada</p>', text: 'Hello Ada' },
  TestResult: { email: 'ada@example.org', status: 'sent', error: null },
  Message: message,
  Sequence: sequence,
  SequenceSummary: sequenceSummary,
  Enrolment: enrolment,
}

const required = { errors: { name: ['This must not be empty.'] } }
const status = { errors: { status: ['The newsletter is sent: it cannot be sent.'] } }

export const sendingBodyExamples = {
  NewsletterInput: {
    good: { name: 'January', ...templates, audience: { lists: [1] } },
    errors: { subject: ['This field is required.'] },
  },
  NewsletterChange: { good: { subject: 'Other news' }, ...required },
  PreviewInput: { good: { contact_id: 7 }, errors: { contact_id: ['This field is required.'] } },
  TestInput: { good: { emails: ['ada@example.org'] }, errors: { emails: ['At most 10 addresses.'] } },
  SendInput: { good: { at: '2026-01-02T03:04:05Z' }, ...status },
  ResumeInput: { good: { uncertain: 'skip' }, ...status },
  SequenceInput: { good: { name: 'Welcome', list_id: 1 }, ...required },
  SequenceChange: { good: { status: 'paused' }, ...required },
  StepsInput: {
    good: { steps: [{ delay_seconds: 0, ...templates }] },
    errors: { steps: ['A sequence has at most 50 steps.'] },
  },
  StepPreviewInput: { good: { contact_id: 7, ...templates }, errors: { contact_id: ['This field is required.'] } },
  EnrolmentInput: { good: { contact_id: 7 }, errors: { contact_id: ['No such contact.'] } },
}
