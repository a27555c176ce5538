import type { CompiledQuery } from 'kysely'
import { type Connection, plainQuery } from '../connection.ts'
import type { SearchIndex } from '../database.ts'
import type { Compaction } from './compaction.ts'
import { mergeSegments, segmentsPerMerge } from './search-index.ts'

/** Each statement of a step writes one leaf of the index. After many deletions it reads far more than it writes. */
const step = { maxLeaves: 16, maxMs: 8 }

/** Minimum size of an index that can be worth a purge: about 8,000 contacts. Searches read smaller ones from memory. */
const minScatteredLeaves = 256

const insert = (text: string) => plainQuery(`insert into mailkeep_search (rowid, search) values (1, '${text}')`)
const remove = (text: string) =>
  plainQuery(`insert into mailkeep_search (mailkeep_search, rowid, search) values ('delete', 1, '${text}')`)

/** Texts of a row that belongs to no contact. The index of the long one takes seven leaves, its deletion six. */
const dummy = '···'
const longDummy = String.fromCharCode(...Array.from({ length: 2000 }, (_, n) => 0x4e00 + n))

const countChanges = plainQuery('select total_changes() as count')

const listSegments = plainQuery('select count(*) as leaves from mailkeep_search_idx group by segid')

/** @param compaction Undefined for a database in memory, and for a file of the host. */
export function searchIndexOn(
  reads: Connection,
  update: SearchIndex['update'],
  compaction: Compaction | undefined,
): SearchIndex {
  return {
    keepsErasedTexts: true,
    create: async () => {}, // a migration does it
    update,
    async purge(connection, progress) {
      const next = await purgeSearch(connection, progress)
      if (next === undefined) compaction?.request()
      return next
    },
    isScattered: () => isScattered(reads),
    compact: async (nowMs) => compaction?.run(nowMs),
  }
}

/**
 * Runs one step of a purge, as SQLite documents it: 'merge' with a negative number of leaves once, then with a positive
 * one until nothing changes. It merges all segments that exist when it begins into one. The merge drops deleted texts
 * and FTS5's delete markers. It ignores the segments that concurrent saves add.
 *
 * @param progress The result of the step before; undefined begins a purge.
 * @returns undefined when the purge is complete.
 */
async function purgeSearch(connection: Connection, progress?: number): Promise<number | undefined> {
  if (progress === undefined) await begin(connection)
  const beganMs = performance.now()
  for (let leaves = 0; leaves < step.maxLeaves && performance.now() - beganMs < step.maxMs; leaves++) {
    const before = await totalChanges(connection)
    await connection.run(mergeSegments(1))
    if ((await totalChanges(connection)) - before < 2) return undefined
  }
  return (progress ?? 0) + 1
}

/**
 * Begins the merge. FTS5 has two rules that could stop it or make it incomplete:
 *
 * - It continues a merge only if the merge has more segments than the lowest level, unless that level has enough for a
 *   merge of its own. So the merge gets enough segments.
 * - It drops delete markers only if the result is the only segment of the last level. So it must move all segments to a
 *   new level, which it does only if they are on several levels. A merge that has begun on the lowest level keeps the
 *   next level in use. The long text is larger than its deletion, because FTS5 moves smaller segments down again.
 *
 * Never use 'rebuild' here: it reads the contacts, whose changes in this group commit are not in the index yet. FTS5's
 * number of rows would then be wrong, and later deletions would fail.
 */
async function begin(connection: Connection): Promise<void> {
  const run = async (...queries: CompiledQuery[]) => {
    for (const query of queries) await connection.run(query)
  }
  const segments = await leavesOfSegments(connection)
  for (let count = segments.length; count < segmentsPerMerge; count += 2) {
    await run(insert(dummy), remove(dummy), mergeSegments(0)) // one segment each
  }
  await run(insert(longDummy), mergeSegments(1), remove(longDummy), mergeSegments(-1))
}

async function totalChanges(connection: Connection): Promise<number> {
  return Number((await connection.run<{ count: number }>(countChanges)).rows[0]!.count)
}

/** Whether at least a quarter of the index is outside its largest segment. Searches read every segment. */
async function isScattered(connection: Connection): Promise<boolean> {
  const leaves = await leavesOfSegments(connection)
  const all = leaves.reduce((total, count) => total + count, 0)
  return all >= minScatteredLeaves && all - Math.max(...leaves) > all / 4
}

async function leavesOfSegments(connection: Connection): Promise<number[]> {
  const { rows } = await connection.run<{ leaves: number }>(listSegments)
  return rows.map(({ leaves }) => Number(leaves))
}
