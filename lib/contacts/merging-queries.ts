/** Statements that move what belongs to one contact to another. */
import { sql } from 'kysely'
import { int, statement } from '../storage/statement.ts'

const pair = { source: int, target: int }

function copyOf(kind: 'tag' | 'list' | 'topic') {
  const table = sql.table(`mailkeep_contact_${kind}`)
  const column = sql.ref(`${kind}_id`)
  return statement.affected(
    pair,
    (_, p) => sql`insert into ${table} (client_id, contact_id, ${column})
      select client_id, ${p.target}, ${column} from ${table} where contact_id = ${p.source}
      on conflict do nothing`,
  )
}

/** Copy the tags, lists and topics of a contact. Skip those that the target has. */
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
