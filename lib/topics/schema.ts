import * as v from 'valibot'
import type { Optional } from '../collections.ts'
import { closedObject, Description, Name } from '../parse.ts'
import { Id, type RecordFields, recordFrom, Time, Uuid } from '../record.ts'
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
export type TopicChangeInput = Optional<TopicInput>

const TopicDescription = v.optional(v.nullable(Description))

export const NewTopic = closedObject({ name: Name, description: TopicDescription })
export const TopicChange = closedObject({ name: v.optional(Name), description: TopicDescription })

export const topicFields: RecordFields<Topic> = {
  id: Id,
  uuid: Uuid,
  list_id: Id,
  name: v.string(),
  description: v.nullable(v.string()),
  created_at: Time,
}

export const topicFrom = recordFrom(topicFields)
