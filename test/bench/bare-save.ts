/** Saves a new contact by bare prepared statements. Writes the same rows as mailkeep, without any validation. */
import { randomUUID } from 'node:crypto'
import type Database from 'better-sqlite3'

export interface Person {
  readonly email: string
  readonly name: string
  readonly tags: readonly string[]
  readonly [attribute: string]: string | readonly string[]
}

/** The pragmas that mailkeep sets on its connections. */
export const pragmas = ['journal_mode = wal', 'synchronous = full', 'foreign_keys = on', 'secure_delete = on']

/**
 * @param options.audit `addManyToList` has no audit entry for each contact. Other saves have.
 * @returns A function that saves a contact of the first client on a list, indexes it for search, and returns it.
 */
export function bareSaver(db: Database.Database, { audit }: { readonly audit: boolean }) {
  const findList = db.prepare('select id, uuid, name, created_at from mailkeep_list where client_id = 1 and id = ?')
  const find = db.prepare('select id from mailkeep_contact where client_id = 1 and email_key = ?')
  const findTag = db.prepare('select id, uuid, name, created_at from mailkeep_tag where client_id = 1 and name_key = ?')
  const insert = db.prepare(`insert into mailkeep_contact (client_id, uuid, created_at, email, email_key, name,
    attributes, search, unsubscribed_by_contact) values (1, ?, ?, ?, ?, ?, ?, ?, 0)`)
  const index = db.prepare(`insert into mailkeep_search (rowid, search) values (${2 ** 40} + ?, ?)`)
  // Merges in the same portions as storage/sqlite/search-index. Merging later would make searches slower.
  const merge = db.prepare(`insert into mailkeep_search (mailkeep_search, rank) values ('merge', 16)`)
  const addTag = db.prepare('insert into mailkeep_contact_tag values (1, ?, ?) on conflict do nothing')
  const addList = db.prepare('insert into mailkeep_contact_list values (1, ?, ?) on conflict do nothing')
  const addHistory = db.prepare(`insert into mailkeep_contact_history (contact_id, type, source, list_id, topic_id,
    token_id, ip, user_agent, created_at) values (?, 'list_joined', 'api', ?, null, 1, null, null, ?)`)
  const addAudit = db.prepare(`insert into mailkeep_audit (client_id, token_id, source, type, target_id, created_at)
    values (1, 1, 'api', 'contact.created', ?, ?)`)
  const endpoints = db
    .prepare(`select id from mailkeep_endpoint where client_id = 1 and instr(events, '"contact.subscribed"') > 0`)
    .pluck()
  const addEvent = db.prepare(`insert into mailkeep_event (client_id, uuid, created_at, type, contact_id, body)
    values (1, ?, ?, 'contact.subscribed', ?, ?)`)
  const addDelivery = db.prepare(`insert into mailkeep_delivery (client_id, uuid, created_at, endpoint_id, event_id,
    event_type, status, attempts, due_at, scheduled_at) values (1, ?, ?, ?, ?, 'contact.subscribed', 'pending', 0, ?, ?)`)

  let saved = 0
  return (listId: bigint, { email, name, tags: tagNames, ...extra_attributes }: Person): object => {
    const [uuid, created_at] = [randomUUID(), `${new Date().toISOString().slice(0, 23)}000Z`]
    const list = findList.get(listId)
    if (find.get(email)) throw new Error('these contacts are new')
    const search = `${name.toLowerCase()}\u001f${email}`
    const attributes = JSON.stringify(extra_attributes)
    const id = BigInt(insert.run(uuid, created_at, email, email, name, attributes, search).lastInsertRowid)
    index.run(id, search)
    if (++saved % 64 === 0) merge.run()
    const tags = tagNames.map((each) => findTag.get(each)) as { id: number }[]
    for (const tag of tags) addTag.run(id, BigInt(tag.id))
    addList.run(id, listId)
    addHistory.run(id, listId, created_at)
    if (audit) addAudit.run(id, created_at)
    const unsubscribed = { unsubscribed_at: null, unsubscribed_by_contact: false }
    const belongs = { tags, lists: [list], topics: [] }
    const contact = { id: Number(id), uuid, name, email, extra_attributes, ...unsubscribed, ...belongs, created_at }
    const eventUuid = randomUUID()
    const data = { contact, list }
    const body = JSON.stringify({ id: eventUuid, type: 'contact.subscribed', created_at, data })
    for (const endpoint of endpoints.all() as number[]) {
      const event = BigInt(addEvent.run(eventUuid, created_at, id, body).lastInsertRowid)
      addDelivery.run(randomUUID(), created_at, BigInt(endpoint), event, created_at, created_at)
    }
    return contact
  }
}
