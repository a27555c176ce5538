/** Contacts of a batch that have one e-mail are saved as one: see `bulk`. */
import { isMailkeepError, type MailkeepError } from '../errors.ts'
import { inputLimits } from '../limits.ts'
import { fold } from '../parse.ts'
import { type Attributes, changeAttributes } from './attributes.ts'
import { tooMany } from './operations.ts'
import type { NewContact } from './schema.ts'

/** What became of one of many contacts: it was saved, or refused. */
export type BulkResult =
  | { readonly id: number; readonly created: boolean; readonly refused?: undefined }
  | { readonly refused: MailkeepError }

/** Contacts of one e-mail as one. */
export interface Merged {
  readonly accepted: readonly NewContact[]
  readonly name: string | undefined
  /** undefined where none of them changes any. */
  readonly attributes: Attributes | undefined
  readonly tags: readonly string[]
}

/**
 * Applies contacts of one e-mail in their order. One that breaks a limit is refused and changes nothing.
 *
 * @param tagKeys The folded names of the tags the contact has already; undefined where there is room for all.
 */
export function mergeContacts(
  contacts: readonly NewContact[],
  stored: () => Attributes,
  tagKeys: Set<string> | undefined,
  results: Map<NewContact, BulkResult>,
): Merged {
  const accepted: NewContact[] = []
  const tags: string[] = []
  let name: string | undefined
  let attributes: Attributes | undefined
  for (const contact of contacts) {
    try {
      const keys = tagKeys && withTags(tagKeys, contact.tags)
      if (contact.attributes.size > 0) attributes = changeAttributes(attributes ?? stored(), contact.attributes)
      for (const key of keys ?? []) tagKeys!.add(key)
    } catch (error) {
      results.set(contact, refusal(error))
      continue
    }
    accepted.push(contact)
    name = contact.name ?? name
    if (contact.tags) tags.push(...contact.tags)
  }
  return { accepted, name, attributes, tags }
}

/** @returns the folded names among these that the contact does not have. */
function withTags(known: ReadonlySet<string>, names: readonly string[] = []): Set<string> {
  const added = new Set(names.map(fold).filter((key) => !known.has(key)))
  if (added.size > 0 && known.size + added.size > inputLimits.tags) throw tooMany('tags')
  return added
}

export interface Refused {
  readonly refused: MailkeepError
}

export function isRefused(entry: object): entry is Refused {
  return 'refused' in entry
}

export function orRefused<T>(make: () => T): T | Refused {
  try {
    return make()
  } catch (error) {
    return refusal(error)
  }
}

/** What breaks a rule concerns its own entry; any other fault concerns all. */
function refusal(error: unknown): Refused {
  if (isMailkeepError(error, 'validation_failed')) return { refused: error }
  throw error
}
