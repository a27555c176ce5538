/** Files of a SQLite database that are deleted, replaced or damaged while it is open. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { copyFile, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import BetterSqlite3 from 'better-sqlite3'
import { createMailkeep, isMailkeepError } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'

const encryptionKey = randomBytes(32)

interface LogLine {
  readonly level: string
  readonly message: string
}

async function directory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'mailkeep-'))
  t.after(() => rm(path, { recursive: true }))
  return path
}

async function open(t: TestContext) {
  const file = join(await directory(t), 'mailkeep.db')
  const lines: LogLine[] = []
  const write = (level: string) => (_: object, message: string) => void lines.push({ level, message })
  const logger = { debug() {}, info: write('info'), warn: write('warn'), error: write('error') }
  const mailkeep = await createMailkeep({ database: sqlite(file), encryptionKey, logger })
  t.after(() => mailkeep.close())
  const { id } = await mailkeep.clients.create({ name: 'Acme' })
  const acme = mailkeep.forClient(id)
  const list = await acme.lists.create({ name: 'News' })
  const save = (email: string) => acme.contacts.addToList(list.id, { email })
  return { file, lines, mailkeep, acme, save }
}

const refused = (error: unknown) =>
  isMailkeepError(error, 'unavailable') && /file was deleted, moved/.test(error.message)

describe('the files of a database that is open', () => {
  const losses: Record<string, (file: string) => Promise<void>> = {
    'the file is deleted': (file) => rm(file),
    'the file is moved away': (file) => rename(file, `${file}.old`),
    'the file is replaced by a copy of it': async (file) => {
      await copyFile(file, `${file}.copy`)
      await rename(`${file}.copy`, file)
    },
    'its log is deleted': (file) => rm(`${file}-wal`),
    'the shared-memory index of its log is deleted': (file) => rm(`${file}-shm`),
  }
  for (const [name, lose] of Object.entries(losses)) {
    test(`${name}: no write is answered as saved, and the service is not ready`, async (t) => {
      const { file, lines, mailkeep, save } = await open(t)
      await save('ada@example.org')
      assert.equal((await mailkeep.ready()).ready, true)
      await lose(file)
      const writes = await Promise.allSettled(Array.from({ length: 5 }, (_, i) => save(`late${i}@example.org`)))
      for (const write of writes) assert.ok(write.status === 'rejected' && refused(write.reason))
      await assert.rejects(save('bob@example.org'), refused)
      await assert.rejects(mailkeep.resealSecrets(), refused)
      assert.equal(lines.filter(({ level }) => level === 'error').length, 1, 'one line in the log')
    })
  }

  test('the path to the file cannot be followed: writes are refused until it can be again', async (t) => {
    const { file, lines, save } = await open(t)
    await save('ada@example.org')
    const folder = dirname(file)
    await rename(folder, `${folder}.moved`)
    await symlink(folder, folder) // fails with ELOOP, as a folder without rights does with EACCES
    for (const email of ['bob@example.org', 'eve@example.org']) {
      await assert.rejects(save(email), {
        code: 'unavailable',
        message: /^The database file cannot be reached \(ELOOP\)/,
      })
    }
    assert.equal(lines.filter(({ level }) => level === 'error').length, 1, 'one line in the log')
    await rm(folder)
    await rename(`${folder}.moved`, folder)
    await save('bob@example.org')
    assert.deepEqual(lines.at(-1), { level: 'info', message: 'the database file is back' })
  })

  test('a stored job cannot be saved: the log does not say when it is retried', async (t) => {
    const { file, lines, mailkeep } = await open(t)
    const now = new Date().toISOString()
    const database = new BetterSqlite3(file)
    t.after(() => database.close())
    database.exec(`insert into mailkeep_job (client_id, kind, target_id, state, created_at, run_at)
      values (1, 'clear tag', 901, '{}', '${now}', '${now}')`)
    await rm(file)
    await Promise.allSettled([mailkeep.deliverDue()])
    const messages = lines.map(({ message }) => message)
    assert.ok(messages.includes('housekeeping failed: will try again'))
    assert.ok(!messages.includes('job failed: will retry'))
  })

  test('readiness says why', async (t) => {
    const { file, mailkeep } = await open(t)
    await rm(file)
    const readiness = await mailkeep.ready()
    assert.equal(readiness.ready, false)
    assert.match(readiness.database!, /deleted, moved or replaced.*restart mailkeep/)
  })

  test('a file that is moved back takes writes again, and does not have the writes that were refused', async (t) => {
    const { file, lines, mailkeep, acme, save } = await open(t)
    await rename(file, `${file}.old`)
    await mailkeep.ready() // the first write detects the change
    await assert.rejects(save('ada@example.org'), refused)
    await rename(`${file}.old`, file)
    await save('bob@example.org')
    const { data } = await acme.contacts.list()
    assert.deepEqual(
      data.map(({ email }) => email),
      ['bob@example.org'],
    )
    assert.deepEqual(lines.at(-1), { level: 'info', message: 'the database file is back' })
  })
})

/** Overwrites the pages of the tables, but not the first page. */
async function damage(file: string): Promise<void> {
  const bytes = await readFile(file)
  await writeFile(file, bytes.fill(0xff, 4096 * 2))
}

const damaged = (file: string) => (error: unknown) =>
  isMailkeepError(error, 'internal') &&
  error.message.includes(file) &&
  /damaged.*mailkeep doctor.*restore/.test(error.message)

test('a missing file is not created with migrate: false', async (t) => {
  const folder = await directory(t)
  const options = { database: sqlite(join(folder, 'mailkeep.db')), encryptionKey, migrate: false }
  await assert.rejects(createMailkeep(options), {
    code: 'unavailable',
    message: /^There is no database .*mailkeep\.db/,
  })
  assert.deepEqual(await readdir(folder), [])
})

describe('a damaged database file', () => {
  test('is reported when it is opened, with what to do', async (t) => {
    const { file, mailkeep, save } = await open(t)
    await save('ada@example.org')
    await mailkeep.close()
    await damage(file)
    await assert.rejects(createMailkeep({ database: sqlite(file), encryptionKey }), damaged(file))
    await writeFile(
      file,
      'not a database, but a text that is long enough to have a header of a hundred bytes, as this has.',
    )
    await assert.rejects(createMailkeep({ database: sqlite(file), encryptionKey }), damaged(file))
  })

  test('is reported by reads and writes at run time', async (t) => {
    const { file, mailkeep, save } = await open(t)
    for (let i = 0; i < 200; i++) await save(`contact${i}@example.org`)
    await mailkeep.close() // everything is in the file now and the write-ahead log is empty
    const again = await createMailkeep({ database: sqlite(file), encryptionKey })
    t.after(() => again.close())
    await damage(file)
    await assert.rejects(again.forClient(1).contacts.list(), damaged(file))
    await assert.rejects(again.forClient(1).contacts.addToList(1, { email: 'late@example.org' }), damaged(file))
  })
})
