import * as v from 'valibot'
import { closedObject, Name } from '../parse.ts'
import { Id, type RecordFields, recordFrom, Time, Uuid } from '../record.ts'
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

export const listFields: RecordFields<List> = { id: Id, uuid: Uuid, name: v.string(), created_at: Time }

export const listFrom = recordFrom(listFields)
