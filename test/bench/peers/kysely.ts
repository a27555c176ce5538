/** Contacts by Kysely on PostgreSQL: relations as JSON in the same statement, as its documentation recommends. */
import { randomUUID } from 'node:crypto'
import { type ExpressionBuilder, type Generated, Kysely, PostgresDialect } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import pg from 'pg'
import { type Contact, type Contacts, type Person, perPage, serve } from './contact-service.ts'
import { connections } from './queue.ts'

interface Tables {
  contact: {
    id: Generated<number>
    tenant_id: number
    uuid: string
    email: string
    email_key: string
    name: string
    attributes: string
    search: Generated<string>
    created_at: Date
    unsubscribed_at: Date | null
  }
  tag: { id: Generated<number>; tenant_id: number; name: string }
  list: { id: Generated<number>; tenant_id: number; name: string }
  contact_tag: { contact_id: number; tag_id: number }
  contact_list: { contact_id: number; list_id: number }
}

const relations = (of: ExpressionBuilder<Tables, 'contact'>) => [
  jsonArrayFrom(
    of
      .selectFrom('tag')
      .innerJoin('contact_tag', 'contact_tag.tag_id', 'tag.id')
      .whereRef('contact_tag.contact_id', '=', 'contact.id')
      .select(['tag.id', 'tag.name'])
      .orderBy('tag.id'),
  ).as('tags'),
  jsonArrayFrom(
    of
      .selectFrom('list')
      .innerJoin('contact_list', 'contact_list.list_id', 'list.id')
      .whereRef('contact_list.contact_id', '=', 'contact.id')
      .select(['list.id', 'list.name'])
      .orderBy('list.id'),
  ).as('lists'),
]

async function open(database: string): Promise<Contacts> {
  const pool = new pg.Pool({ connectionString: database, max: connections })
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return {
    save: (tenantId, listId, person) => db.transaction().execute((tx) => save(tx, tenantId, listId, person)),
    page: (tenantId, after, search) => {
      const query = contacts(db, tenantId).where('id', '>', after).where('unsubscribed_at', 'is', null)
      const found = search ? query.where('search', 'like', patternOf(search)) : query
      return found
        .orderBy('id')
        .limit(perPage + 1)
        .execute()
    },
  }
}

function contacts(db: Kysely<Tables>, tenantId: number) {
  return db
    .selectFrom('contact')
    .where('tenant_id', '=', tenantId)
    .select(['id', 'uuid', 'email', 'name', 'attributes as extra_attributes', 'created_at', 'unsubscribed_at'])
    .select(relations)
    .$castTo<Contact>()
}

async function save(tx: Kysely<Tables>, tenant_id: number, list_id: number, person: Person) {
  const lists = tx.selectFrom('list').where('tenant_id', '=', tenant_id).where('id', '=', list_id)
  if (!(await lists.select('id').executeTakeFirst())) return undefined
  const { email, emailKey: email_key, name } = person
  const attributes = JSON.stringify(person.attributes)
  const { id } = await tx
    .insertInto('contact')
    .values({ tenant_id, uuid: randomUUID(), email, email_key, name, attributes, created_at: new Date() })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'email_key']).doUpdateSet({ name, attributes }))
    .returning('id')
    .executeTakeFirstOrThrow()
  if (person.tags.length > 0) {
    const tags = person.tags.map((tag) => ({ tenant_id, name: tag }))
    await tx
      .insertInto('tag')
      .values(tags)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    await tx
      .insertInto('contact_tag')
      .columns(['contact_id', 'tag_id'])
      .expression((of) =>
        of
          .selectFrom('tag')
          .where('tenant_id', '=', tenant_id)
          .where('name', 'in', person.tags)
          .select(({ val }) => [val(id).as('contact_id'), 'tag.id as tag_id']),
      )
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  const membership = tx.insertInto('contact_list').values({ contact_id: id, list_id })
  await membership.onConflict((conflict) => conflict.doNothing()).execute()
  return await contacts(tx, tenant_id).where('id', '=', id).executeTakeFirstOrThrow()
}

function patternOf(search: string): string {
  return `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
}

serve(open)
