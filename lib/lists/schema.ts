import { closedObject, Name } from '../parse.ts'
import type { Timestamp } from '../time.ts'

/** A list. Two lists may have the same name. */
export interface List {
  id: number
  uuid: string
  name: string
  created_at: Timestamp
}

export interface ListInput {
  /** 1–255 characters. Two lists may have the same name. */
  readonly name: string
}

export const NewList = closedObject({ name: Name })

export function listFrom(row: List): List {
  return { id: row.id, uuid: row.uuid, name: row.name, created_at: row.created_at }
}
