import * as v from 'valibot'
import { inputLimits } from './limits.ts'
import { closedObject, parse } from './parse.ts'

/** One page of a listing, and the cursors of the next and previous pages. */
export interface Page<T> {
  data: T[]
  meta: { per_page: number; next_cursor: string | null; prev_cursor: string | null }
}

/** Selects a page of a listing. */
export interface PageInput {
  /** 1–100, default 25. */
  readonly per_page?: number | string | undefined
  /** `next_cursor` or `prev_cursor` of a page of the same listing. */
  readonly cursor?: string | undefined
}

/** A decoded cursor: a position between two rows, and the direction to read. */
export interface CursorPosition {
  readonly towards: 'next' | 'prev'
  readonly id: number
}

/** A whole number, as a number or as digits of a query string. */
export const WholeNumber = v.pipe(
  v.union([v.number(), v.string()], 'This must be a whole number.'),
  v.check((value) => typeof value === 'number' || /^-?\d{1,16}$/.test(value), 'This must be a whole number.'),
  v.transform(Number),
  v.safeInteger('This must be a whole number.'),
)

/** The id of a record in a query, as a number or as digits. */
export const QueryId = v.pipe(WholeNumber, v.minValue(1, 'This must be an id: a positive whole number.'))

const Cursor = v.pipe(
  v.string('This must be a string.'),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const position = decodeCursor(dataset.value)
    if (position) return position
    addIssue({ message: 'This is not a cursor of this listing.' })
    return NEVER
  }),
)

const pageProblem = `This must be between 1 and ${inputLimits.pageRecords}.`

/** The fields of every listing's query. */
export const pageFields = {
  per_page: v.optional(
    v.pipe(WholeNumber, v.minValue(1, pageProblem), v.maxValue(inputLimits.pageRecords, pageProblem)),
    inputLimits.usualPageRecords,
  ),
  cursor: v.optional(Cursor),
}

/** The query of a listing that has no filters. */
export const PageQuery = closedObject(pageFields)
export type PageQuery = v.InferOutput<typeof PageQuery>

/** A range of a listing: at most `limit` rows after the id `after`, ascending or descending. */
export interface Range {
  readonly after: number
  readonly desc: boolean
  readonly limit: number
}

/** The records of a page. */
export interface PageContent<T> {
  readonly records: T[]
  /** Number of rows that these records cover. Fewer than the page's rows when the page is full. */
  readonly rowsTaken: number
}

/**
 * Reads one page by keyset pagination on the id, so that inserted and deleted rows never repeat or hide another row.
 *
 * @param newestFirst Whether the listing is in descending order of ids.
 * @param read Returns the rows of a range. If the cursor's row was deleted, it is called again to check for rows behind
 *   the cursor. Otherwise the cursor's row proves that there are some.
 */
export async function readPage<Row extends { id: number }>(
  query: PageQuery,
  read: (range: Range) => Promise<Row[]>,
  newestFirst = false,
): Promise<Page<Row>> {
  return await readPageOf(query, read, async (rows) => ({ records: [...rows], rowsTaken: rows.length }), newestFirst)
}

/**
 * Same as `readPage`, for listings with large records. `load` turns rows into records, and may end the page before its
 * last row. The cursor continues from there.
 *
 * @param load Gets the rows in reading order, and must take at least one of them.
 */
export async function readPageOf<Row extends { id: number }, T>(
  query: PageQuery,
  read: (range: Range) => Promise<Row[]>,
  load: (rows: Row[]) => Promise<PageContent<T>>,
  newestFirst = false,
): Promise<Page<T>> {
  const { per_page: limit, cursor } = query
  const isBackwards = cursor?.towards === 'prev'
  const desc = isBackwards !== newestFirst
  const before = cursor ? clamp(cursor.id + (desc ? 1 : -1)) : desc ? Number.MAX_SAFE_INTEGER : 0
  const rows = await read({ after: before, desc, limit: limit + (cursor ? 2 : 1) })
  const sawCursorRow = cursor !== undefined && rows[0]?.id === cursor.id
  if (sawCursorRow) rows.shift()
  let hasMoreAhead = rows.length > limit
  rows.splice(limit)
  const { records, rowsTaken } = rows.length > 0 ? await load(rows) : { records: [], rowsTaken: 0 }
  if (rowsTaken < rows.length) {
    hasMoreAhead = true
    rows.splice(rowsTaken)
  }
  // On an empty page the cursor's own row is the edge.
  const edge = cursor ? clamp(cursor.id + (desc ? -1 : 1)) : 0
  const hasMoreBehind = sawCursorRow || (cursor !== undefined && (await existsBehind(rows[0]?.id ?? edge, desc, read)))
  if (isBackwards) rows.reverse()
  return {
    data: isBackwards ? records.reverse() : records,
    meta: {
      per_page: limit,
      next_cursor: (isBackwards ? hasMoreBehind : hasMoreAhead)
        ? encodeCursor({ towards: 'next', id: rows.at(-1)?.id ?? edge })
        : null,
      prev_cursor: (isBackwards ? hasMoreAhead : hasMoreBehind)
        ? encodeCursor({ towards: 'prev', id: rows[0]?.id ?? edge })
        : null,
    },
  }
}

/** Parses the query of a plain listing and reads its page. */
export function listPage<Row extends { id: number }>(
  query: unknown = {},
  read: (range: Range) => Promise<Row[]>,
  newestFirst = false,
): Promise<Page<Row>> {
  return readPage(parse(PageQuery, query), read, newestFirst)
}

export function mapPage<A, B>(page: Page<A>, map: (row: A) => B): Page<B> {
  return { data: page.data.map(map), meta: page.meta }
}

function clamp(id: number): number {
  return Math.min(Math.max(id, 0), Number.MAX_SAFE_INTEGER)
}

async function existsBehind<Row>(
  edge: number,
  desc: boolean,
  read: (range: Range) => Promise<Row[]>,
): Promise<boolean> {
  return (await read({ after: edge, desc: !desc, limit: 1 })).length > 0
}

function encodeCursor({ towards, id }: CursorPosition): string {
  return Buffer.from(`${towards}:${id}`).toString('base64url')
}

function decodeCursor(cursor: string): CursorPosition | undefined {
  if (cursor.length > 40) return undefined
  const match = /^(next|prev):(0|[1-9]\d{0,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  if (!match) return undefined
  const position: CursorPosition = { towards: match[1] as CursorPosition['towards'], id: Number(match[2]) }
  // Accept only the canonical text, because base64url has other spellings of the same bytes.
  return Number.isSafeInteger(position.id) && encodeCursor(position) === cursor ? position : undefined
}
