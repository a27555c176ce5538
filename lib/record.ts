/**
 * Schemas of records: what operations return. The document query, the mapping of rows, the columns of exports and the
 * description of the API read them. They never validate, because mailkeep writes the records itself.
 */
import * as v from 'valibot'

export const Id = v.pipe(v.number(), v.safeInteger(), v.minValue(1))
export const Uuid = v.pipe(v.string(), v.uuid())
/** A `Timestamp`: UTC with microseconds. */
export const Time = v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/))
/** As `withOffset` writes it: whole seconds with the offset +00:00. */
export const OffsetTime = v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/))
export const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
export const Email = v.pipe(v.string(), v.email())

export type AnySchema = v.GenericSchema<unknown>

/** One schema for each field of the record, in the order of the API. */
export type RecordFields<T> = { readonly [Name in keyof T]-?: v.GenericSchema<T[Name]> }

/** One of these names. The compiler checks that none is missing. */
export function namesOf<T extends string>(names: Readonly<Record<T, true>>) {
  return v.picklist(Object.keys(names) as T[])
}

/** Adds a text for the description of the API. */
export function described<S extends AnySchema>(schema: S, description: string) {
  return v.pipe(schema as AnySchema as v.GenericSchema<v.InferInput<S>>, v.description(description))
}

/** Whether the field has this schema; the field may be nullable and have a description. */
export function hasSchema(field: AnySchema, schema: AnySchema): boolean {
  if (field === schema) return true
  if ('pipe' in field) return hasSchema((field.pipe as [AnySchema])[0], schema)
  return 'wrapped' in field && hasSchema(field.wrapped as AnySchema, schema)
}

/** Returns the mapping from a row to the record, for records whose columns have the names of the fields. */
export function recordFrom<T>(fields: RecordFields<T>): (row: T) => T {
  const names = Object.keys(fields) as (keyof T)[]
  return (row) => {
    const record: Partial<T> = {}
    for (const name of names) record[name] = row[name]
    return record as T
  }
}
