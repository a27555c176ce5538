import { listHistory } from '../consent/history.ts'
import type { HistoryEntry } from '../consent/schema.ts'
import type { Context } from '../context.ts'
import { inputLimits } from '../limits.ts'
import { type ContactDelivery, deliveriesOfContact } from '../webhooks/contact-deliveries.ts'
import type { ContactKey } from './contact-key.ts'
import { getContact } from './operations.ts'
import type { Contact } from './schema.ts'

/** Everything that is stored about a contact, as `contacts.data` writes it. */
export interface PersonalData {
  contact: Contact
  /** Newest first. */
  history: HistoryEntry[]
  /** Mails to the contact. */
  messages: object[]
  /** Deliveries of webhooks whose payload shows the contact. */
  deliveries: ContactDelivery[]
}

/**
 * Returns everything that is stored about a contact as one JSON document (GDPR, article 15): a `PersonalData`. Links of
 * confirmations are left out.
 *
 * @returns Chunks of text. Whatever the length of the document, some records are in memory at a time.
 * @throws MailkeepError `not_found`, `validation_failed`, when the first chunk is read.
 */
export async function* exportContactData(ctx: Context, id: ContactKey): AsyncGenerator<string, void, undefined> {
  const contact = await getContact(ctx, id)
  yield `{"contact":${JSON.stringify(contact)},"history":[`
  yield* joined(historyOf(ctx, contact.id))
  yield '],"messages":[],"deliveries":['
  yield* joined(deliveriesOfContact(ctx, contact.id))
  yield ']}'
}

async function* historyOf(ctx: Context, contactId: number): AsyncGenerator<HistoryEntry> {
  let cursor: string | undefined
  do {
    const page = await listHistory(ctx, contactId, { per_page: inputLimits.pageRecords, cursor })
    yield* page.data
    cursor = page.meta.next_cursor ?? undefined
  } while (cursor !== undefined)
}

/** Writes records as the items of a JSON array. */
async function* joined(records: AsyncIterable<object>): AsyncGenerator<string> {
  let separator = ''
  for await (const record of records) {
    yield separator + JSON.stringify(record)
    separator = ','
  }
}
