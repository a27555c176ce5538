/** A table of every listing, for tests of the properties that all listings share. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Open, Tenant } from '../support/harness.ts'
import type { Answer } from '../support/http-call.ts'

/** A listing: how to open it for a client, add a record and remove one. */
export interface Listing {
  readonly newestFirst?: boolean
  readonly metaPath?: 'none'
  /** @returns The path, after creating the records that it depends on. */
  readonly prepare: (tenant: Tenant) => Promise<string>
  readonly add: (tenant: Tenant, path: string, n: number) => Promise<{ id: number } | undefined>
  /** Undefined for deliveries, which cannot be removed individually. */
  readonly remove?: (tenant: Tenant, id: number) => Promise<unknown>
}

const removeUnder = (path: string) => (tenant: Tenant, id: number) => tenant.data(204, 'DELETE', `${path}/${id}`)
const post = (path: string, body: (n: number) => object) => (tenant: Tenant, _: string, n: number) =>
  tenant.data(201, 'POST', path, { body: body(n) })
const newEndpoint = { url: 'http://127.0.0.1:9/', events: ['newsletter.sent'] }

export const listings: Readonly<Record<string, Listing>> = {
  tags: {
    prepare: async () => '/tags',
    add: post('/tags', (n) => ({ name: `t${n}` })),
    remove: removeUnder('/tags'),
  },
  contacts: {
    prepare: async ({ data }) => {
      await data(201, 'POST', '/lists', { body: { name: 'list' } })
      return '/contacts'
    },
    add: async ({ data }, _, n) => {
      const [{ id }] = await data(200, 'GET', '/lists')
      return await data(201, 'POST', `/lists/${id}/contacts`, { body: { email: `c${n}@example.org` } })
    },
    remove: removeUnder('/contacts'),
  },
  lists: {
    prepare: async () => '/lists',
    add: post('/lists', (n) => ({ name: `l${n}` })),
    remove: removeUnder('/lists'),
  },
  topics: {
    prepare: async ({ data }) => `/lists/${(await data(201, 'POST', '/lists', { body: { name: 'list' } })).id}/topics`,
    add: ({ data }, path, n) => data(201, 'POST', path, { body: { name: `t${n}` } }),
    remove: removeUnder('/topics'),
  },
  segments: {
    prepare: async () => '/segments',
    add: post('/segments', (n) => ({ name: `s${n}`, filters: {} })),
    remove: removeUnder('/segments'),
  },
  'webhook endpoints': {
    prepare: async () => '/webhook-endpoints',
    add: post('/webhook-endpoints', () => newEndpoint),
    remove: removeUnder('/webhook-endpoints'),
  },
  deliveries: {
    newestFirst: true,
    metaPath: 'none',
    prepare: async ({ data }) => {
      const { id } = await data(201, 'POST', '/webhook-endpoints', { body: newEndpoint })
      await data(200, 'PATCH', `/webhook-endpoints/${id}`, { body: { active: false } })
      return `/webhook-endpoints/${id}/deliveries`
    },
    add: async ({ data }, path) => {
      await data(202, 'POST', '/events', { body: { type: 'newsletter.sent', data: {} } })
      return (await data(200, 'GET', path, { query: { per_page: 1 } }))[0]
    },
  },
  'email identities': {
    prepare: async () => '/email-identities',
    add: ({ client }, _, n) => client.identities.add({ email: `i${n}@example.org` }),
    remove: ({ client }, id) => client.identities.remove(id),
  },
}

export const idsOf = ({ body, status, what }: Answer): number[] => {
  assert.equal(status, 200, what)
  return body.data.map(({ id }: { id: number }) => id)
}

/** Opens a listing with `count` rows; `ids` are in the listing's order. */
export async function openListing(open: Open, t: TestContext, listing: Listing, count: number) {
  const service = await open(t)
  const path = await listing.prepare(service)
  const ids: number[] = []
  let added = 0
  const add = async (): Promise<number> => {
    const { id } = (await listing.add(service, path, ++added))!
    return id
  }
  while (ids.length < count) ids.push(await add())
  if (listing.newestFirst) ids.reverse()
  const page = (per_page: number, cursor?: string | null) =>
    service.call('GET', path, { query: cursor ? { per_page, cursor } : { per_page } })
  const remove = (id: number) => listing.remove!(service, id)
  return { ...service, path, ids, add, page, remove }
}

type Page = (perPage: number, cursor?: string | null) => Promise<Answer>

/** Yields the pages from a cursor to the end; fails if there is no end. */
export async function* walk(page: Page, way: 'next' | 'prev', perPage: number, from?: string | null) {
  for (let pages = 1, cursor = from; ; pages++) {
    const answer = await page(perPage, cursor)
    yield answer
    cursor = answer.body.meta[`${way}_cursor`]
    if (cursor === null) return
    assert.ok(pages < 40, 'the listing ends')
  }
}
