import { invalid } from '../../lib/internal.ts'

/** Maximum parameters of a query. Three filters of 100 values each fit. */
const maxParameters = 500

/** Splits a name from its brackets. `lists[]` and `lists[0]` both name a value of the list `lists`. */
const bracketForm = /^([^[\]]+)(\[.*)$/s
const listPosition = /^\[\d*\]$/
/** `attributes[plan]` names a value of the object `attributes`. */
const objectKey = /^\[([^[\]]+)\]$/

type Field = string | string[] | FieldObject
interface FieldObject {
  [key: string]: string | string[]
}

/**
 * Decodes a query string. `lists[]=1`, `lists[0]=1` and `lists=1`, also percent-encoded, all give `lists`.
 * `attributes[plan]=pro` gives an object, `attributes`, with a value of `plan`. Values keep the order in which they were sent. The library validates them.
 *
 * @param query Without the question mark.
 * @throws MailkeepError `validation_failed`: more than 500 parameters.
 */
export function readQuery(query: string): Record<string, unknown> {
  if (query === '') return {}
  if (countParameters(query) > maxParameters) {
    throw invalid('query', `A query has at most ${maxParameters} parameters.`)
  }
  // An object without a prototype, because parameters may be named `__proto__` or `constructor`.
  const fields: Record<string, Field> = Object.create(null)
  // The `&` protects a leading question mark: URLSearchParams would remove it, but here it is part of a name.
  for (const [written, value] of new URLSearchParams(`&${query}`)) {
    const [, name = written, brackets] = bracketForm.exec(written) ?? []
    fields[name] = withValue(fields[name], brackets, value)
  }
  return fields
}

/**
 * Adds a value to a field. A field in several forms, or in an unknown one such as `lists[a][b]`, becomes an object that no
 * filter accepts. The library then refuses it under the field's name.
 */
function withValue(known: Field | undefined, brackets: string | undefined, value: string): Field {
  const isList = brackets === undefined || listPosition.test(brackets)
  if (isList && !isObject(known)) {
    if (known === undefined && brackets === undefined) return value
    return [known ?? [], value].flat()
  }
  const key = brackets === undefined ? undefined : objectKey.exec(brackets)?.[1]
  const object = isObject(known) ? known : (Object.create(null) as FieldObject)
  const isOneForm = key !== undefined && !isList && (known === undefined || isObject(known))
  if (!isOneForm) object[brackets ?? '[]'] = [value]
  else object[key] = key in object ? [object[key]!, value].flat() : value
  return object
}

function isObject(field: Field | undefined): field is FieldObject {
  return typeof field === 'object' && !Array.isArray(field)
}

function countParameters(query: string): number {
  let count = 1
  for (let at = query.indexOf('&'); at >= 0; at = query.indexOf('&', at + 1)) count++
  return count
}
