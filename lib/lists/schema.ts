import { closedObject, Name } from '../parse.ts'
import type { Timestamp } from '../time.ts'

/** A list. Two lists may have the same name. */
export interface List {
  id: number
  uuid: string
  name: string
  created_at: Timestamp
}

export const NewList = closedObject({ name: Name })

export function listFrom(row: List): List {
  return { id: row.id, uuid: row.uuid, name: row.name, created_at: row.created_at }
}
