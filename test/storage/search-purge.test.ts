/** The search index on SQLite: superseded entries leave the file after erasures, and searches stay correct. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { SqliteDialect } from 'kysely'
import { createMailkeep, type DatabaseSource, kysely, type MailkeepOptions } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { databaseFolder } from '../support/folders.ts'

/** Letters that no other contact's name has. Their bytes show whether any part of a name is left in the file. */
const [first, second, third] = ['ჯჰჯჰჯ', 'ꙮꙮꙮ', 'ޓޓޓޓ'] as const

const hourMs = 3_600_000

/** Returns names of the maximum length with random letters: forty of them make an index of about twenty leaves. */
function names(count: number, seed: number): string[] {
  let state = seed
  const letter = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return String.fromCharCode(97 + Math.floor((state / 2 ** 31) * 26))
  }
  return Array.from({ length: count }, () => Array.from({ length: 255 }, letter).join(''))
}

async function openFile(t: TestContext, source: (file: string) => MailkeepOptions['database'] = sqlite) {
  const folder = await mkdtemp(join(databaseFolder, 'mailkeep-purge-'))
  const file = join(folder, 'mailkeep.db')
  const encryptionKey = randomBytes(32)
  let aheadMs = 0
  const open = () => createMailkeep({ database: source(file), encryptionKey, clock: () => Date.now() + aheadMs })
  const running = { mailkeep: await open() }
  const look = new Database(file)
  t.after(async () => {
    await running.mailkeep.close()
    look.close()
    await rm(folder, { recursive: true })
  })
  await running.mailkeep.clients.bootstrap()
  const client = () => running.mailkeep.forClient(1)
  const list = await client().lists.create({ name: 'News' })
  let saved = 0
  const save = async (name: string) =>
    (await client().contacts.addToList(list.id, { email: `${saved++}@example.org`, name })).contact.id
  return {
    client,
    file,
    list,
    look,
    save,
    running,
    saveAll: (all: readonly string[]) => Promise.all(all.map(save)),
    advance: (ms: number) => {
      aheadMs += ms
    },
    /** Runs all stored jobs that are due. */
    finish: () => running.mailkeep.deliverDue(),
    /** Reopens the database as after a crash or a restart. */
    async restart() {
      await running.mailkeep.close()
      running.mailkeep = await open()
    },
    jobs: () => look.prepare(`select count(*) from mailkeep_job where status = 'pending'`).pluck().get() as number,
    leaves: () => look.prepare('select count(*) from mailkeep_search_data').pluck().get() as number,
    async inFile(...words: string[]) {
      look.pragma('wal_checkpoint(truncate)')
      const bytes = await readFile(file)
      return words.filter((word) => bytes.includes(word.slice(0, 1)))
    },
    found: async (search: string) =>
      (await client().contacts.list({ search })).data.map((contact: { id: number }) => contact.id),
    assertSound() {
      look.exec(`insert into mailkeep_search (mailkeep_search, rank) values ('integrity-check', 1)`)
    },
  }
}

type Opened = Awaited<ReturnType<typeof openFile>>

/** Saves contacts with every kind of history: named once, renamed, renamed again. */
async function saveMarked({ client, save }: Opened) {
  const ids = [await save(`Zaza ${first}`), await save(`Zaza ${second}`), await save(`Zaza ${third}`)] as const
  await client().contacts.update(ids[1], { name: 'Zaza One' })
  await client().contacts.update(ids[2], { name: 'Zaza Two' })
  await client().contacts.update(ids[2], { name: `Zaza ${third} again` })
  return ids
}

/**
 * Saves contacts in one transaction, which makes one segment. FTS5 puts smaller, older segments beside a larger one.
 */
function saveInOneTransaction({ look }: Opened, all: readonly string[]): void {
  const contact = look.prepare(`insert into mailkeep_contact (client_id, uuid, created_at, email, email_key, name,
    attributes, search, unsubscribed_by_contact) values (1, '', '2026-01-02T03:04:05.678901Z', ?, ?, ?, '{}', ?, 0)`)
  const index = look.prepare(`insert into mailkeep_search (rowid, search) values (${2 ** 40} + cast(? as integer), ?)`)
  look.transaction(() => {
    for (const name of all) {
      const email = `${randomBytes(8).toString('hex')}@example.com`
      const { lastInsertRowid } = contact.run(email, email, name, `${name}\u001f${email}`)
      index.run(lastInsertRowid, `${name}\u001f${email}`)
    }
  })()
}

/** Opens a host's dialect. The host sets the pragmas of its own connections. */
function hosted(file: string): DatabaseSource {
  const database = new Database(file)
  for (const pragma of ['journal_mode = wal', 'foreign_keys = on', 'secure_delete = on']) database.pragma(pragma)
  return kysely(new SqliteDialect({ database }), { dialect: 'sqlite' })
}

describe('the search index', () => {
  test('contains no letters of an erased contact, and none of its earlier names', async (t) => {
    const opened = await openFile(t)
    const { client, finish, found, inFile, jobs, save } = opened
    const other = await save('Zaza Other')
    const ids = await saveMarked(opened)
    assert.deepEqual(await inFile(first, second, third), [first, second, third])
    for (const id of ids) await client().contacts.delete(id)
    await finish()
    assert.deepEqual(await inFile(first, second, third), [])
    assert.deepEqual(await found('zaza'), [other])
    assert.equal(jobs(), 0)
    opened.assertSound()
  })

  test('leaves no trace in the write-ahead log either', async (t) => {
    const { client, file, finish, save } = await openFile(t)
    const inLog = async () => (await readFile(`${file}-wal`)).includes(first[0]!)
    const id = await save(first)
    assert.ok(await inLog(), 'the name was there before')
    await client().contacts.delete(id)
    await finish()
    assert.equal(await inLog(), false)
  })

  test('leaves the write-ahead log while another process reads, and clears it afterwards', async (t) => {
    const { advance, client, file, finish, look, save } = await openFile(t)
    const inLog = async () => (await readFile(`${file}-wal`)).includes(first[0]!)
    const id = await save(first)
    look.exec('begin')
    look.prepare('select count(*) from mailkeep_contact').get()
    await client().contacts.delete(id)
    await finish()
    assert.ok(await inLog())
    look.exec('commit')
    advance(hourMs)
    await finish()
    assert.equal(await inLog(), false)
  })

  test('leaves no copy of a moved row in a small file: the file is rebuilt', async (t) => {
    const { advance, client, finish, inFile, save } = await openFile(t)
    const mark = (n: number) => String.fromCharCode(0x4e00 + n)
    const word = (n: number, change: number) => mark(n).repeat(3 + ((n * 7 + change * 13) % 40))
    const ids: number[] = []
    for (let n = 0; n < 500; n++) ids.push(await save(word(n, 0)))
    for (let change = 1; change < 1000; change++) {
      const n = (change * 37) % 500
      await client().contacts.update(ids[n]!, { name: word(n, change), [`k${change % 5}`]: word(n, change) })
    }
    const erased = ids.map((_, n) => n).filter((n) => n % 2)
    for (const n of erased) await client().contacts.delete(ids[n]!)
    advance(hourMs)
    await finish()
    assert.deepEqual(await inFile(...erased.map(mark)), [])
    assert.equal((await client().contacts.get(ids[2]!)).name[0], mark(2))
    await save('One More')
  })

  test('does not rebuild a file that contains a host’s tables, because their rows might get other ids', async (t) => {
    const { client, finish, look, save } = await openFile(t)
    look.exec('create table notes (text)')
    for (const text of ['a', 'b', 'c']) look.prepare('insert into notes values (?)').run(text)
    look.exec("delete from notes where text = 'b'")
    const before = look.prepare('select rowid, text from notes').all()
    await client().contacts.delete(await save(first))
    await finish()
    assert.deepEqual(look.prepare('select rowid, text from notes').all(), before)
  })

  test('pauses after each purge of a large index, and the next purge covers all erasures since', async (t) => {
    const opened = await openFile(t)
    const { advance, client, finish, found, inFile, jobs, leaves, saveAll } = opened
    await saveAll(names(200, 1))
    const [a, b, c] = await saveMarked(opened)
    assert.ok(leaves() > 64, 'it takes several batches')
    await client().contacts.delete(a)
    await finish()
    assert.deepEqual(await inFile(first), [])
    await client().contacts.delete(b)
    await client().contacts.delete(c)
    await finish()
    assert.deepEqual(await inFile(third), [third], 'it rests')
    assert.deepEqual(await found('zaza'), [])
    advance(hourMs)
    await finish()
    assert.deepEqual(await inFile(first, second, third), [])
    advance(hourMs)
    await finish()
    assert.equal(jobs(), 0)
    opened.assertSound()
  })

  test('is purged through a host’s Kysely dialect as well', async (t) => {
    const opened = await openFile(t, hosted)
    const { client, finish, found, inFile, saveAll } = opened
    const [id] = await saveMarked(opened)
    await client().contacts.delete(id)
    await finish()
    assert.deepEqual(await inFile(first), [])
    await saveAll(names(100, 6))
    await client().contacts.delete((await found('zaza one'))[0]!)
    await finish()
    assert.deepEqual(await inFile(second), [])
    opened.assertSound()
  })

  test('continues a purge that another process has begun', async (t) => {
    const opened = await openFile(t)
    const { client, finish, inFile, jobs, restart, saveAll } = opened
    await saveAll(names(200, 2))
    const [id] = await saveMarked(opened)
    await client().contacts.delete(id)
    await restart()
    assert.equal(jobs(), 1)
    assert.deepEqual(await inFile(first), [first], 'the purge was interrupted')
    await finish()
    assert.deepEqual(await inFile(first), [])
    opened.assertSound()
  })

  test('is purged to the end while saves continue, including data erased during the purge', async (t) => {
    const opened = await openFile(t)
    const { advance, client, finish, found, inFile, save, saveAll } = opened
    await saveAll(names(300, 3))
    const [a, b, c] = await saveMarked(opened)
    let over = false
    const more = names(2000, 4)
    const saving = Array.from({ length: 8 }, async () => {
      while (!over) await save(more.pop() ?? 'No More')
    })
    await client().contacts.delete(a)
    await client().contacts.delete(b)
    await client().contacts.delete(c)
    await finish()
    assert.ok(more.length > 0, 'the purge ended first')
    over = true
    await Promise.all(saving)
    advance(hourMs)
    await finish()
    assert.deepEqual(await inFile(first, second, third), [])
    assert.deepEqual(await found('zaza'), [])
    opened.assertSound()
  })

  test('is purged for every arrangement of its segments', async (t) => {
    const opened = await openFile(t)
    const { advance, client, finish, inFile } = opened
    for (const round of [1, 2]) {
      for (const many of [0, 150, 400]) {
        saveInOneTransaction(opened, names(many, 10 * round + many))
        const ids = await saveMarked(opened)
        for (const id of ids) await client().contacts.delete(id)
        for (let again = 0; again < 2; again++) {
          advance(hourMs)
          await finish()
        }
        assert.deepEqual(await inFile(first, second, third), [], `round ${round}, ${many} at once`)
        opened.assertSound()
      }
    }
  })

  test('is purged after it was empty, which leaves FTS5 with levels that have no segments', async (t) => {
    const opened = await openFile(t)
    const { advance, client, finish, inFile, save, saveAll } = opened
    for (const id of await saveAll(names(400, 40))) await client().contacts.delete(id)
    for (let others = 0; others < 10; others++) {
      advance(hourMs)
      await finish()
      const ids = await saveAll(names(others, 50 + others))
      await client().contacts.delete(await save(first))
      await finish()
      assert.deepEqual(await inFile(first), [], `beside ${others}`)
      for (const id of ids) await client().contacts.delete(id)
    }
    opened.assertSound()
  })

  test('is purged to the end for any number of saves before and during the purge', async (t) => {
    const opened = await openFile(t)
    const { advance, client, finish, inFile, save } = opened
    saveInOneTransaction(opened, names(100, 30))
    for (let before = 0; before < 18; before++) {
      const id = await save(first)
      for (let n = 0; n < before; n++) await save('Zaza Other')
      await client().contacts.delete(id)
      for (let during = 0; during < before % 8; during++) await save('Zaza Other')
      await finish()
      assert.deepEqual(await inFile(first), [], `${before} before`)
      advance(hourMs)
    }
    opened.assertSound()
  })

  test('is purged after many simultaneous erasures, some of them during the purge', async (t) => {
    const opened = await openFile(t)
    const { advance, client, finish, inFile, saveAll } = opened
    for (const others of [1, 100]) {
      await saveAll(names(others, 20))
      const ids = await saveAll(Array.from({ length: 80 }, (_, n) => `${n} ${first}`))
      await Promise.all(ids.map((id) => client().contacts.delete(id)))
      for (let again = 0; again < 2; again++) {
        await finish()
        advance(hourMs)
      }
      assert.deepEqual(await inFile(first), [], `beside ${others}`)
      opened.assertSound()
    }
  })

  test('contains no data of a client that was deleted', async (t) => {
    const opened = await openFile(t)
    const { advance, finish, inFile, jobs, running, saveAll } = opened
    const { id } = await running.mailkeep.clients.create({ name: 'Other' })
    const other = running.mailkeep.forClient(id)
    const list = await other.lists.create({ name: 'News' })
    await saveAll(names(40, 5))
    for (let n = 0; n < 500; n++) {
      await other.contacts.addToList(list.id, { email: `o${n}@example.net`, name: `${first} ${n}` })
    }
    await running.mailkeep.clients.delete(id)
    for (let again = 0; again < 3; again++) {
      await finish()
      advance(hourMs)
    }
    assert.deepEqual(await inFile(first), [])
    assert.equal(jobs(), 0)
    opened.assertSound()
  })

  test('is also purged of data erased in a host’s transaction', async (t) => {
    const opened = await openFile(t)
    const { finish, inFile, look, running, save } = opened
    await save('Zaza Other')
    const id = await save(`Zaza ${first}`)
    for (const pragma of ['foreign_keys', 'secure_delete']) look.pragma(`${pragma} = on`)
    look.exec('begin immediate')
    await running.mailkeep.using(look).forClient(1).contacts.delete(id)
    look.exec('commit')
    await finish()
    assert.deepEqual(await inFile(first), [])
    opened.assertSound()
  })

  test('is merged into one segment after many saves, and searches find the same', async (t) => {
    const opened = await openFile(t)
    const { advance, finish, found, jobs, look, saveAll } = opened
    const pieces = () => look.prepare('select count(distinct segid) from mailkeep_search_idx').pluck().get() as number
    const numbered = (count: number, seed: number) =>
      names(count, seed).map((name, n) => `${seed}.${n}! ${name}`.slice(0, 255))
    const [first] = await saveAll(numbered(100, 7))
    await finish()
    assert.equal(jobs(), 0, 'a small one is not merged')
    const ids = await saveAll(numbered(800, 8))
    assert.ok(pieces() > 4, `${pieces()} pieces`)
    await finish()
    assert.equal(pieces(), 1)
    opened.assertSound()
    assert.deepEqual(await found('8.400! '), [ids[400]])
    await saveAll(numbered(100, 9))
    const before = pieces()
    advance(hourMs)
    await finish()
    assert.deepEqual([pieces(), jobs()], [before, 0], 'a few more are not merged')
    await saveAll(numbered(400, 10))
    await finish()
    assert.equal(pieces(), 1)
    assert.deepEqual(await found('7.0! '), [first])
  })

  test('finds renamed contacts by their current name, also in large groups of changes', async (t) => {
    const opened = await openFile(t)
    const { client, found, saveAll } = opened
    const ids = await saveAll(Array.from({ length: 300 }, (_, n) => `Before ${n} ${'x'.repeat(n % 50)}`))
    const renamed = [...ids].reverse().filter((id) => id % 3 !== 0)
    await Promise.all(renamed.map((id) => client().contacts.update(id, { name: `After ${id}` })))
    opened.assertSound()
    assert.deepEqual(await found(`after ${renamed[0]}`), [renamed[0]])
    for (const id of renamed) assert.ok((await found(`after ${id}`)).includes(id))
    const before = await client().contacts.list({ search: 'before ', per_page: 100 })
    assert.equal(before.data.length, ids.length - renamed.length)
  })
})
