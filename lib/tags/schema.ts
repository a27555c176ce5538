import * as v from 'valibot'
import { closedObject, Name } from '../parse.ts'
import { Id, type RecordFields, recordFrom, Time, Uuid } from '../record.ts'
import type { Timestamp } from '../time.ts'

/** A tag. */
export interface Tag {
  id: number
  uuid: string
  name: string
  created_at: Timestamp
}

export interface TagInput {
  /** 1–255 characters, unique within the client, case-insensitively. */
  readonly name: string
}

export const TagName = Name
export const NewTag = closedObject({ name: TagName })

export const tagFields: RecordFields<Tag> = { id: Id, uuid: Uuid, name: v.string(), created_at: Time }

export const tagFrom = recordFrom(tagFields)
