import { invalid } from '../../lib/internal.ts'
import type { QueryDoc } from './routes/route.ts'

/** Maximum parameters of a query. Three filters of 100 values each fit. */
const maxParameters = 500

/** Splits a name from its brackets. `lists[]` and `lists[0]` both name a value of the list `lists`. */
const bracketForm = /^([^[\]]+)(\[.*)$/s
const listPosition = /^\[\d*\]$/
/** `attributes[plan]` names a value of the object `attributes`. The name may be digits, and have brackets. */
const objectKey = /^\[(.+)\]$/s

type Field = string | string[] | FieldObject
interface FieldObject {
  [key: string]: string | string[]
}

/**
 * Decodes a query string. `lists[]=1`, `lists[0]=1` and `lists=1`, also percent-encoded, all give `lists`.
 * `attributes[plan]=pro` gives an object, `attributes`, with a value of `plan`. Values keep the order in which they were
 * sent. The library validates them.
 *
 * @param query Without the question mark.
 * @param doc The route's parameters. Only those of the style `deepObject` are objects.
 * @throws MailkeepError `validation_failed`: more than 500 parameters.
 */
export function readQuery(query: string, doc: QueryDoc = {}): Record<string, unknown> {
  if (query === '') return {}
  if (countParameters(query) > maxParameters) {
    throw invalid('query', `A query has at most ${maxParameters} parameters.`)
  }
  // An object without a prototype, because parameters may be named `__proto__` or `constructor`.
  const fields: Record<string, Field> = Object.create(null)
  // The `&` protects a leading question mark: URLSearchParams would remove it, but here it is part of a name.
  for (const [written, value] of new URLSearchParams(`&${query}`)) {
    const [, name = written, brackets] = bracketForm.exec(written) ?? []
    const isDeep = Object.hasOwn(doc, name) && doc[name]!.style === 'deepObject'
    fields[name] = withValue(fields[name], isDeep, brackets, value)
  }
  return fields
}

/**
 * Adds a value to a field. A field in several forms, or in an unknown one such as `lists[a]`, becomes an object that no
 * filter accepts. The library then refuses it under the field's name.
 */
function withValue(known: Field | undefined, isDeep: boolean, brackets: string | undefined, value: string): Field {
  const key = isDeep && brackets !== undefined ? objectKey.exec(brackets)?.[1] : undefined
  const isList = brackets === undefined || (key === undefined && listPosition.test(brackets))
  if (isList && !isObject(known)) {
    if (known === undefined && brackets === undefined) return value
    return [known ?? [], value].flat()
  }
  const object = isObject(known) ? known : (Object.create(null) as FieldObject)
  const isOneForm = key !== undefined && (known === undefined || isObject(known))
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
