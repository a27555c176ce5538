import { invalid, invalidFields } from './errors.ts'

/** Maximum names that one error lists. A megabyte of unknown names must not become four megabytes of errors. */
const maxListedNames = 100

/** Maximum characters of a name that a message quotes. */
const maxQuotedCharacters = 100

/** Returns the names in `given` that are not among `known`, at most 100 of them. */
export function unknownNames(given: object, known: readonly string[]): string[] {
  const unknown: string[] = []
  for (const name of Object.keys(given)) {
    if (!known.includes(name)) unknown.push(name)
    if (unknown.length === maxListedNames) break
  }
  return unknown
}

/**
 * Returns the message for a name that is not known, such as a misspelt filter. It leaves out `signal`, an AbortSignal, which
 * callers over HTTP cannot send, unless nothing else is known.
 */
export function unknownNameMessage(name: string, known: readonly string[]): string {
  const quoted = JSON.stringify(name.slice(0, maxQuotedCharacters))
  const others = known.filter((other) => other !== 'signal')
  return `There is no ${quoted} here. Known: ${(others.length > 0 ? others : known).join(', ')}.`
}

/**
 * Refuses names that are not known, so that a spelling mistake never changes what a call does.
 *
 * @throws MailkeepError `validation_failed` on each unknown name, or on `options`: `given` is not an object.
 */
export function refuseUnknownNames(given: object, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null) {
    throw invalid('options', `The options must be an object. It may have: ${known.join(', ')}.`)
  }
  const names = unknownNames(given, known)
  if (names.length === 0) return
  // Entries, not assignment: a name may be __proto__.
  throw invalidFields(Object.fromEntries(names.map((name) => [name, [unknownNameMessage(name, known)]])))
}
