/** Merges the contacts of a batch that have the same e-mail address. See `bulk.ts`. */
import { invalid, isMailkeepError, type MailkeepError } from '../errors.ts'
import { inputLimits } from '../limits.ts'
import { fold } from '../spelling.ts'
import { type Attributes, changeAttributes } from './attributes.ts'
import { tooMany } from './limits.ts'
import type { ContactTexts, NewContact } from './schema.ts'

/** The result of one of many contacts: saved or refused. */
export type BulkResult =
  | { readonly id: number; readonly created: boolean; readonly refused?: undefined }
  | { readonly refused: MailkeepError }

/** Several contacts with the same e-mail address, merged. */
export interface Merged {
  readonly accepted: readonly NewContact[]
  readonly texts: Partial<ContactTexts>
  /** Undefined when none of them changes an attribute. */
  readonly attributes: Attributes | undefined
  readonly tags: readonly string[]
}

/**
 * Merges contacts with the same e-mail address in order. A contact that exceeds a limit is refused and changes nothing.
 *
 * @param tagKeys The folded names of the stored contact's tags; undefined when the tag limit cannot be exceeded.
 */
export function mergeContacts(
  contacts: readonly NewContact[],
  stored: () => Attributes,
  tagKeys: Set<string> | undefined,
  results: Map<NewContact, BulkResult>,
): Merged {
  const accepted: NewContact[] = []
  const tags: string[] = []
  let texts: Partial<ContactTexts> = {}
  let attributes: Attributes | undefined
  for (const contact of contacts) {
    try {
      const keys = tagKeys && missingTagKeys(tagKeys, contact.tags)
      if (contact.attributes.size > 0) attributes = changeAttributes(attributes ?? stored(), contact.attributes)
      for (const key of keys ?? []) tagKeys!.add(key)
    } catch (error) {
      results.set(contact, refusal(error))
      continue
    }
    accepted.push(contact)
    texts = { ...texts, ...contact.texts }
    if (contact.tags) tags.push(...contact.tags)
  }
  return { accepted, texts, attributes, tags }
}

/** Returns the folded names that the contact does not have. Throws if the contact would have too many tags. */
function missingTagKeys(known: ReadonlySet<string>, names: readonly string[] = []): Set<string> {
  const added = new Set(names.map(fold).filter((key) => !known.has(key)))
  if (added.size > 0 && known.size + added.size > inputLimits.tags) throw tooMany('tags')
  return added
}

export interface Refused {
  readonly refused: MailkeepError
}

/** A validated contact, or the error of a refused one. */
export type Entry = NewContact | Refused

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

/** Converts a validation error to a refusal of its entry. Rethrows any other error, which concerns the whole batch. */
export function refusal(error: unknown): Refused {
  if (isMailkeepError(error, 'validation_failed')) return { refused: error }
  if (isMailkeepError(error, 'forbidden')) return { refused: invalid('confirmed', error.message) }
  throw error
}
