import { closedObject, Name } from '../parse.ts'
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

export function tagFrom(row: Tag): Tag {
  return { id: row.id, uuid: row.uuid, name: row.name, created_at: row.created_at }
}
