import * as v from 'valibot'
import type { Optional } from '../collections.ts'
import { closedObject, Name } from '../parse.ts'
import { Id, type RecordFields, recordFrom, Time, Uuid } from '../record.ts'
import type { Timestamp } from '../time.ts'

/** A list. Two lists may have the same name. */
export interface List {
  id: number
  uuid: string
  name: string
  created_at: Timestamp
  /** Contacts join only after they confirm it. Absent when false, and in the lists of contacts and events. */
  double_opt_in?: true
}

export interface ListInput {
  /** 1–255 characters. Two lists may have the same name. */
  readonly name: string
  /** Whether contacts join only after they follow the link of a confirmation mail; default false. */
  readonly double_opt_in?: boolean | undefined
}

/** Absent fields stay unchanged. At least one is needed. */
export type ListChangeInput = Optional<ListInput>

const DoubleOptIn = v.optional(v.boolean('This must be true or false.'))

export const NewList = closedObject({ name: Name, double_opt_in: DoubleOptIn })
export const ListChange = v.pipe(
  closedObject({ name: v.optional(Name), double_opt_in: DoubleOptIn }),
  v.forward(
    v.check(({ name, double_opt_in }) => name !== undefined || double_opt_in !== undefined, 'This field is required.'),
    ['name'],
  ),
)

/** The fields of a list as contacts and events show it. */
export const listFields: RecordFields<Omit<List, 'double_opt_in'>> = {
  id: Id,
  uuid: Uuid,
  name: v.string(),
  created_at: Time,
}

/** Returns a list as contacts and events show it. */
export const plainList = recordFrom(listFields)

/** A row of `mailkeep_list`. */
export type ListRow = Omit<List, 'double_opt_in'> & { double_opt_in: boolean }

export function listFrom(row: ListRow): List {
  return { ...plainList(row), ...(row.double_opt_in && { double_opt_in: true }) }
}
