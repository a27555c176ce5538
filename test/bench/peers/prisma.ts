/** Contacts by Prisma on PostgreSQL: nested writes, which run in one transaction, and relations by `include`. */
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { type Contact, type Contacts, perPage, serve } from './contact-service.ts'
import { connections, importPeer } from './queue.ts'

interface Group {
  readonly id: number
  readonly name: string
}

interface Row {
  readonly id: number
  readonly uuid: string
  readonly email: string
  readonly name: string
  readonly attributes: unknown
  readonly createdAt: Date
  readonly unsubscribedAt: Date | null
  readonly tags: readonly { readonly tag: Group }[]
  readonly lists: readonly { readonly list: Group }[]
}

interface PrismaModule {
  PrismaClient: new (options: {
    adapter: unknown
  }) => {
    contact: { upsert(query: object): Promise<Row>; findMany(query: object): Promise<Row[]> }
    list: { findFirst(query: object): Promise<Group | null> }
  }
}

interface AdapterModule {
  PrismaPg: new (options: { connectionString: string; max: number }) => unknown
}

const group = { select: { id: true, name: true } }
const include = {
  tags: { include: { tag: group }, orderBy: { tagId: 'asc' } },
  lists: { include: { list: group }, orderBy: { listId: 'asc' } },
}

async function open(database: string): Promise<Contacts> {
  const { PrismaClient } = await importPeer<PrismaModule>(join(dirname(process.argv[1]!), 'prisma-client/index.js'))
  const { PrismaPg } = await importPeer<AdapterModule>('@prisma/adapter-pg')
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database, max: connections }) })
  return {
    async save(tenantId, listId, { email, emailKey, name, tags, attributes }) {
      if (!(await prisma.list.findFirst({ where: { id: listId, tenantId } }))) return undefined
      const tagged = tags.map((tag) => {
        const where = { tenantId_name: { tenantId, name: tag } }
        return { tag: { connectOrCreate: { where, create: { tenantId, name: tag } } } }
      })
      const row = await prisma.contact.upsert({
        where: { tenantId_emailKey: { tenantId, emailKey } },
        create: {
          ...{ tenantId, uuid: randomUUID(), email, emailKey, name, attributes, createdAt: new Date() },
          tags: { create: tagged },
          lists: { create: [{ listId }] },
        },
        update: { name, attributes },
        include,
      })
      return contactOf(row)
    },
    async page(tenantId, after, search) {
      const matching = search ? { search: { contains: search.toLowerCase() } } : {}
      const where = { tenantId, id: { gt: after }, unsubscribedAt: null, ...matching }
      const rows = await prisma.contact.findMany({ where, orderBy: { id: 'asc' }, take: perPage + 1, include })
      return rows.map(contactOf)
    },
  }
}

function contactOf({ id, uuid, email, name, attributes, createdAt, unsubscribedAt, tags, lists }: Row): Contact {
  return {
    ...{ id, uuid, email, name, extra_attributes: attributes, created_at: createdAt, unsubscribed_at: unsubscribedAt },
    tags: tags.map(({ tag }) => tag),
    lists: lists.map(({ list }) => list),
  }
}

serve(open)
