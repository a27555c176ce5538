import type { ClientMailkeep } from '../../lib/index.ts'

/** Returns the ids of all contacts in ascending order, read by pages of one, and of at most `max` pages. */
export async function idsByPagesOfOne({ contacts }: ClientMailkeep, max: number): Promise<number[]> {
  const ids: number[] = []
  for (let cursor: string | null | undefined; cursor !== null && ids.length < max; ) {
    const query = { include_unsubscribed: true, per_page: 1, ...(cursor === undefined ? {} : { cursor }) }
    const { data, meta } = await contacts.list(query)
    ids.push(...data.map(({ id }) => id))
    cursor = meta.next_cursor
  }
  return ids.sort((one, other) => one - other)
}
