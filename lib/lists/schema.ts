import { closedObject, Name } from '../parse.ts'
import type { Timestamp } from '../time.ts'

/** A list: contract 2. Two lists may have one name. */
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
