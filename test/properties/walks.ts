/**
 * Pages through listings in both directions while rows are added and deleted. Each page must have the rows that the
 * model has beyond the last row seen.
 */
import assert from 'node:assert/strict'
import type { ClientMailkeep, Page } from '../../lib/index.ts'
import { ascending, type Filters, type Model } from './model.ts'
import type { FiltersSent, Listed, Place, Step } from './steps.ts'

type Pick = (kind: 'tag' | 'list' | 'topic', place: Place) => number
type Rows = readonly { readonly id: number }[]

/** The position of a cursor: a row, which may be deleted, and a direction. */
interface Position {
  readonly cursor: string
  readonly towards: 'next' | 'prev'
  readonly edge: number
}

interface Listing {
  readonly ask: (query: { per_page: number; cursor?: string }) => Promise<Page<{ id: number }>>
  /** The current ids of all rows, in the listing's order; undefined when the parent record was deleted. */
  readonly rows: () => number[] | undefined | Promise<number[]>
  readonly newestFirst?: true
}

interface Walk extends Listing {
  readonly of: Listed
  readonly size: number
  next?: Position | undefined
  prev?: Position | undefined
}

export class Walks {
  readonly #client: ClientMailkeep
  readonly #model: Model
  readonly #endpointId: number
  readonly #pick: Pick
  readonly #walks: Walk[] = []

  constructor(client: ClientMailkeep, model: Model, endpointId: number, pick: Pick) {
    this.#client = client
    this.#model = model
    this.#endpointId = endpointId
    this.#pick = pick
  }

  async begin({ of, list, filters, size }: Extract<Step, { do: 'walk' }>): Promise<void> {
    const walk: Walk = { ...this.#listing(of, this.#pick('list', list), filters), of, size }
    await look(walk, undefined)
    this.#walks.push(walk)
  }

  /** Fetches the next or previous page, or the first page if there is none. */
  async turn(index: number, back: boolean): Promise<void> {
    const walk = this.#walks[index % this.#walks.length]
    if (walk) await look(walk, back ? walk.prev : walk.next)
  }

  /** Returns the next ids of a walk; none if such records cannot be deleted. */
  async ahead(index: number, back: boolean): Promise<{ of: Listed; ids: number[] } | undefined> {
    const walk = this.#walks[index % this.#walks.length]
    const from = back ? walk?.prev : walk?.next
    if (!walk || !from || walk.of === 'deliveries') return undefined
    const ids = beyondOf((await walk.rows()) ?? [], walk, from)
    return { of: walk.of, ids: back ? ids.reverse() : ids }
  }

  #listing(of: Listed, listId: number, filters: FiltersSent): Listing {
    const { contacts, tags, lists, topics, webhooks } = this.#client
    const model = this.#model
    switch (of) {
      case 'contacts': {
        const placed = this.#placed(filters)
        return { ask: (query) => contacts.list({ ...placed, ...query }), rows: () => model.matching(placed) }
      }
      case 'tags':
        return { ask: (query) => tags.list(query), rows: () => ordered(model.tags.values()) }
      case 'lists':
        return { ask: (query) => lists.list(query), rows: () => ordered(model.lists.values()) }
      case 'topics': {
        const ofList = () => [...model.topics.values()].filter(({ list_id }) => list_id === listId)
        const rows = () => (model.lists.has(listId) ? ordered(ofList()) : undefined)
        return { ask: (query) => topics.list(listId, query), rows }
      }
      case 'deliveries': {
        const ask: Listing['ask'] = (query) => webhooks.listDeliveries(this.#endpointId, query)
        // The model has no deliveries, so pages are compared with one page of all.
        return { ask, rows: async () => (await ask({ per_page: 100 })).data.map(({ id }) => id), newestFirst: true }
      }
    }
  }

  #placed({ lists, tags, topics, ...others }: FiltersSent): Filters {
    const all = { list: lists, tag: tags, topic: topics } as const
    const placed = Object.entries(all).flatMap(([kind, places]) => {
      const ids = places?.map((place) => this.#pick(kind as keyof typeof all, place))
      return ids ? [[`${kind}s`, ids]] : []
    })
    return { ...Object.fromEntries(placed), ...others }
  }
}

/** Requests the page at a position, and moves the walk there. */
async function look(walk: Walk, from: Position | undefined): Promise<void> {
  const rows = await walk.rows()
  const asked = walk.ask({ per_page: walk.size, ...(from ? { cursor: from.cursor } : {}) })
  if (!rows) {
    await assert.rejects(asked, { code: 'not_found' })
    return
  }
  const { data, meta } = await asked
  const page = pageOf(rows, walk, from)
  assert.deepEqual(idsOf(data), page.ids, 'the rows of the page')
  assert.equal(meta.per_page, walk.size)
  assert.equal(meta.next_cursor !== null, page.isNext, 'whether there is a next page')
  assert.equal(meta.prev_cursor !== null, page.isPrev, 'whether there is a previous page')
  walk.next = meta.next_cursor === null ? undefined : { cursor: meta.next_cursor, towards: 'next', edge: page.last }
  walk.prev = meta.prev_cursor === null ? undefined : { cursor: meta.prev_cursor, towards: 'prev', edge: page.first }
}

/** Returns the expected page at a position. */
function pageOf(rows: readonly number[], walk: Walk, from: Position | undefined) {
  const { size } = walk
  if (!from)
    return { ids: rows.slice(0, size), isNext: rows.length > size, isPrev: false, ...edges(walk, rows.slice(0, size)) }
  const beyond = beyondOf(rows, walk, from)
  const [more, behind] = [beyond.length > size, rows.length > beyond.length]
  const ids = from.towards === 'next' ? beyond.slice(0, size) : beyond.slice(-size)
  const [isNext, isPrev] = from.towards === 'next' ? [more, behind] : [behind, more]
  return { ids, isNext, isPrev, ...edges(walk, ids, from) }
}

/** Returns the rows beyond the position, in the listing's order. */
function beyondOf(rows: readonly number[], { newestFirst }: Walk, { towards, edge }: Position): number[] {
  const upwards = (towards === 'next') === (newestFirst === undefined)
  return rows.filter((id) => (upwards ? id > edge : id < edge))
}

/**
 * Returns the positions of a page's cursors. Both cursors of an empty page are just beyond the row it was requested
 * from, so the way back begins with that row if it still exists.
 */
function edges({ newestFirst }: Walk, ids: readonly number[], from?: Position) {
  const upwards = (from?.towards === 'next') === (newestFirst === undefined)
  const edge = (from?.edge ?? 0) + (upwards ? 0.5 : -0.5)
  return { first: ids[0] ?? edge, last: ids.at(-1) ?? edge }
}

function idsOf(rows: Rows): number[] {
  return rows.map(({ id }) => id)
}

function ordered(rows: Iterable<{ readonly id: number }>): number[] {
  return idsOf([...rows]).sort(ascending)
}
