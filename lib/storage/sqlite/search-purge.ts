import { type Connection, plainQuery } from '../connection.ts'
import { mergedTogether, mergeSegments } from './search-index.ts'

/**
 * What a slice writes at least and at most: a few milliseconds' work. Where much was deleted it reads more than it writes,
 * so slices that take longer become smaller. Three letters that very many contacts have are merged in one, though.
 */
const slice = { least: 1, first: 4, most: 32, ms: 8 }

/** An index so small is made anew within a slice: of some 300 contacts. */
const smallLeaves = 16

/** A search of a smaller one finds all its pieces in memory: of some 8,000 contacts. */
const scatteredLeaves = 256

const rebuild = plainQuery(`insert into mailkeep_search (mailkeep_search) values ('rebuild')`)

/**
 * A row of nobody's that comes and goes, which makes segments. FTS5 goes on with a merge unless a lower level has as many
 * segments as that; then it does nothing where these are too few to be merged. So a purge begins with enough.
 */
const come = plainQuery(`insert into mailkeep_search (rowid, search) values (1, '···')`)
const go = plainQuery(`insert into mailkeep_search (mailkeep_search, rowid, search) values ('delete', 1, '···')`)

/** Does purges, in slices as long as they should be. */
export function searchPurger(): (connection: Connection, progress?: number) => Promise<number | undefined> {
  let leaves = slice.first
  return async (connection, progress) => {
    if (!progress) leaves = slice.first
    const began = performance.now()
    const next = await purgeSearch(connection, leaves, progress)
    const long = performance.now() - began > slice.ms
    leaves = long ? Math.max(slice.least, Math.floor(leaves / 2)) : Math.min(slice.most, leaves * 2)
    return next
  }
}

/**
 * Does a slice of a purge: it merges all the segments that there are when it begins into one, which leaves neither
 * what was deleted nor the marks of that. Saves add segments meanwhile, which are none of its business.
 *
 * @param progress What the slice before gave; undefined: it begins.
 * @returns undefined when it is done: the segment it writes, below zero where another round must follow, or 0: it begins
 *   anew.
 */
async function purgeSearch(connection: Connection, leaves: number, progress?: number): Promise<number | undefined> {
  if (!progress) return await begin(connection, leaves)
  await connection.executeQuery(mergeSegments(leaves))
  if (writtenNow(await readLevels(connection)).includes(Math.abs(progress))) return progress
  return progress < 0 ? 0 : undefined
}

async function begin(connection: Connection, leaves: number): Promise<number | undefined> {
  if (leavesOf(await readLevels(connection)) <= smallLeaves) {
    await connection.executeQuery(rebuild)
    return undefined
  }
  let levels: Level[]
  do {
    for (const query of [come, go, mergeSegments(0)]) await connection.executeQuery(query)
    levels = await readLevels(connection)
  } while (countSegments(levels) < mergedTogether)
  await connection.executeQuery(mergeSegments(-leaves))
  const into = writtenNow(await readLevels(connection)).at(-1) ?? 0
  if (dropsMarks(levels)) return into || undefined
  return -into
}

/** Whether a quarter of the index and more lies beside its largest segment: a search looks into every segment. */
export async function isScattered(connection: Connection): Promise<boolean> {
  const levels = await readLevels(connection)
  const all = leavesOf(levels)
  const largest = Math.max(...levels.flatMap(({ segments }) => segments).map(({ leaves }) => leaves))
  return all >= scatteredLeaves && all - largest > all / 4
}

/** A level of the index: its segments, and whether they are being merged into the last one of the next level. */
interface Level {
  readonly merging: boolean
  readonly segments: readonly { readonly id: number; readonly leaves: number }[]
}

/** The structure record of FTS5's file format (fts5_index.c): a cookie of four bytes, then varints. */
const structure = plainQuery('select hex(block) as block from mailkeep_search_data where id = 10')

async function readLevels(connection: Connection): Promise<Level[]> {
  const { rows } = await connection.executeQuery<{ block: string }>(structure)
  const next = varints(Buffer.from(rows[0]!.block, 'hex').subarray(4))
  const [levels] = [next(), next(), next()] // and how many segments and leaves were ever written
  return times(levels!, () => {
    const [merging, segments] = [next() > 0, next()]
    return { merging, segments: times(segments, () => ({ id: next(), leaves: 1 - next() + next() })) }
  })
}

function varints(bytes: Uint8Array): () => number {
  let at = 0
  return () => {
    let value = 0
    for (;;) {
      const byte = bytes[at++]!
      value = value * 128 + (byte & 127)
      if (byte < 128) return value
    }
  }
}

function times<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make)
}

function countSegments(levels: readonly Level[]): number {
  return levels.reduce((sum, { segments }) => sum + segments.length, 0)
}

function leavesOf(levels: readonly Level[]): number {
  return levels.flatMap(({ segments }) => segments).reduce((sum, { leaves }) => sum + leaves, 0)
}

/** The segments that merges under way write to, the oldest's last. */
function writtenNow(levels: readonly Level[]): number[] {
  return levels.flatMap(({ merging }, at) => (merging ? [levels[at + 1]!.segments.at(-1)!.id] : []))
}

/**
 * Only a merge into the last level drops the marks. FTS5 puts the segments on the last level, and merges them into a
 * further one, unless all are on one level already, wherever that is; then it takes a second round.
 */
function dropsMarks(levels: readonly Level[]): boolean {
  return levels.filter(({ segments }) => segments.length > 0).length > 1 || levels.length <= 2
}
