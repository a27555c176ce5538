import { MailkeepError } from '../../lib/index.ts'

/** Three filters of 100 values, and some to spare. */
const maxParameters = 500

/** The name and what stands in brackets after it: `lists[]` and `lists[0]` name one value of the list `lists`. */
const bracketForm = /^([^[\]]+)(\[.*)$/s
const listPosition = /^\[\d*\]$/

type Field = string | string[] | { readonly unknownForm: string }

/**
 * Decodes a query string: `lists[]=1`, `lists[0]=1` and `lists=1`, also percent-encoded, all give `lists`. Values keep
 * the order in which they were sent. What they mean is the library's to decide.
 *
 * @param query Without its question mark.
 * @throws MailkeepError `validation_failed`: more than 500 parameters.
 */
export function readQuery(query: string): Record<string, unknown> {
  if (query === '') return {}
  if (countParameters(query) > maxParameters) {
    const message = `A query has at most ${maxParameters} parameters.`
    throw new MailkeepError('validation_failed', message, { errors: { query: [message] } })
  }
  // Without a prototype: `__proto__` and `constructor` are names like any other.
  const fields: Record<string, Field> = Object.create(null)
  // URLSearchParams takes one question mark off the beginning, which here is part of a name.
  for (const [written, value] of new URLSearchParams(`&${query}`)) {
    const [, name = written, brackets] = bracketForm.exec(written) ?? []
    fields[name] = withValue(fields[name], brackets, value)
  }
  return fields
}

/** What is neither a text nor a list of them breaks the rule of every field, and is refused on its name. */
function withValue(known: Field | undefined, brackets: string | undefined, value: string): Field {
  if (brackets !== undefined && !listPosition.test(brackets)) return { unknownForm: brackets }
  if (typeof known === 'object' && !Array.isArray(known)) return known
  if (known === undefined && brackets === undefined) return value
  return [known ?? [], value].flat()
}

/**
 * Refuses parameters where a route has none.
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
