/** The contact that many events of one change show. It is stored once, and each event refers to it. */
import { sql } from 'kysely'
import { distinct } from '../collections.ts'
import type { Tx } from '../context.ts'
import { ints, statement, text } from '../storage/statement.ts'
import { type ContactText, contactTexts, hasContact } from './event-body.ts'

/** Up to this many events of a change each store their copy of the contact. */
const maxCopies = 10

const insertSharedContact = statement.inserted({ document: text }, (db, row) =>
  db.insertInto('mailkeep_shared_contact').values(row),
)

/** The contacts that the events of one change share. */
export class SharedContacts {
  readonly #texts = new Map<object, readonly ContactText[]>()
  readonly #ids = new Map<ContactText, number>()

  /** @param occurrences The data of all events of the change. Events of one contact have the same object as `contact`. */
  constructor(occurrences: readonly { readonly data: object }[]) {
    const counts = new Map<object, number>()
    for (const { data } of occurrences) {
      if (!hasContact(data)) continue
      const count = (counts.get(data.contact) ?? 0) + 1
      counts.set(data.contact, count)
      if (count === maxCopies + 1) this.#texts.set(data.contact, contactTexts(data.contact))
    }
  }

  /** @returns The texts of the contact in the data of an event; undefined if the event stores its own copy. */
  textsOf(data: object): readonly ContactText[] | undefined {
    return hasContact(data) ? this.#texts.get(data.contact) : undefined
  }

  /** Stores a text when the first event refers to it. @returns Its id. */
  async idOf(tx: Tx, contact: ContactText): Promise<number> {
    const id = this.#ids.get(contact) ?? (await insertSharedContact(tx, { document: contact.text }))!
    this.#ids.set(contact, id)
    return id
  }
}

/** Two transactions may delete the last events of a contact. One of them waits here, and then sees what the other did. */
const lockSharedContacts = statement.all(
  { ids: ints },
  (_, p, dialect) => sql<{ id: number }>`select id from mailkeep_shared_contact
    where ${dialect.inList(sql.ref('id'), p.ids)} order by id ${dialect.forUpdate}`,
)

const deleteUnshared = statement(
  { ids: ints },
  (_, p, dialect) => sql`delete from mailkeep_shared_contact where ${dialect.inList(sql.ref('id'), p.ids)}
    and not exists (select 1 from mailkeep_event where shared_contact_id = mailkeep_shared_contact.id)`,
)

/** An event that may share its contact. */
export interface Sharing {
  readonly shared_contact_id: number | null
}

/** Deletes the contacts of events that were deleted or erased, unless other events share them. */
export async function deleteContactsWithoutEvent(tx: Tx, events: readonly Sharing[]): Promise<void> {
  const ids = distinct(events.flatMap(({ shared_contact_id }) => shared_contact_id ?? []))
  if (ids.length === 0) return
  await lockSharedContacts(tx, { ids })
  await deleteUnshared(tx, { ids })
}
