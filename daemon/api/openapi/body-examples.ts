/** Examples of request bodies, of the data set in `examples.ts`. */
import type { FieldErrors } from '../../../lib/index.ts'
import type { BodyName } from './bodies.ts'
import {
  attributeSettings,
  contactInput,
  endpointInput,
  eventInput,
  pageSettings,
  segmentInput,
  tagInput,
  topicInput,
} from './examples.ts'
import { sendingBodyExamples } from './sending.ts'

/** By schema name: an example body, and the errors of a refused body. */
export const bodyExamples: Readonly<Record<BodyName, { readonly good: object; readonly errors: FieldErrors }>> = {
  ...sendingBodyExamples,
  TagInput: { good: tagInput, errors: { name: ['There is a tag of this name already.'] } },
  ListChange: { good: { name: 'News' }, errors: { name: ['This field is required.'] } },
  ListInput: { good: { name: 'News' }, errors: { name: ['This field is required.'] } },
  TopicInput: { good: topicInput, errors: { name: ['This field is required.'] } },
  TopicChange: { good: { description: 'Every other Monday.' }, errors: { name: ['This must not be empty.'] } },
  PageSettingsInput: { good: pageSettings, errors: { colour: ['This must be a colour such as #0a58ca.'] } },
  IdentityInput: {
    good: { email: 'news@example.org', name: 'News' },
    errors: { email: ['There is an identity of this address already.'] },
  },
  SegmentInput: { good: segmentInput, errors: { name: ['This field is required.'] } },
  SegmentChange: { good: { name: 'Customers' }, errors: { name: ['This must not be empty.'] } },
  AttributeSettingsInput: {
    good: attributeSettings,
    errors: { indexed: ['At most 10 attributes can be indexed.'] },
  },
  ContactInput: { good: contactInput, errors: { email: ['This must be an e-mail address.'] } },
  ContactUpsert: { good: contactInput, errors: { email: ['This must be an e-mail address.'] } },
  ContactChange: {
    good: { name: 'Ada King', tags: ['vip'], company: null },
    errors: { email: ['Use POST /contacts/{contactId}/email, or contacts.changeEmail, to change the address.'] },
  },
  SuppressionInput: { good: { email: 'ada@example.org' }, errors: { email: ['This must be an e-mail address.'] } },
  EmailInput: { good: { email: 'ada@example.com' }, errors: { email: ['Another contact has this e-mail address.'] } },
  TagsInput: { good: { tags: ['vip'] }, errors: { tags: ['At least one tag is needed.'] } },
  MergeInput: { good: { into: 7 }, errors: { into: ['This must be another contact.'] } },
  BatchInput: {
    good: {
      operations: [
        { op: 'upsert', email: 'ada@example.org', tags: ['vip'], lists: [1] },
        { op: 'unsubscribe', email: 'bob@example.org' },
      ],
    },
    errors: { operations: ['At most 1,000 operations at a time.'] },
  },
  EndpointInput: { good: endpointInput, errors: { events: ['At least one event type is needed.'] } },
  EndpointChange: { good: { active: false }, errors: { active: ['This must be true or false.'] } },
  EventInput: { good: eventInput, errors: { data: ['This must be an object.'] } },
  EventBatchInput: { good: { events: [eventInput] }, errors: { events: ['At most 1,000 events at a time.'] } },
  RotationInput: {
    good: { overlap_hours: 24 },
    errors: { overlap_hours: ['This must be a whole number from 0 to 72.'] },
  },
  TokenInput: {
    good: { name: 'Billing', role: 'member', expires_in: 7_776_000 },
    errors: { role: ['This must be admin, member or viewer.'] },
  },
  PortalLinkInput: {
    good: { role: 'webhooks', expires_in: 900 },
    errors: { role: ['This must be webhooks.'] },
  },
  RecoverInput: {
    good: { since: '2026-01-02T03:04:05Z' },
    errors: { since: ['This must be a time with its offset, as in 2026-01-02T03:04:05Z.'] },
  },
}
