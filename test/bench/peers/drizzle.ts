/** Contacts by Drizzle on SQLite with FTS5: prepared statements, as its page on performance recommends. */
import { randomUUID } from 'node:crypto'
import Database from 'better-sqlite3'
import { type Contact, type Contacts, perPage, serve } from './contact-service.ts'
import type { Drizzle, Operators, Prepared, Row, SqliteCore, Table } from './drizzle-types.ts'
import { importPeer } from './queue.ts'

async function open(database: string): Promise<Contacts> {
  const { drizzle } = await importPeer<Drizzle>('drizzle-orm/better-sqlite3')
  const { integer, sqliteTable, text } = await importPeer<SqliteCore>('drizzle-orm/sqlite-core')
  const { and, eq, getTableColumns, gt, isNull, sql } = await importPeer<Operators>('drizzle-orm')
  const group = (name: string) =>
    sqliteTable(name, { id: integer('id').primaryKey(), tenantId: integer('tenant_id').notNull(), name: text('name') })
  const link = (name: string) =>
    sqliteTable(`contact_${name}`, { contactId: integer('contact_id'), groupId: integer(`${name}_id`) })
  const [tags, lists, contactTags, contactLists] = [group('tag'), group('list'), link('tag'), link('list')]
  const contacts = sqliteTable('contact', {
    id: integer('id').primaryKey(),
    tenantId: integer('tenant_id').notNull(),
    uuid: text('uuid').notNull(),
    email: text('email').notNull(),
    emailKey: text('email_key').notNull(),
    name: text('name').notNull(),
    extra_attributes: text('attributes', { mode: 'json' }).notNull(),
    created_at: text('created_at').notNull(),
    unsubscribed_at: text('unsubscribed_at'),
  })
  const found = sqliteTable('contact_search', { id: integer('rowid') })
  const client = new Database(database)
  for (const pragma of ['journal_mode = wal', 'synchronous = full', 'foreign_keys = on']) client.pragma(pragma)
  const db = drizzle({ client })

  const at = (name: string) => sql.placeholder(name)
  const { tenantId: _, emailKey: __, ...shown } = getTableColumns(contacts)
  const active = and(eq(contacts.tenantId, at('tenantId')), isNull(contacts.unsubscribed_at))
  const findOne = db
    .select(shown)
    .from(contacts)
    .where(eq(contacts.id, at('id')))
    .prepare()
  const findPage = db
    .select(shown)
    .from(contacts)
    .where(and(active, gt(contacts.id, at('after'))))
    .orderBy(contacts.id!)
    .limit(perPage + 1)
    .prepare()
  const findMatches = db
    .select(shown)
    .from(found)
    .innerJoin(contacts, eq(contacts.id, found.id))
    .where(and(sql`contact_search match ${at('term')}`, gt(found.id, at('after')), active))
    .orderBy(found.id!)
    .limit(perPage + 1)
    .prepare()
  const groupsOf = (groups: Table, links: Table) =>
    db
      .select({ contactId: links.contactId, id: groups.id, name: groups.name })
      .from(links)
      .innerJoin(groups, eq(groups.id, links.groupId))
      .where(sql`${links.contactId} in (select value from json_each(${at('ids')}))`)
      .orderBy(links.contactId!, groups.id!)
      .prepare()
  const [findTags, findLists] = [groupsOf(tags, contactTags), groupsOf(lists, contactLists)]
  const inTenant = (groups: Table) => eq(groups.tenantId, at('tenantId'))
  const findList = db
    .select()
    .from(lists)
    .where(and(inTenant(lists), eq(lists.id, at('listId'))))
    .prepare()
  const findTag = db
    .select()
    .from(tags)
    .where(and(inTenant(tags), eq(tags.name, at('name'))))
    .prepare()
  const insertTag = db
    .insert(tags)
    .values({ tenantId: at('tenantId'), name: at('name') })
    .returning()
    .prepare()
  const all = (...names: string[]) => Object.fromEntries(names.map((name) => [name, at(name)]))
  const upsert = db
    .insert(contacts)
    .values(all('tenantId', 'uuid', 'email', 'emailKey', 'name', 'extra_attributes', 'created_at'))
    .onConflictDoUpdate({
      target: [contacts.tenantId!, contacts.emailKey!],
      set: { name: sql`excluded.name`, extra_attributes: sql`excluded.attributes` },
    })
    .returning({ id: contacts.id })
    .prepare()
  const [addTag, addList] = [contactTags, contactLists].map((links) =>
    db.insert(links).values(all('contactId', 'groupId')).onConflictDoNothing().prepare(),
  ) as [Prepared, Prepared]

  const withGroups = (rows: readonly Row[]): Contact[] => {
    const ids = JSON.stringify(rows.map(({ id }) => id))
    const [tagged, listed] = [findTags.all({ ids }), findLists.all({ ids })]
    const of = (groups: readonly Row[], contactId: unknown) =>
      groups.filter((one) => one.contactId === contactId).map(({ id, name }) => ({ id, name }))
    return rows.map((row) => ({ ...row, tags: of(tagged, row.id), lists: of(listed, row.id) })) as unknown as Contact[]
  }
  return {
    save: async (tenantId, listId, { email, emailKey, name, tags: names, attributes }) =>
      db.transaction(
        () => {
          if (!findList.get({ tenantId, listId })) return undefined
          const fresh = { tenantId, uuid: randomUUID(), email, emailKey, name, created_at: new Date().toISOString() }
          const { id } = upsert.get({ ...fresh, extra_attributes: attributes })!
          for (const tag of names) {
            const { id: groupId } = (findTag.get({ tenantId, name: tag }) ?? insertTag.get({ tenantId, name: tag }))!
            addTag.run({ contactId: id, groupId })
          }
          addList.run({ contactId: id, groupId: listId })
          return withGroups([findOne.get({ id })!])[0]
        },
        { behavior: 'immediate' },
      ),
    page: async (tenantId, after, search) =>
      withGroups(
        search === undefined
          ? findPage.all({ tenantId, after })
          : findMatches.all({ tenantId, after, term: `"${search.replaceAll('"', '""')}"` }),
      ),
  }
}

serve(open)
