import { type RawBuilder, sql } from 'kysely'
import type { Dialect } from '../storage/dialect.ts'

/**
 * Returns an expression that builds a contact as JSON in the database, with the fields in the order of the HTTP API. It
 * includes all relations in one statement, and is cheaper than mapping rows in JavaScript.
 *
 * @param contact The alias of `mailkeep_contact` in the statement.
 */
export function contactDocument(dialect: Dialect, contact: string): RawBuilder<string> {
  const column = (name: string) => sql.ref(`${contact}.${name}`)
  return dialect.jsonText(
    dialect.object({
      id: dialect.value(column('id')),
      uuid: dialect.value(column('uuid')),
      name: dialect.value(column('name')),
      email: dialect.value(column('email')),
      extra_attributes: dialect.json(column('attributes')),
      unsubscribed_at: dialect.time(column('unsubscribed_at')),
      unsubscribed_by_contact: dialect.bool(column('unsubscribed_by_contact')),
      tags: related(dialect, 'tag', column('id'), ['name']),
      lists: related(dialect, 'list', column('id'), ['name']),
      topics: related(dialect, 'topic', column('id'), ['list_id', 'name', 'description']),
      created_at: dialect.time(column('created_at')),
    }),
  )
}

function related(
  dialect: Dialect,
  kind: 'tag' | 'list' | 'topic',
  contactId: RawBuilder<unknown>,
  fields: readonly string[],
) {
  const names = ['id', 'uuid', ...fields]
  const item = dialect.object({
    ...Object.fromEntries(names.map((name) => [name, dialect.value(sql.ref(`${kind}.${name}`))])),
    created_at: dialect.time(sql.ref(`${kind}.created_at`)),
  })
  const membership = sql.table(`mailkeep_contact_${kind}`)
  const from = sql`from ${membership} as membership
    cross join ${sql.table(`mailkeep_${kind}`)} as ${sql.table(kind)}
    where ${sql.ref(`${kind}.id`)} = ${sql.ref(`membership.${kind}_id`)} and membership.contact_id = ${contactId}`
  return dialect.list(item, sql.ref(`membership.${kind}_id`), from)
}
