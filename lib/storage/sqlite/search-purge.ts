import { type Connection, plainQuery } from '../connection.ts'
import { mergeSegments, segmentsPerMerge } from './search-index.ts'

/**
 * Size of one step of a purge, in index leaves written. A step is a few milliseconds' work. After many deletions it
 * reads more than it writes, so steps that take longer than `maxMs` become smaller. One trigram's list is always merged
 * in one step, even if very many contacts have it.
 */
const batch = { minLeaves: 1, firstLeaves: 4, maxLeaves: 32, maxMs: 8 }

/** Maximum size of an index that is rebuilt in one step: about 300 contacts. */
const maxLeavesToRebuild = 16

/** Minimum size of an index that can be worth a purge: about 8,000 contacts. Searches read smaller ones from memory. */
const minScatteredLeaves = 256

const rebuild = plainQuery(`insert into mailkeep_search (mailkeep_search) values ('rebuild')`)

/**
 * Insert and delete a row that belongs to no contact, which adds segments. FTS5 continues a merge unless a lower level
 * has as many segments as the merge. In that case, it does nothing if those are too few to be merged. So a purge first
 * creates enough segments.
 */
const insertDummyRow = plainQuery(`insert into mailkeep_search (rowid, search) values (1, '···')`)
const deleteDummyRow = plainQuery(
  `insert into mailkeep_search (mailkeep_search, rowid, search) values ('delete', 1, '···')`,
)

/** Returns a function that runs one step of a purge, and adapts the size of the steps to the time they take. */
export function searchPurger(): (connection: Connection, progress?: number) => Promise<number | undefined> {
  let leaves = batch.firstLeaves
  return async (connection, progress) => {
    if (!progress) leaves = batch.firstLeaves
    const began = performance.now()
    const next = await purgeSearch(connection, leaves, progress)
    const long = performance.now() - began > batch.maxMs
    leaves = long ? Math.max(batch.minLeaves, Math.floor(leaves / 2)) : Math.min(batch.maxLeaves, leaves * 2)
    return next
  }
}

/**
 * Runs one step of a purge. A purge merges all segments that exist when it begins into one. The merge drops deleted
 * texts and FTS5's delete markers. It ignores the segments that concurrent saves add.
 *
 * @param progress The result of the step before; undefined begins a purge.
 * @returns the id of the segment being written, negative if a second purge must follow; 0 if that second purge begins
 *   with the next step; undefined when the purge is complete.
 */
async function purgeSearch(connection: Connection, leaves: number, progress?: number): Promise<number | undefined> {
  if (!progress) return await begin(connection, leaves)
  await connection.run(mergeSegments(leaves))
  if (mergeTargets(await readLevels(connection)).includes(Math.abs(progress))) return progress
  return progress < 0 ? 0 : undefined
}

async function begin(connection: Connection, leaves: number): Promise<number | undefined> {
  if (leavesOf(await readLevels(connection)) <= maxLeavesToRebuild) {
    await connection.run(rebuild)
    return undefined
  }
  let levels: Level[]
  do {
    for (const query of [insertDummyRow, deleteDummyRow, mergeSegments(0)]) await connection.run(query)
    levels = await readLevels(connection)
  } while (countSegments(levels) < segmentsPerMerge)
  await connection.run(mergeSegments(-leaves))
  const into = mergeTargets(await readLevels(connection)).at(-1) ?? 0
  if (dropsDeleteMarkers(levels)) return into || undefined
  return -into
}

/** Whether at least a quarter of the index is outside its largest segment. Searches read every segment. */
export async function isScattered(connection: Connection): Promise<boolean> {
  const levels = await readLevels(connection)
  const all = leavesOf(levels)
  const largest = Math.max(...levels.flatMap(({ segments }) => segments).map(({ leaves }) => leaves))
  return all >= minScatteredLeaves && all - largest > all / 4
}

/** A level of the index. If `merging`, its segments are being merged into the last segment of the next level. */
interface Level {
  readonly merging: boolean
  readonly segments: readonly { readonly id: number; readonly leaves: number }[]
}

/** Reads the structure record of FTS5's file format (see fts5_index.c): a cookie of four bytes, then varints. */
const structure = plainQuery('select hex(block) as block from mailkeep_search_data where id = 10')

async function readLevels(connection: Connection): Promise<Level[]> {
  const { rows } = await connection.run<{ block: string }>(structure)
  const next = varints(Buffer.from(rows[0]!.block, 'hex').subarray(4))
  const [levels] = [next(), next(), next()] // skips the number of segments and the write counter
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

/** Returns the ids of the segments that running merges write to. The oldest merge comes last. */
function mergeTargets(levels: readonly Level[]): number[] {
  return levels.flatMap(({ merging }, at) => (merging ? [levels[at + 1]!.segments.at(-1)!.id] : []))
}

/**
 * Whether the merge drops FTS5's delete markers. Only a merge into the last level does. FTS5 moves all segments to the
 * last level and merges them into a new one. If all segments are on one level already, it merges them there, and a
 * second purge is needed.
 */
function dropsDeleteMarkers(levels: readonly Level[]): boolean {
  return levels.filter(({ segments }) => segments.length > 0).length > 1 || levels.length <= 2
}
