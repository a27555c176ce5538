import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { createMailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { daemon, directory, errorLineOf, run, runJson } from '../support/program.ts'

interface Compaction {
  file: string
  bytes_before: number
  bytes_after: number
  purge_waits: boolean
}

/** Number of contacts. Renamed this often, they make SQLite leave stale copies of moved rows in the file. */
const many = 2000

/** Returns a letter that only this contact has. */
const mark = (n: number) => String.fromCharCode(0x4e00 + n)
const word = (n: number, change: number) => mark(n).repeat(3 + ((n * 7 + change * 13) % 40))

describe('mailkeep compact', () => {
  test('leaves no trace of erased data in a large file, while the daemon runs', async (t) => {
    const cwd = await directory(t)
    const file = join(cwd, 'mailkeep.db')
    const encryptionKey = randomBytes(32)
    let aheadMs = 0
    const clock = () => Date.now() + aheadMs
    const mailkeep = await createMailkeep({ database: sqlite(file), encryptionKey, clock })
    const { client, token } = (await mailkeep.clients.bootstrap())!
    const { contacts, lists } = mailkeep.forClient(client.id)
    const list = await lists.create({ name: 'News' })
    const ballast = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`b${n}`, 'x'.repeat(10_000)]))
    await contacts.addManyToList(
      list.id,
      Array.from({ length: 50 }, (_, n) => ({ email: `ballast${n}@example.org`, ...ballast })),
    )
    const ids: number[] = []
    for (let n = 0; n < many; n++) {
      ids.push((await contacts.addToList(list.id, { email: `p${n}@example.org`, name: word(n, 0) })).contact.id)
    }
    for (let change = 1; change < 2 * many; change++) {
      const n = (change * 37) % many
      await contacts.update(ids[n]!, { name: word(n, change), [`k${change % 5}`]: word(n, change) })
    }
    const erased = ids.map((_, n) => n).filter((n) => n % 2)
    for (const n of erased) await contacts.delete(ids[n]!)
    aheadMs = 3_600_000 // until then the purge of the search index pauses
    await mailkeep.deliverDue()
    await mailkeep.close()
    const inFile = async () => {
      const bytes = await readFile(file)
      return erased.filter((n) => bytes.includes(mark(n))).length
    }
    assert.ok((await stat(file)).size > 2048 * 4096, 'a file this small is rebuilt automatically')
    assert.ok((await inFile()) > 0, 'SQLite has left no stale copy, so there is nothing to show')

    const env = { MAILKEEP_ENCRYPTION_KEY: encryptionKey.toString('base64') }
    await writeFile(join(cwd, 'mailkeep.db.admin-token'), token.token)
    const running = await daemon(t, { cwd, env })
    const result = await runJson<Compaction>(['compact'], { cwd, env })
    assert.deepEqual([result.file, result.purge_waits, await inFile()], [file, false, 0])
    assert.ok(result.bytes_after < result.bytes_before && result.bytes_after > 0)
    const kept = await running.data<{ name: string }>('GET', `/contacts/${ids[2]}`)
    assert.equal(kept.name[0], mark(2))
    await running.data('POST', `/lists/${list.id}/contacts`, { email: 'one.more@example.org', name: mark(3) })
    const found = await running.data<{ email: string }[]>('GET', `/contacts?search=${encodeURIComponent('one.more')}`)
    assert.deepEqual(
      found.map(({ email }) => email),
      ['one.more@example.org'],
    )
    assert.match(
      (await run(['compact'], { cwd, env })).out,
      /mailkeep\.db was rewritten: \d+\.\d MB, before \d+\.\d MB/,
    )
  })

  test('explains why it cannot run, and changes nothing', async (t) => {
    const cwd = await directory(t)
    const errorLine = (database: string) => errorLineOf(['compact'], { cwd, env: { MAILKEEP_DATABASE: database } })
    assert.match(await errorLine('none.db'), /There is no database none\.db: set --database or MAILKEEP_DATABASE/)
    assert.match(await errorLine(':memory:'), /in memory/)
    assert.match(await errorLine('postgres://127.0.0.1:1/none'), /VACUUM FULL/)
    const other = new Database(join(cwd, 'other.db'))
    other.exec('create table notes (text)')
    other.close()
    assert.match(await errorLine('other.db'), /not a mailkeep database: check the path/)
    await writeFile(join(cwd, 'text.db'), 'this is no database, but long enough to look like one'.repeat(20))
    assert.match(await errorLine('text.db'), /text\.db is not a SQLite database: check the path, or restore a backup/)

    const mailkeep = await createMailkeep({ database: sqlite(join(cwd, 'shared.db')), encryptionKey: randomBytes(32) })
    await mailkeep.close()
    const shared = new Database(join(cwd, 'shared.db'))
    shared.exec("create table notes (text); insert into notes values ('a'), ('b'); delete from notes where text = 'a'")
    assert.match(await errorLine('shared.db'), /other tables than mailkeep's, such as notes/)
    assert.deepEqual(shared.prepare('select rowid from notes').pluck().all(), [2])
    shared.close()
  })
})
