import * as v from 'valibot'
import { readJson } from '../json.ts'
import { inputLimits } from '../limits.ts'
import { type List, listFields } from '../lists/schema.ts'
import { type PageInput, pageFields, QueryId } from '../page.ts'
import {
  atMost,
  closedObject,
  EmailAddress,
  isRecord,
  messageOf,
  noRecordMessage,
  QueryBoolean,
  Text,
} from '../parse.ts'
import { described, Email, Id, type RecordFields, Time, Uuid } from '../record.ts'
import { Ids, type IdsInput, type SegmentFiltersInput, segmentFilterFields } from '../segments/filters.ts'
import { type Tag, TagName, tagFields } from '../tags/schema.ts'
import type { Timestamp } from '../time.ts'
import { type Topic, topicFields } from '../topics/schema.ts'

/** A contact with its tags, lists and topics. */
export interface Contact {
  id: number
  uuid: string
  /** Full name; empty if none was given. */
  name: string
  email: string
  /** Values of the attributes by name. */
  extra_attributes: Record<string, string>
  /** Null while subscribed. */
  unsubscribed_at: Timestamp | null
  /** Whether the contact unsubscribed itself. */
  unsubscribed_by_contact: boolean
  tags: Tag[]
  lists: List[]
  /** Topics that the contact is subscribed to. */
  topics: Topic[]
  created_at: Timestamp
}

/** A contact that was added to a list. */
export interface AddedContact {
  contact: Contact
  /** Whether the contact is new. */
  created: boolean
  /** The list, if the contact has to confirm it before it joins. Only of a list with double opt-in. */
  pending_lists?: List[]
}

/** The known fields of a contact; every other field is an attribute. */
export interface ContactFieldsInput {
  /** At most 255 characters. */
  readonly name?: string | undefined
  /** Tag names. Missing tags are created. */
  readonly tags?: readonly string[] | undefined
  /** An attribute: a string of at most 10,000 characters. Null deletes it; undefined changes nothing. */
  readonly [attribute: string]: string | null | undefined | boolean | readonly string[]
}

export interface ContactInput extends ContactFieldsInput {
  /** At most 254 characters. Identifies the contact, in any case, and with its domain in Unicode or Punycode. */
  readonly email: string
  /**
   * Whether the contact has confirmed elsewhere that it joins the lists, so that double opt-in is skipped. Only for admins.
   * A text of this name is an attribute.
   */
  readonly confirmed?: boolean | undefined
}

/** Absent fields stay unchanged. `tags` replaces the set. */
export interface ContactChangeInput extends ContactFieldsInput {
  /** `changeEmail` changes the address. */
  readonly email?: undefined
}

export const contactFields: RecordFields<Contact> = {
  id: Id,
  uuid: Uuid,
  name: described(v.string(), 'Full name; empty if none was given.'),
  email: Email,
  extra_attributes: v.record(v.string(), v.string()),
  unsubscribed_at: described(v.nullable(Time), 'null while subscribed.'),
  unsubscribed_by_contact: described(v.boolean(), 'Whether the contact unsubscribed themselves.'),
  tags: v.array(v.object(tagFields)),
  lists: v.array(v.object(listFields)),
  topics: described(v.array(v.object(topicFields)), 'Topics that the contact is subscribed to.'),
  created_at: Time,
}

/** Attributes to set. Null deletes an attribute. */
export type AttributeChanges = ReadonlyMap<string, string | null>

const FullName = v.pipe(Text, atMost(inputLimits.nameCharacters), v.description('Full name. Unchanged when absent.'))
const TagNames = v.pipe(
  v.array(v.unknown(), 'This must be an array of tag names.'),
  v.maxLength(inputLimits.tags, `A contact has at most ${inputLimits.tags} tags.`),
  v.array(TagName),
)

/** Names of tags to add or remove. */
export const SomeTags = v.pipe(TagNames, v.minLength(1, 'At least one tag is needed.'))
const AttributeName = v.pipe(Text, atMost(inputLimits.nameCharacters))
const AttributeValue = v.nullable(v.pipe(Text, atMost(inputLimits.attributeCharacters)))

/** The texts that callers set. Each has a column of the same name, which is empty by default. */
export const textFields = { name: v.optional(FullName) }
export const textNames = Object.keys(textFields) as (keyof ContactTexts)[]

export type ContactTexts = { readonly [Name in keyof typeof textFields]: string }

type TextInputs = { readonly [Name in keyof ContactTexts]?: string | undefined }

export const noTexts = Object.fromEntries(textNames.map((name) => [name, ''])) as ContactTexts

/** The fields of a contact's input. Every other field is an attribute. */
export const inputFields: ReadonlySet<string> = new Set(['email', ...textNames, 'tags'])

/** True or false. Anything else is the value of an attribute. */
const Flag = v.pipe(
  v.unknown(),
  v.transform((value) => (typeof value === 'boolean' ? value : undefined)),
)

/** Input for adding a contact to a list. */
export const NewContact = withAttributes(
  v.object({ email: EmailAddress, ...textFields, tags: v.optional(TagNames), confirmed: v.optional(Flag) }),
  (key, value) => key === 'confirmed' && typeof value === 'boolean',
)
export type NewContact = v.InferOutput<typeof NewContact>

/** Input for updating a contact. The address has an operation of its own, because another contact may have it. */
export const ContactChange = withAttributes(
  v.object({
    email: v.optional(v.never('Use POST /contacts/{contactId}/email, or contacts.changeEmail, to change the address.')),
    ...textFields,
    tags: v.optional(TagNames),
  }),
)

/**
 * Returns a schema whose output has the known fields, the fields of `textFields` in `texts`, and every other field in
 * `attributes`. Valibot's `objectWithRest` drops names such as `__proto__`, which are valid attribute names.
 */
function withAttributes<S extends v.GenericSchema<unknown, TextInputs>>(
  known: S,
  isFlag: (key: string, value: unknown) => boolean = () => false,
) {
  return v.pipe(
    v.custom<Record<string, unknown>>(isRecord, ({ input }) => noRecordMessage(input)),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const input = dataset.value
      const fields = v.safeParse(known, input)
      for (const issue of fields.issues ?? []) addIssue({ message: messageOf(issue), path: issue.path as never })
      const attributes = new Map<string, string | null>()
      if (Object.keys(input).length > inputLimits.fields) {
        addIssue({ message: `At most ${inputLimits.fields} fields.` })
        return NEVER
      }
      for (const [key, value] of Object.entries(input)) {
        // Callers of the library may pass undefined.
        if (inputFields.has(key) || value === undefined || isFlag(key, value)) continue
        const message = attributeProblem(key, value)
        if (message) addIssue({ message, path: [{ type: 'object', origin: 'value', input, key, value }] })
        else attributes.set(key, value as string | null)
      }
      if (!fields.success) return NEVER
      const output = fields.output as v.InferOutput<S>
      return { ...output, texts: textsOf(output), attributes: attributes as AttributeChanges }
    }),
  )
}

/** Returns the texts that are set. */
export function textsOf(fields: TextInputs): Partial<ContactTexts> {
  const texts: { -readonly [Name in keyof ContactTexts]?: string } = {}
  for (const name of textNames) if (fields[name] !== undefined) texts[name] = fields[name]
  return texts
}

function attributeProblem(key: string, value: unknown): string | undefined {
  const name = v.safeParse(AttributeName, key)
  if (!name.success) return `This cannot be the name of an attribute: ${name.issues[0].message}`
  // Answers have extra_attributes, so callers try to send it.
  if (key === 'extra_attributes' && isRecord(value)) {
    return 'This must be a string. Give each attribute as a field of its own, beside the name.'
  }
  const result = v.safeParse(AttributeValue, value)
  return result.success ? undefined : result.issues[0].message
}

/** A contact matches a filter if it matches any of its values. It must match all filters. */
export interface ContactFiltersInput extends SegmentFiltersInput {
  /** The exact address, in any case, and with its domain in Unicode or Punycode. */
  readonly email?: string | undefined
  /** Ids of contacts, at most 100. */
  readonly ids?: IdsInput | undefined
  /** Id of a segment. Its filters apply in addition to the others. */
  readonly segment?: number | string | undefined
  /** Default false. */
  readonly include_unsubscribed?: boolean | '1' | '0' | 'true' | 'false' | undefined
  /** Returns unsubscribed contacts only. */
  readonly unsubscribed?: 'only' | undefined
}

export interface ContactQueryInput extends ContactFiltersInput, PageInput {}

export interface UnsubscribeInput {
  /** Whether the contact unsubscribed, rather than the client; default false. */
  readonly byContact?: boolean | undefined
}

export interface EraseInput {
  /** Whether to leave a keyed hash of the address, so that it cannot be stored again; default false. */
  readonly suppress?: boolean | '1' | '0' | 'true' | 'false' | undefined
}

export const EraseOptions = closedObject({ suppress: v.optional(QueryBoolean, false) })

const { lists, tags, topics, search, ...otherFilters } = segmentFilterFields

/** The filters of the contact listing. */
export const filterFields = {
  lists,
  tags,
  topics,
  search,
  include_unsubscribed: v.optional(QueryBoolean, false),
  unsubscribed: v.optional(
    v.literal('only', 'This must be "only". To include unsubscribed contacts, use include_unsubscribed.'),
  ),
  email: v.optional(EmailAddress),
  ids: v.optional(Ids),
  ...otherFilters,
  segment: v.optional(QueryId),
}

export const ContactFilters = closedObject(filterFields)
export type ContactFilters = v.InferOutput<typeof ContactFilters>

export const ContactQuery = closedObject({ ...filterFields, ...pageFields })

export const UnsubscribeOptions = closedObject({
  byContact: v.optional(v.boolean('This must be true or false.'), false),
})

/** Parses the JSON that the database built (see document.ts). Every contact is read through this function. */
export function contactFrom(row: { document: string }): Contact {
  return readJson(row.document)
}
