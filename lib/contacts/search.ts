import { fold } from '../parse.ts'

/** Separates name and e-mail, so that no search matches across both. `searchTerm` removes it from both of them. */
const separator = '\u001f'

/** Returns the text that searches match: the folded name and e-mail address. */
export function searchText(name: string, email: string): string {
  return `${searchTerm(name)}${separator}${searchTerm(email)}`
}

/** Folds a search in the same way as the text that it is compared with. */
export function searchTerm(text: string): string {
  return fold(text).replaceAll(separator, ' ')
}
