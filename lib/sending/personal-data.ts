import { listHistory } from '../consent/history.ts'
import type { HistoryEntry, Suppression } from '../consent/schema.ts'
import { findSuppression } from '../consent/suppressions.ts'
import type { ContactKey } from '../contacts/contact-key.ts'
import { findPendingLists } from '../contacts/double-opt-in.ts'
import { getContact } from '../contacts/reading.ts'
import type { Contact } from '../contacts/schema.ts'
import type { Context } from '../context.ts'
import { inputLimits } from '../limits.ts'
import type { List } from '../lists/schema.ts'
import type { Page, PageInput } from '../page.ts'
import { type ContactDelivery, deliveriesOfContact } from '../webhooks/contact-deliveries.ts'
import { listEnrolmentsOfContact } from './enrolments.ts'
import type { Message } from './message-schema.ts'
import { listMessagesOfContact } from './messages.ts'
import type { Enrolment } from './sequence-schema.ts'

/** Everything that is stored about a contact, as `contacts.data` writes it. */
export interface PersonalData {
  contact: Contact
  /** The lists that the contact was asked to confirm. */
  pending_lists: List[]
  /** Null if mail to the address is allowed. */
  suppression: Suppression | null
  /** Newest first. */
  history: HistoryEntry[]
  /** Mails to the contact, newest first. Their content is not stored. */
  messages: Message[]
  /** The sequences that the contact is or was enrolled in. */
  enrolments: Enrolment[]
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
  const pending = await findPendingLists(ctx, contact.id)
  const suppression = await findSuppression(ctx, contact.email)
  yield `{"contact":${JSON.stringify(contact)},"pending_lists":${JSON.stringify(pending)},`
  yield `"suppression":${JSON.stringify(suppression)},"history":[`
  yield* joined(recordsOf((query) => listHistory(ctx, contact.id, query)))
  yield '],"messages":['
  yield* joined(recordsOf((query) => listMessagesOfContact(ctx, contact.id, query)))
  yield `],"enrolments":${JSON.stringify(await listEnrolmentsOfContact(ctx, contact.id))},"deliveries":[`
  yield* joined(deliveriesOfContact(ctx, contact.id))
  yield ']}'
}

/** Reads a listing page by page. */
async function* recordsOf<T>(list: (query: PageInput) => Promise<Page<T>>): AsyncGenerator<T> {
  let cursor: string | undefined
  do {
    const page = await list({ per_page: inputLimits.pageRecords, cursor })
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
