import { inputLimits } from '../../../lib/index.ts'
import * as schemas from '../../../lib/schemas.ts'
import { contact, contactBodies, groupTexts } from './contact-bodies.ts'
import { address, inputOf, name, schemasOf } from './fields.ts'
import { arrayOf, flag, id, type Schema } from './schema.ts'
import { sendingBodies } from './sending.ts'

const { attributeCharacters, urlCharacters } = inputLimits

const list = {
  name: `${name.description} Two lists may have the same name.`,
  double_opt_in: 'Whether contacts join only after they follow the link of a confirmation mail. Default false.',
}

// The provider sets the status.
const { status: _, ...identityEntries } = schemas.NewIdentity.entries

const describedTime = { description: 'ISO 8601 with an offset.', examples: ['2026-01-02T03:04:05Z'] }

const event = inputOf(schemas.HostEvent, {
  data: `Data for the receivers. The event’s body has at most ${inputLimits.eventBytes} bytes.`,
})

/** Schemas of request bodies. */
export const bodySchemas = {
  ...sendingBodies,
  TagInput: inputOf(schemas.NewTag, { name: `${name.description} Unique without regard to case.` }),
  ListInput: inputOf(schemas.NewList, list),
  ListChange: {
    ...inputOf(schemas.ListChange, list),
    anyOf: [{ required: ['name'] }, { required: ['double_opt_in'] }],
  },
  TopicInput: inputOf(schemas.NewTopic),
  TopicChange: inputOf(schemas.TopicChange),
  IdentityInput: inputOf(
    { entries: identityEntries },
    { email: 'Unique without regard to case. Trimmed.', name: 'The sender’s name. Empty when absent.' },
  ),
  SegmentInput: inputOf(schemas.NewSegment),
  SegmentChange: inputOf(schemas.SegmentChange),
  AttributeSettingsInput: inputOf(schemas.AttributeSettingsChange, {
    indexed: 'Names of attributes. Repeats are dropped.',
  }),
  PageSettingsInput: inputOf(schemas.PageSettingsChange, {
    name: `Shown at the top of each page. ${name.description}`,
    colour: 'Of buttons. The text on it is black or white, whichever has more contrast.',
    logo_url: 'Must be `https`. The pages load nothing else from elsewhere.',
    language: 'Without it, the language of the contact’s browser.',
    texts:
      'Own texts by name, instead of the built-in ones. `{email}` is replaced, and on the page to confirm `{list}`. An empty text is left out; titles and buttons must not be empty.',
    postal_address: '`client.postal_address` in mails. Without it, the one of the whole service.',
  }),
  ...contactBodies,
  SuppressionInput: inputOf(schemas.NewSuppression, { email: 'Trimmed.' }),
  EmailInput: inputOf(schemas.Address, { email: 'The new address. Trimmed.' }),
  TagsInput: inputOf(schemas.TagsChange, { tags: 'Names of tags.' }),
  MergeInput: inputOf(schemas.Merge, { into: 'The contact that stays: its id, or `{email}`.' }),
  BatchInput: inputOf(schemas.Batch, {
    operations: {
      items: {
        type: 'object',
        properties: {
          op: { type: 'string', enum: schemas.batchOperationNames },
          id: { ...id, description: 'The contact. Every operation except `upsert` takes `id` or `email`.' },
          email: address,
          ...schemasOf(schemas.textFields),
          tags: { ...contact.tags, description: 'Names, for `upsert`, `update`, `tag` and `untag`.' },
          lists: {
            ...arrayOf(id),
            maxItems: inputLimits.lists,
            description: 'For `upsert`, `add_to_list` and `remove_from_list`.',
          },
          confirmed: { ...flag, description: 'Whether double opt-in of the lists is skipped. Only for admins.' },
          list_id: { ...id, description: 'One list, instead of `lists`, for the last two.' },
        },
        required: ['op'],
        additionalProperties: true,
        description: 'Every other field of `upsert` and `update` is an attribute.',
      },
    },
  }),
  EndpointInput: inputOf(schemas.NewEndpoint, {
    url: {
      maxLength: urlCharacters,
      description:
        'Must be `https` with a public host and port 443 or 8443, unless configured otherwise. No user name, password or fragment.',
    },
    events: 'Repeats are dropped.',
    description: 'Empty when absent.',
  }),
  EndpointChange: inputOf(schemas.EndpointChange),
  EventInput: event,
  EventBatchInput: inputOf(schemas.EventBatch, { events: { items: event } }),
  RotationInput: inputOf(schemas.Rotation, { overlap_hours: 'For how long the previous secret signs too. Default 0.' }),
  TokenInput: inputOf(schemas.NewClientToken, {
    name: `A label for people. ${name.description}`,
    role: schemas.rolesText,
    expires_in: 'Seconds from now. Without it the token is valid until it is revoked.',
  }),
  PortalLinkInput: inputOf(schemas.NewPortalLink, {
    role: 'What the link opens.',
    expires_in: 'Seconds from now. 3600 when absent.',
  }),
  RecoverInput: inputOf(schemas.Since, { since: describedTime }),
} satisfies Readonly<Record<string, Schema>>

/** The filters of a segment, in requests and in answers. */
export const segmentFilters: Schema = {
  ...inputOf(schemas.SegmentFilters, {
    ...groupTexts,
    attributes: {
      additionalProperties: { type: 'string', maxLength: attributeCharacters },
      maxProperties: inputLimits.indexedAttributes,
      description: 'Values of declared attributes.',
    },
    search: 'Substring of the name or e-mail address.',
    created_after: describedTime,
    created_before: describedTime,
  }),
  description: `A contact must match every filter. At most ${inputLimits.segmentBytes} bytes as JSON.`,
  examples: [{ tags: [3], attributes: { plan: 'pro' } }],
}

/** A request body of the description. */
export type BodyName = keyof typeof bodySchemas
