import {
  type AttributeSettingsInput,
  type BatchInput,
  type ClientTokenInput,
  type EmailInput,
  type EndpointChangeInput,
  type EndpointInput,
  type EventBatchInput,
  type EventInput,
  eventTypes,
  type IdentityInput,
  inputLimits,
  type ListChangeInput,
  type ListInput,
  type MergeInput,
  type PageSettingsInput,
  type PortalLinkInput,
  pageLanguages,
  pageTextNames,
  type RecoverInput,
  type RotationInput,
  roles,
  type SegmentFiltersInput,
  type SegmentInput,
  type SuppressionInput,
  type TagInput,
  type TagsInput,
  type TopicInput,
} from '../../../lib/index.ts'
import * as schemas from '../../../lib/schemas.ts'
import { time } from '../routes/filters.ts'
import { address, contact, contactBodies, contactKey, groupFilters, name } from './contact-bodies.ts'
import { schemasOf } from './fields.ts'
import { anyFields, arrayOf, flag, id, input, nullable, ref, type Schema } from './schema.ts'
import { sendingBodies } from './sending.ts'

const { nameCharacters, descriptionCharacters, attributeCharacters, urlCharacters } = inputLimits

const description = { type: 'string', maxLength: descriptionCharacters } as const

const listName = { ...name, description: `${name.description} Two lists may have the same name.` }
const doubleOptIn = {
  ...flag,
  description: 'Whether contacts join only after they follow the link of a confirmation mail. Default false.',
}

const describedTime = {
  ...time,
  description: 'ISO 8601 with an offset.',
  examples: ['2026-01-02T03:04:05Z'],
} as const

const eventInput = input<EventInput>(
  {
    type: { type: 'string', enum: schemas.hostEventTypes },
    data: {
      ...anyFields,
      description: `Data for the receivers. The event’s body has at most ${inputLimits.eventBytes} bytes.`,
    },
  },
  'type',
  'data',
)

/** Schemas of request bodies. */
export const bodySchemas = {
  ...sendingBodies,
  TagInput: input<TagInput>(
    { name: { ...name, description: `${name.description} Unique without regard to case.` } },
    'name',
  ),
  ListInput: input<ListInput>({ name: listName, double_opt_in: doubleOptIn }, 'name'),
  ListChange: {
    ...input<ListChangeInput>({ name: listName, double_opt_in: doubleOptIn }),
    anyOf: [{ required: ['name'] }, { required: ['double_opt_in'] }],
  },
  TopicInput: input<TopicInput>({ name, description: nullable(description) }, 'name'),
  TopicChange: input<Partial<TopicInput>>({ name, description: nullable(description) }),
  IdentityInput: input<Omit<IdentityInput, 'status'>>(
    {
      email: { ...address, description: 'Unique without regard to case. Trimmed.' },
      name: { type: 'string', maxLength: nameCharacters, description: 'The sender’s name. Empty when absent.' },
    },
    'email',
  ),
  SegmentInput: input<SegmentInput>({ name, filters: ref('SegmentFilters') }, 'name', 'filters'),
  SegmentChange: input<Partial<SegmentInput>>({ name, filters: ref('SegmentFilters') }),
  AttributeSettingsInput: input<AttributeSettingsInput>(
    {
      indexed: {
        ...arrayOf({ type: 'string', minLength: 1, maxLength: nameCharacters }),
        maxItems: inputLimits.indexedAttributes,
        description: 'Names of attributes. Repeats are dropped.',
      },
    },
    'indexed',
  ),
  PageSettingsInput: input<PageSettingsInput>({
    name: nullable({ ...name, description: `Shown at the top of each page. ${name.description}` }),
    colour: nullable({
      type: 'string',
      pattern: '^#[0-9A-Fa-f]{6}$',
      description: 'Of buttons. The text on it is black or white, whichever has more contrast.',
    }),
    logo_url: nullable({
      type: 'string',
      maxLength: urlCharacters,
      description: 'Must be `https`. The pages load nothing else from elsewhere.',
    }),
    language: nullable({
      type: 'string',
      enum: pageLanguages,
      description: 'Without it, the language of the contact’s browser.',
    }),
    texts: {
      type: 'object',
      properties: Object.fromEntries(
        pageTextNames.map((text) => [text, { type: 'string', maxLength: inputLimits.pageTextCharacters }]),
      ),
      additionalProperties: false,
      description:
        'Own texts by name, instead of the built-in ones. `{email}` is replaced, and on the page to confirm `{list}`. An empty text is left out; titles and buttons must not be empty.',
    },
    postal_address: nullable({
      ...description,
      description: '`client.postal_address` in mails. Without it, the one of the whole service.',
    }),
  }),
  ...contactBodies,
  SuppressionInput: input<SuppressionInput>({ email: { ...address, description: 'Trimmed.' } }, 'email'),
  EmailInput: input<EmailInput>({ email: { ...address, description: 'The new address. Trimmed.' } }, 'email'),
  TagsInput: input<TagsInput>({ tags: { ...contact.tags, minItems: 1, description: 'Names of tags.' } }, 'tags'),
  MergeInput: input<MergeInput>(
    {
      into: { ...contactKey, description: 'The contact that stays: its id, or `{email}`.' },
    },
    'into',
  ),
  BatchInput: input<BatchInput>(
    {
      operations: {
        ...arrayOf({
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
        }),
        maxItems: schemas.maxOperationsPerBatch,
      },
    },
    'operations',
  ),
  EndpointInput: input<EndpointInput>(
    {
      url: {
        type: 'string',
        maxLength: urlCharacters,
        description:
          'Must be `https` with a public host and port 443 or 8443, unless configured otherwise. No user name, password or fragment.',
      },
      events: {
        ...arrayOf({ type: 'string', enum: eventTypes }),
        minItems: 1,
        maxItems: inputLimits.values,
        description: 'Repeats are dropped.',
      },
      description: { ...description, description: 'Empty when absent.' },
    },
    'url',
    'events',
  ),
  EndpointChange: input<EndpointChangeInput>({ active: flag, description }),
  EventInput: eventInput,
  EventBatchInput: input<EventBatchInput>(
    { events: { ...arrayOf(eventInput), maxItems: schemas.maxEventsPerBatch } },
    'events',
  ),
  RotationInput: input<RotationInput>({
    overlap_hours: {
      type: 'integer',
      minimum: 0,
      maximum: 72,
      description: 'For how long the previous secret signs too. Default 0.',
    },
  }),
  TokenInput: input<ClientTokenInput>(
    {
      name: { ...name, description: `A label for people. ${name.description}` },
      role: { type: 'string', enum: roles, description: schemas.rolesText },
      expires_in: {
        type: 'integer',
        minimum: 1,
        description: 'Seconds from now. Without it the token is valid until it is revoked.',
      },
    },
    'name',
    'role',
  ),
  PortalLinkInput: input<PortalLinkInput>(
    {
      role: { type: 'string', enum: ['webhooks'], description: 'What the link opens.' },
      expires_in: { type: 'integer', minimum: 1, maximum: 86_400, description: 'Seconds from now. 3600 when absent.' },
    },
    'role',
  ),
  RecoverInput: input<RecoverInput>({ since: describedTime }, 'since'),
} satisfies Readonly<Record<string, Schema>>

/** The filters of a segment, in requests and in answers. */
export const segmentFilters: Schema = {
  ...input<SegmentFiltersInput>({
    ...groupFilters,
    attributes: {
      type: 'object',
      additionalProperties: { type: 'string', maxLength: attributeCharacters },
      maxProperties: inputLimits.indexedAttributes,
      description: 'Values of declared attributes.',
    },
    search: { type: 'string', description: 'Substring of the name or e-mail address.' },
    created_after: describedTime,
    created_before: describedTime,
  }),
  description: `A contact must match every filter. At most ${inputLimits.segmentBytes} bytes as JSON.`,
  examples: [{ tags: [3], attributes: { plan: 'pro' } }],
}

/** A request body of the description. */
export type BodyName = keyof typeof bodySchemas
