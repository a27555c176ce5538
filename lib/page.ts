import * as v from 'valibot'
import { inputLimits } from './limits.ts'
import { closedObject, parse } from './parse.ts'

/** One page of a listing, and the cursors to its neighbours. */
export interface Page<T> {
  data: T[]
  meta: { per_page: number; next_cursor: string | null; prev_cursor: string | null }
}

/** A place between two rows, and the way to read on from there. */
export interface Position {
  readonly towards: 'next' | 'prev'
  readonly id: number
}

/** A whole number, as a number or in a query string's digits. */
export const WholeNumber = v.pipe(
  v.union([v.number(), v.string()], 'This must be a whole number.'),
  v.check((value) => typeof value === 'number' || /^-?\d{1,16}$/.test(value), 'This must be a whole number.'),
  v.transform(Number),
  v.safeInteger('This must be a whole number.'),
)

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

/** One stretch of a listing: the rows beyond `after`, upwards or downwards, at most `limit`. */
export interface Range {
  readonly after: number
  readonly desc: boolean
  readonly limit: number
}

/** The first rows of a stretch, as records, and how many rows these are: fewer than asked for where the page is full. */
export interface Filled<T> {
  readonly records: T[]
  readonly rowsTaken: number
}

/**
 * Reads one page by keyset on the id, so that rows coming and going elsewhere neither repeat nor hide a row.
 *
 * @param newestFirst Whether the listing runs from the highest id down.
 * @param read Gives the rows of a stretch. It is asked a second time, for one row, if the cursor's own row is gone: that
 *   row otherwise shows that there are rows behind it.
 */
export async function readPage<Row extends { id: number }>(
  query: PageQuery,
  read: (stretch: Range) => Promise<Row[]>,
  newestFirst = false,
): Promise<Page<Row>> {
  return await readPageOf(query, read, async (rows) => ({ records: [...rows], rowsTaken: rows.length }), newestFirst)
}

/**
 * As `readPage`, for listings whose records may be large: `fill` makes records of the page's rows, and may end the page
 * before its last row. The cursor continues from there.
 *
 * @param fill Gets the rows in the direction of the walk, and takes at least one of them.
 */
export async function readPageOf<Row extends { id: number }, T>(
  query: PageQuery,
  read: (stretch: Range) => Promise<Row[]>,
  fill: (rows: Row[]) => Promise<Filled<T>>,
  newestFirst = false,
): Promise<Page<T>> {
  const { per_page: limit, cursor } = query
  const back = cursor?.towards === 'prev'
  const desc = back !== newestFirst
  const before = cursor ? clamp(cursor.id + (desc ? 1 : -1)) : desc ? Number.MAX_SAFE_INTEGER : 0
  const rows = await read({ after: before, desc, limit: limit + (cursor ? 2 : 1) })
  const passed = cursor !== undefined && rows[0]?.id === cursor.id
  if (passed) rows.shift()
  let beyond = rows.length > limit
  rows.splice(limit)
  const { records, rowsTaken } = rows.length > 0 ? await fill(rows) : { records: [], rowsTaken: 0 }
  if (rowsTaken < rows.length) {
    beyond = true
    rows.splice(rowsTaken)
  }
  // The cursor's own row is the first one behind an empty page.
  const edge = cursor ? clamp(cursor.id + (desc ? -1 : 1)) : 0
  const behind = passed || (cursor !== undefined && (await anyBehind(rows[0]?.id ?? edge, desc, read)))
  if (back) rows.reverse()
  return {
    data: back ? records.reverse() : records,
    meta: {
      per_page: limit,
      next_cursor: (back ? behind : beyond) ? encodeCursor({ towards: 'next', id: rows.at(-1)?.id ?? edge }) : null,
      prev_cursor: (back ? beyond : behind) ? encodeCursor({ towards: 'prev', id: rows[0]?.id ?? edge }) : null,
    },
  }
}

/** Parses the query of a plain listing and reads its page. */
export function listPage<Row extends { id: number }>(
  query: unknown,
  read: (stretch: Range) => Promise<Row[]>,
  newestFirst = false,
): Promise<Page<Row>> {
  return readPage(parse(PageQuery, query ?? {}), read, newestFirst)
}

export function mapPage<A, B>(page: Page<A>, map: (row: A) => B): Page<B> {
  return { data: page.data.map(map), meta: page.meta }
}

function clamp(id: number): number {
  return Math.min(Math.max(id, 0), Number.MAX_SAFE_INTEGER)
}

async function anyBehind<Row>(edge: number, desc: boolean, read: (stretch: Range) => Promise<Row[]>): Promise<boolean> {
  return (await read({ after: edge, desc: !desc, limit: 1 })).length > 0
}

function encodeCursor({ towards, id }: Position): string {
  return Buffer.from(`${towards}:${id}`).toString('base64url')
}

function decodeCursor(cursor: string): Position | undefined {
  if (cursor.length > 40) return undefined
  const match = /^(next|prev):(0|[1-9]\d{0,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  if (!match) return undefined
  const position: Position = { towards: match[1] as Position['towards'], id: Number(match[2]) }
  // Only what encodes back to itself is ours: base64url has other spellings of the same bytes.
  return Number.isSafeInteger(position.id) && encodeCursor(position) === cursor ? position : undefined
}
