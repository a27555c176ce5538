import { MailkeepError } from '../../lib/index.ts'

/** Enough for three filters of 100 values each. */
const maxParameters = 500

/** Splits a name from its brackets. `lists[]` and `lists[0]` both name a value of the list `lists`. */
const bracketForm = /^([^[\]]+)(\[.*)$/s
const listPosition = /^\[\d*\]$/

type Field = string | string[] | { readonly unknownForm: string }

/**
 * Decodes a query string. `lists[]=1`, `lists[0]=1` and `lists=1`, also percent-encoded, all give `lists`. Values keep
 * the order in which they were sent. The library validates them.
 *
 * @param query Without the question mark.
 * @throws MailkeepError `validation_failed`: more than 500 parameters.
 */
export function readQuery(query: string): Record<string, unknown> {
  if (query === '') return {}
  if (countParameters(query) > maxParameters) {
    const message = `A query has at most ${maxParameters} parameters.`
    throw new MailkeepError('validation_failed', message, { errors: { query: [message] } })
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
 * Adds a value to a field. Other bracket forms, such as `lists[a]`, give an object. No field accepts an object, so the
 * library refuses it under the field's name.
 */
function withValue(known: Field | undefined, brackets: string | undefined, value: string): Field {
  if (brackets !== undefined && !listPosition.test(brackets)) return { unknownForm: brackets }
  if (typeof known === 'object' && !Array.isArray(known)) return known
  if (known === undefined && brackets === undefined) return value
  return [known ?? [], value].flat()
}

/**
 * Refuses all parameters, for routes without any.
 *
 * @throws MailkeepError `validation_failed` on each parameter.
 */
export function refuseParameters(query: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(query).slice(0, 100)
  if (names.length === 0) return
  const message = 'There is no such parameter here: this operation takes none.'
  throw new MailkeepError('validation_failed', message, {
    errors: Object.fromEntries(names.map((name) => [name, [message]])),
  })
}

function countParameters(query: string): number {
  let count = 1
  for (let at = query.indexOf('&'); at >= 0; at = query.indexOf('&', at + 1)) count++
  return count
}
