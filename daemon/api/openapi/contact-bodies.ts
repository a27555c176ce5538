/** Request bodies with the fields of a contact. */
import { inputLimits } from '../../../lib/index.ts'
import * as schemas from '../../../lib/schemas.ts'
import { schemasOf } from './fields.ts'
import { arrayOf, flag, id, type Schema } from './schema.ts'

const { nameCharacters, attributeCharacters, emailCharacters } = inputLimits

export const name = {
  type: 'string',
  minLength: 1,
  maxLength: nameCharacters,
  description: 'Trimmed and normalized to NFC before its length is checked.',
} as const
export const address = { type: 'string', format: 'idn-email', maxLength: emailCharacters } as const

/** Names a contact. */
export const contactKey: Schema = {
  type: ['integer', 'object'],
  minimum: 1,
  properties: { email: address },
  required: ['email'],
  description: 'The contact: its id, or `{email}`.',
}

const someIds = { ...arrayOf(id), maxItems: inputLimits.values } as const

/** Filters by the lists, tags and topics of a contact. */
export const groupFilters = {
  lists: { ...someIds, description: 'On any of these lists.' },
  tags: { ...someIds, description: 'With any of these tags.' },
  topics: { ...someIds, description: 'Subscribed to any of these topics.' },
  exclude_lists: { ...someIds, description: 'On none of these lists.' },
  exclude_tags: { ...someIds, description: 'With none of these tags.' },
} as const

/** Fields that the bodies of contacts have. */
export const contact = {
  ...schemasOf(schemas.textFields),
  tags: { ...arrayOf(name), maxItems: inputLimits.tags },
} as const

/** Every other field of a contact is an attribute. */
function attributesBeside(...others: readonly string[]) {
  return {
    propertyNames: { type: 'string', maxLength: nameCharacters },
    patternProperties: {
      [`^(?!(?:${[...schemas.inputFields, ...others].join('|')})$)`]: {
        type: ['string', 'null'],
        maxLength: attributeCharacters,
        description: 'An attribute, stored in `extra_attributes`. null deletes it.',
      },
    },
    // patternProperties already matches every other field. Generated TypeScript types need this entry: their index
    // signature must allow the types of `tags` and `confirmed`.
    additionalProperties: { anyOf: [arrayOf({ type: 'string' }), flag] },
    maxProperties: inputLimits.fields,
  } as const
}
const attributes = attributesBeside()

const attributesText = `Every other field is an attribute; a contact has at most ${inputLimits.attributes}.`

const newContact = {
  email: { ...address, description: 'Identifies the contact, without regard to case. Trimmed.' },
  ...contact,
  tags: { ...contact.tags, description: 'Names; tags that do not exist are created. Tags are added, never removed.' },
} as const

export const contactBodies = {
  ContactInput: {
    type: 'object',
    description: attributesText,
    properties: {
      ...newContact,
      confirmed: {
        type: ['boolean', 'string', 'null'],
        maxLength: attributeCharacters,
        description:
          'true: the contact has confirmed elsewhere that it joins the list, so that double opt-in is skipped. Only for admins. A text is the value of an attribute.',
      },
    },
    required: ['email'],
    ...attributesBeside('confirmed'),
  },
  ContactUpsert: {
    type: 'object',
    description: attributesText,
    properties: newContact,
    required: ['email'],
    ...attributes,
  },
  ContactChange: {
    type: 'object',
    description: `${attributesText} POST /contacts/{contactId}/email changes the address.`,
    properties: {
      ...contact,
      tags: { ...contact.tags, description: 'Names. They replace the contact’s tags.' },
    },
    ...attributes,
    propertyNames: { ...attributes.propertyNames, not: { const: 'email' } },
  },
} as const
