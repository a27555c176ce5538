/** Request bodies with the fields of a contact. */
import { inputLimits } from '../../../lib/index.ts'
import * as schemas from '../../../lib/schemas.ts'
import { address, name, schemasOf } from './fields.ts'
import { arrayOf, flag } from './schema.ts'

const { nameCharacters, attributeCharacters } = inputLimits

/** Filters by the lists, tags and topics of a contact. */
export const groupTexts = {
  lists: 'On any of these lists.',
  tags: 'With any of these tags.',
  topics: 'Subscribed to any of these topics.',
  exclude_lists: 'On none of these lists.',
  exclude_tags: 'With none of these tags.',
}

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
