/** The operations of a batch: their inputs, and what they are parsed to. */
import * as v from 'valibot'
import { distinct } from '../collections.ts'
import { type FieldErrors, invalid } from '../errors.ts'
import { inputLimits, withCommas } from '../limits.ts'
import { closedObject, EmailAddress, foldAddress, idInput, isRecord, noRecordMessage, parse } from '../parse.ts'
import { ContactChange, NewContact, SomeTags } from './schema.ts'

/** Maximum operations of a batch. */
const maxOperationsPerBatch = 1000

export const batchOperationNames = [
  'upsert',
  'update',
  'tag',
  'untag',
  'add_to_list',
  'remove_from_list',
  'unsubscribe',
  'resubscribe',
  'delete',
] as const satisfies BatchOperationName[]

/** The kind of an operation of a batch. */
export type BatchOperationName =
  | 'upsert'
  | 'update'
  | 'tag'
  | 'untag'
  | 'add_to_list'
  | 'remove_from_list'
  | 'unsubscribe'
  | 'resubscribe'
  | 'delete'

/** One operation of a batch. `upsert` takes `email`; the others take the contact's `id` or `email`. */
export interface BatchOperationInput {
  readonly op: BatchOperationName
  readonly id?: number | undefined
  readonly email?: string | undefined
  readonly name?: string | undefined
  /** Tag names: added by `upsert` and `tag`, removed by `untag`, replaced by `update`. */
  readonly tags?: readonly string[] | undefined
  /** Ids of lists, for `upsert`, `add_to_list` and `remove_from_list`. The last two also take one id as `list_id`. */
  readonly lists?: readonly number[] | undefined
  readonly list_id?: number | undefined
  /** For `upsert` and `add_to_list`: whether double opt-in of the lists is skipped. Only for admins. */
  readonly confirmed?: boolean | undefined
  /** Attributes of `upsert` and `update`. */
  readonly [attribute: string]: string | number | boolean | null | undefined | readonly string[] | readonly number[]
}

export interface BatchInput {
  /** At most 1,000. */
  readonly operations: readonly BatchOperationInput[]
}

/** The result of one operation of a batch. */
export interface BatchOperationResult {
  /** `created` and `updated`: the contact was saved. `done`: the other operations. `refused`: nothing changed. */
  status: 'created' | 'updated' | 'done' | 'refused'
  /** The contact, unless the operation was refused. */
  id?: number
  /** Messages by field of the operation, when it was refused. */
  errors?: FieldErrors
}

export const Batch = closedObject({
  operations: v.pipe(
    v.array(v.unknown(), 'This must be an array of operations.'),
    v.maxLength(maxOperationsPerBatch, `At most ${withCommas(maxOperationsPerBatch)} operations at a time.`),
  ),
})

/** A parsed operation. Its contact is known by id or by e-mail address. */
export interface BatchOperation {
  readonly op: BatchOperationName
  readonly id?: number | undefined
  /** Folded. */
  readonly emailKey?: string | undefined
  readonly contact?: NewContact
  readonly change?: v.InferOutput<typeof ContactChange>
  readonly tags: readonly string[]
  readonly lists: readonly number[]
  readonly confirmed?: boolean | undefined
  /** The field that named the lists. */
  readonly listField: string
}

const ListId = idInput('This must be the id of a list.')
const Lists = v.pipe(
  v.array(v.unknown(), 'This must be an array of ids of lists.'),
  v.minLength(1, 'At least one list is needed.'),
  v.maxLength(inputLimits.lists, `A contact can be on at most ${inputLimits.lists} lists.`),
  v.array(ListId),
  v.transform(distinct),
)

const named = {
  op: v.picklist(batchOperationNames),
  id: v.optional(idInput('This must be the id of a contact.')),
  email: v.optional(EmailAddress),
}
const OnlyContact = closedObject(named)
const WithTags = closedObject({ ...named, tags: SomeTags })
const onLists = { ...named, lists: v.optional(Lists), list_id: v.optional(ListId), list: v.optional(ListId) }
const WithLists = closedObject(onLists)
const AddToLists = closedObject({
  ...onLists,
  confirmed: v.optional(v.boolean('This must be true or false.')),
})
const Name = v.object({ op: v.picklist(batchOperationNames, `This must be one of ${batchOperationNames.join(', ')}.`) })
const UpsertLists = v.object({ lists: v.optional(Lists) })

/** @throws MailkeepError `validation_failed` on the fields of the operation; on `operation` if it is no object. */
export function parseOperation(input: unknown): BatchOperation {
  if (!isRecord(input)) throw invalid('operation', noRecordMessage(input))
  const { op } = parse(Name, input)
  const none = { op, tags: [], lists: [], listField: 'lists' }
  switch (op) {
    case 'upsert': {
      const { lists = [] } = Array.isArray(input.lists) && input.lists.length === 0 ? {} : parse(UpsertLists, input)
      const contact = parse(NewContact, without(input, 'op', 'lists'))
      return { ...none, emailKey: foldAddress(contact.email), contact, lists, confirmed: contact.confirmed }
    }
    case 'update': {
      const change = parse(ContactChange, without(input, 'op', 'id', 'email'))
      return { ...none, ...contactOf(parse(v.object(named), input)), change }
    }
    case 'tag':
    case 'untag': {
      const fields = parse(WithTags, input)
      return { ...none, ...contactOf(fields), tags: fields.tags }
    }
    case 'add_to_list': {
      const fields = parse(AddToLists, input)
      return { ...none, ...contactOf(fields), ...listsOf(fields), confirmed: fields.confirmed }
    }
    case 'remove_from_list': {
      const fields = parse(WithLists, input)
      return { ...none, ...contactOf(fields), ...listsOf(fields) }
    }
    default:
      return { ...none, ...contactOf(parse(OnlyContact, input)) }
  }
}

function contactOf({ id, email }: { id?: number | undefined; email?: string | undefined }) {
  if ((id === undefined) === (email === undefined)) throw invalid('id', 'Either id or email is needed, and not both.')
  return { id, emailKey: email === undefined ? undefined : foldAddress(email) }
}

function listsOf(fields: v.InferOutput<typeof WithLists>) {
  const given = (['lists', 'list_id', 'list'] as const).filter((name) => fields[name] !== undefined)
  if (given.length !== 1) throw invalid('lists', 'Either lists or list_id is needed, and not both.')
  const listField = given[0]!
  return { lists: [fields[listField]!].flat(), listField }
}

/** Copies by entries, because an attribute may be called `__proto__`. */
function without(input: Record<string, unknown>, ...names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !names.includes(name)))
}
