import {
  type ClientTokenInput,
  type EndpointChangeInput,
  type EndpointInput,
  type EventInput,
  eventTypes,
  inputLimits,
  type ListInput,
  type RecoverInput,
  type RotationInput,
  roles,
  type TagInput,
  type TopicInput,
} from '../../../lib/index.ts'
import { hostEventTypes, inputFields, textFields } from '../../../lib/internal.ts'
import { schemasOf } from './fields.ts'
import { arrayOf, flag, input, nullable, type Schema } from './schema.ts'

const { nameCharacters, descriptionCharacters, attributeCharacters, emailCharacters, urlCharacters } = inputLimits

const name = {
  type: 'string',
  minLength: 1,
  maxLength: nameCharacters,
  description: 'Trimmed and normalized to NFC before its length is checked.',
} as const
const description = { type: 'string', maxLength: descriptionCharacters } as const

/** Fields that both contact bodies have. */
const contact = {
  ...schemasOf(textFields),
  tags: { ...arrayOf(name), maxItems: inputLimits.tags },
} as const

/** Every other field of a contact is an attribute. */
const attributes = {
  propertyNames: { type: 'string', maxLength: nameCharacters },
  patternProperties: {
    [`^(?!(?:${[...inputFields].join('|')})$)`]: {
      type: ['string', 'null'],
      maxLength: attributeCharacters,
      description: 'An attribute, stored in `extra_attributes`. null deletes it.',
    },
  },
  // patternProperties already matches every other field. Generated TypeScript types need this entry: their index
  // signature must allow the type of `tags`.
  additionalProperties: arrayOf({ type: 'string' }),
  maxProperties: inputLimits.fields,
} as const

const attributesText = `Every other field is an attribute; a contact has at most ${inputLimits.attributes}.`

const roleText = '`viewer` reads, `member` also writes contacts, tags, lists and topics, `admin` may do everything.'

/** Schemas of request bodies. */
export const bodySchemas = {
  TagInput: input<TagInput>(
    { name: { ...name, description: `${name.description} Unique without regard to case.` } },
    'name',
  ),
  ListInput: input<ListInput>(
    { name: { ...name, description: `${name.description} Two lists may have the same name.` } },
    'name',
  ),
  TopicInput: input<TopicInput>({ name, description: nullable(description) }, 'name'),
  TopicChange: input<Partial<TopicInput>>({ name, description: nullable(description) }),
  ContactInput: {
    type: 'object',
    description: attributesText,
    properties: {
      email: {
        type: 'string',
        format: 'idn-email',
        maxLength: emailCharacters,
        description: 'Identifies the contact, without regard to case. Trimmed.',
      },
      ...contact,
      tags: {
        ...contact.tags,
        description: 'Names; tags that do not exist are created. Tags are added, never removed.',
      },
    },
    required: ['email'],
    ...attributes,
  },
  ContactChange: {
    type: 'object',
    description: `${attributesText} The e-mail address of a contact cannot be changed.`,
    properties: {
      ...contact,
      tags: { ...contact.tags, description: 'Names. They replace the contact’s tags.' },
    },
    ...attributes,
    propertyNames: { ...attributes.propertyNames, not: { const: 'email' } },
  },
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
  EventInput: input<EventInput>(
    {
      type: { type: 'string', enum: hostEventTypes },
      data: {
        type: 'object',
        description: `Data for the receivers. The event’s body has at most ${inputLimits.eventBytes} bytes.`,
      },
    },
    'type',
    'data',
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
      role: { type: 'string', enum: roles, description: roleText },
      expires_in: {
        type: 'integer',
        minimum: 1,
        description: 'Seconds from now. Without it the token is valid until it is revoked.',
      },
    },
    'name',
    'role',
  ),
  RecoverInput: input<RecoverInput>(
    {
      since: {
        type: 'string',
        pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$`,
        description: 'ISO 8601 with an offset.',
        examples: ['2026-01-02T03:04:05Z'],
      },
    },
    'since',
  ),
} satisfies Readonly<Record<string, Schema>>

/** A request body of the description. */
export type BodyName = keyof typeof bodySchemas
