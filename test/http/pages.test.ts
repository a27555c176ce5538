/** Paging through every listing. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'
import type { Answer } from '../support/http-call.ts'
import { assertShape, deliveriesMeta, meta } from '../support/http-shapes.ts'
import { idsOf, listings, openListing, walk } from './listings.ts'

for (const [name, listing] of Object.entries(listings)) {
  overHttp(`pages of ${name}`, (open) => {
    test('go forwards and backwards over all rows, in order, to both ends', async (t) => {
      const { ids, page } = await openListing(open, t, listing, 7)
      for (const size of [1, 2, 3, 7, 8]) {
        const cuts = Array.from({ length: Math.ceil(7 / size) }, (_, i) => ids.slice(i * size, (i + 1) * size))
        const there: number[][] = []
        const back: number[][] = []
        let last: Answer | undefined
        for await (const answer of walk(page, 'next', size)) {
          last = answer
          there.push(idsOf(answer))
          const { meta: shown } = answer.body
          assertShape(shown, listing.metaPath === 'none' ? deliveriesMeta : meta)
          assert.equal(shown.per_page, size)
          assert.equal(shown.prev_cursor === null, there.length === 1, 'only the first page has no previous page')
        }
        assert.deepEqual(there, cuts)
        back.push(idsOf(last!))
        const { prev_cursor } = last!.body.meta
        for await (const answer of prev_cursor === null ? [] : walk(page, 'prev', size, prev_cursor)) {
          back.unshift(idsOf(answer))
          assert.notEqual(answer.body.meta.next_cursor, null, 'only the last page has no next page')
        }
        assert.deepEqual(back, cuts)
      }
    })

    test('neither miss nor repeat a row that stays while others come and go', async (t) => {
      const { add, ids, page, remove } = await openListing(open, t, listing, 12)
      /** Pages to the end. After each page one row is added, and two of these are deleted. */
      const disturbed = async (way: 'next' | 'prev', from: string | null, going: number[]): Promise<number[]> => {
        const seen: number[] = []
        for await (const answer of walk(page, way, 2, from)) {
          seen.push(...(way === 'next' ? idsOf(answer) : idsOf(answer).reverse()))
          await add()
          for (const id of going.splice(0, 2)) await remove(id)
        }
        assert.equal(new Set(seen).size, seen.length, `twice: ${seen}`)
        return seen
      }
      // Two rows already seen, the cursor's row, the row one page later, and one still to come.
      const goes = listing.remove ? [ids[0]!, ids[1]!, ids[3]!, ids[8]!] : []
      const stays = ids.filter((id) => !goes.includes(id))
      const there = await disturbed('next', null, [...goes])
      assert.deepEqual(
        there.filter((id) => stays.includes(id)),
        stays,
      )
      const all = idsOf(await page(100))
      let last: Answer | undefined
      for await (const answer of walk(page, 'next', 2)) last = answer
      const before = all.slice(0, -idsOf(last!).length).reverse()
      const leaving = listing.remove ? [before[0]!, before[1]!, before[3]!, before[8]!] : []
      const back = await disturbed('prev', last!.body.meta.prev_cursor, [...leaving])
      assert.deepEqual(
        back.filter((id) => before.includes(id)),
        before.filter((id) => back.includes(id) || !leaving.includes(id)),
      )
    })

    test('an empty listing is one empty page', async (t) => {
      const { page, path, url } = await openListing(open, t, listing, 0)
      const { body } = await page(25)
      const { path: shown, ...cursors } = body.meta
      assert.deepEqual([body.data, cursors], [[], { per_page: 25, next_cursor: null, prev_cursor: null }])
      assert.equal(shown, listing.metaPath === 'none' ? undefined : `${url}/api/v1${path}`)
    })

    if (listing.remove) {
      test('an empty page that deletions caused links back to the previous rows', async (t) => {
        const { ids, page, remove } = await openListing(open, t, listing, 4)
        const { next_cursor } = (await page(2)).body.meta
        const { prev_cursor } = (await page(2, next_cursor)).body.meta
        for (const id of ids.slice(2)) await remove(id)
        const beyond = (await page(2, next_cursor)).body
        assert.deepEqual([beyond.data, beyond.meta.next_cursor], [[], null])
        const back = await page(2, beyond.meta.prev_cursor)
        assert.deepEqual([idsOf(back), back.body.meta.prev_cursor], [ids.slice(0, 2), null])
        for (const id of ids.slice(0, 2)) await remove(id)
        const before = (await page(2, prev_cursor)).body
        assert.deepEqual([before.data, before.meta.prev_cursor, before.meta.next_cursor], [[], null, null])
      })

      test('an empty page before the first links to the next rows', async (t) => {
        const { ids, page, remove } = await openListing(open, t, listing, 4)
        const { prev_cursor } = (await page(2, (await page(2)).body.meta.next_cursor)).body.meta
        for (const id of ids.slice(0, 2)) await remove(id)
        const before = (await page(2, prev_cursor)).body
        assert.deepEqual([before.data, before.meta.prev_cursor], [[], null])
        const on = await page(2, before.meta.next_cursor)
        assert.deepEqual([idsOf(on), on.body.meta.prev_cursor, on.body.meta.next_cursor], [ids.slice(2), null, null])
      })
    }

    test('a cursor of another client shows none of its rows', async (t) => {
      const service = await open(t)
      const other = await service.addTenant()
      const paths = [await listing.prepare(service), await listing.prepare(other)] as const
      const own: number[][] = [[], []]
      for (let n = 0; n < 4; n++) {
        for (const [i, tenant] of [service, other].entries()) {
          own[i]!.push((await listing.add(tenant, paths[i]!, n))!.id)
        }
      }
      let cursor: string | null = null
      for (let step = 0; step < 4; step++) {
        const query: Record<string, string> = { per_page: '1', ...(cursor === null ? {} : { cursor }) }
        const { meta: found } = (await service.call('GET', paths[0], { query })).body
        for (const foreign of [found.next_cursor, found.prev_cursor].filter(Boolean)) {
          const seen = idsOf(await other.call('GET', paths[1], { query: { cursor: foreign } }))
          assert.ok(
            seen.every((id) => own[1]!.includes(id)),
            `${seen}`,
          )
        }
        cursor = found.next_cursor
      }
    })
  })
}
