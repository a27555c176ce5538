/** Statements that move what belongs to one contact to another. */
import { sql } from 'kysely'
import { int, statement, text } from '../storage/statement.ts'

const pair = { source: int, target: int }

function copyOf(kind: 'tag' | 'list' | 'topic') {
  const table = sql.table(`mailkeep_contact_${kind}`)
  const column = sql.ref(`${kind}_id`)
  return statement.all(
    pair,
    (_, p) => sql<{ id: number }>`insert into ${table} (client_id, contact_id, ${column})
      select client_id, ${p.target}, ${column} from ${table} where contact_id = ${p.source}
      on conflict do nothing returning ${column} as id`,
  )
}

/** Copy the tags, lists and topics of a contact. Skip those that the target has, and return the others. */
export const copyMemberships = { tags: copyOf('tag'), lists: copyOf('list'), topics: copyOf('topic') }

/** Unsubscribes a subscribed target as the source is unsubscribed. Affects no row if the source is subscribed. */
export const copyUnsubscription = statement.affected(
  pair,
  (_, p) => sql`update mailkeep_contact set
      unsubscribed_at = (select unsubscribed_at from mailkeep_contact where id = ${p.source}),
      unsubscribed_by_contact = (select unsubscribed_by_contact from mailkeep_contact where id = ${p.source})
    where id = ${p.target} and unsubscribed_at is null
      and exists (select 1 from mailkeep_contact where id = ${p.source} and unsubscribed_at is not null)`,
)

/** Moves the contacts that were merged into the source to the target. */
export const moveMerged = statement.affected(pair, (db, p) =>
  db.updateTable('mailkeep_merged_contact').set({ into_id: p.target }).where('into_id', '=', p.source),
)

export const insertMerged = statement.affected(
  { contact_id: int, client_id: int, uuid: text, into_id: int },
  (db, row) => db.insertInto('mailkeep_merged_contact').values(row),
)

/** Returns the contact that a contact was merged into, also if that one was merged into another one since. */
export const findTarget = statement({ contact_id: int }, (db, p) =>
  db.selectFrom('mailkeep_merged_contact').select('into_id').where('contact_id', '=', p.contact_id),
)

/** Returns the contact that the contact of a link was merged into. */
export const findMerged = statement({ client_id: int, contact_id: int, uuid: text }, (db, p) =>
  db
    .selectFrom('mailkeep_merged_contact')
    .select('into_id')
    .where('contact_id', '=', p.contact_id)
    .where('client_id', '=', p.client_id)
    .where('uuid', '=', p.uuid),
)

/** Gives a contact the key of its address, unless another contact has it. */
export const takeKey = statement.affected(
  { client_id: int, id: int, email_key: text },
  (_, p) => sql`update mailkeep_contact set email_key = ${p.email_key}
    where client_id = ${p.client_id} and id = ${p.id} and not exists (select 1 from mailkeep_contact as other
      where other.client_id = ${p.client_id} and other.email_key = ${p.email_key})`,
)
