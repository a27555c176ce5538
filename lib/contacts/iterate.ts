import { type AbortInput, abortField } from '../abort.ts'
import type { Context } from '../context.ts'
import { closedObject, parse } from '../parse.ts'
import { pagesOfDocuments } from './listing.ts'
import { type Contact, type ContactFiltersInput, contactFrom, filterFields } from './schema.ts'

/** Filters of the contacts, and a signal that stops the iteration. */
export interface IterateInput extends ContactFiltersInput, AbortInput {}

const IterateQuery = closedObject({ ...filterFields, ...abortField })

/**
 * Returns the client's contacts one after another, by ascending id, with the filters of `list`: the records that `export`
 * writes as text. Reads page by page, so that neither the contacts nor their number are limited by memory.
 *
 * @throws MailkeepError `validation_failed`, when the first contact is read; the signal's reason once it is aborted.
 * @example
 * for await (const contact of acme.contacts.iterate({ tags: [3] })) greet(contact.email)
 */
export async function* iterateContacts(
  ctx: Context,
  query: IterateInput = {},
): AsyncGenerator<Contact, void, undefined> {
  const { signal, ...filters } = parse(IterateQuery, query)
  for await (const documents of pagesOfDocuments(ctx, filters, signal)) {
    for (const document of documents) {
      signal?.throwIfAborted()
      yield contactFrom({ document })
    }
  }
}
