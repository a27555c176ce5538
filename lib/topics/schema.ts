import * as v from 'valibot'
import { closedObject, Description, Name } from '../parse.ts'
import type { Timestamp } from '../time.ts'

/** A topic of a list. */
export interface Topic {
  id: number
  uuid: string
  list_id: number
  name: string
  description: string | null
  created_at: Timestamp
}

export interface TopicInput {
  /** 1–255 characters. */
  readonly name: string
  /** At most 1,000 characters. */
  readonly description?: string | null | undefined
}

/** Absent fields stay unchanged. */
export type TopicChangeInput = Partial<TopicInput>

const TopicDescription = v.optional(v.nullable(Description))

export const NewTopic = closedObject({ name: Name, description: TopicDescription })
export const TopicChange = closedObject({ name: v.optional(Name), description: TopicDescription })

export function topicFrom(row: Topic): Topic {
  return {
    id: row.id,
    uuid: row.uuid,
    list_id: row.list_id,
    name: row.name,
    description: row.description,
    created_at: row.created_at,
  }
}
