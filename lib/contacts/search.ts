import { fold } from '../parse.ts'

/** Between name and e-mail, so that no search matches across: neither can have it after folding. */
const separator = '\u001f'

/** What searches of a contact look at: name and e-mail, folded. */
export function searchText(name: string, email: string): string {
  return `${searchTerm(name)}${separator}${searchTerm(email)}`
}

/** A search as it is held against the text: folded the same way. */
export function searchTerm(text: string): string {
  return fold(text).replaceAll(separator, ' ')
}
