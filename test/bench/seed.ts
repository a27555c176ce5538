/** Databases of any size: created by mailkeep's migrations, filled by bare statements, and cached between runs. */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createMailkeep, type Mailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import * as people from './population.ts'

const createdAt = '2026-01-02T03:04:05.678000Z'
let copies = 0

/** Returns a read-only database with `size` contacts. The first use creates it, which takes a minute for a million. */
export async function seeded(size: number): Promise<string> {
  const folder = join(tmpdir(), 'mailkeep-bench-seeds', await fingerprint())
  const file = join(folder, `${size}.db`)
  if (existsSync(file)) return file
  await mkdir(folder, { recursive: true })
  process.stdout.write(`seeding ${size.toLocaleString('en')} contacts …\n`)
  const unfinished = `${file}.${process.pid}`
  await withMailkeep(unfinished, createRecords)
  fill(unfinished, size)
  await withMailkeep(unfinished, (mailkeep) => mailkeep.deliverDue()) // which does what a daemon does in the background
  await rename(unfinished, file)
  return file
}

/** Returns a writable copy, already flushed to disk: pending write-back would slow down the first commits. */
export async function scratch(folder: string, size: number): Promise<string> {
  const file = join(folder, `${copies++}.db`)
  await copyFile(await seeded(size), file)
  await sync(file)
  return file
}

export async function discard(file: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true })
}

export async function withMailkeep<T>(file: string, use: (mailkeep: Mailkeep) => Promise<T>): Promise<T> {
  const { encryptionKey } = people
  const mailkeep = await createMailkeep({ database: sqlite(file), encryptionKey, webhooks: { allowPrivate: true } })
  try {
    return await use(mailkeep)
  } finally {
    await mailkeep.close()
  }
}

/** Opens a handle without durability, for fast preparation outside the measurement. */
export function withFastHandle(file: string, use: (db: Database.Database) => void): void {
  const db = new Database(file)
  try {
    db.pragma('synchronous = off')
    db.pragma('cache_size = -2000000')
    db.transaction(() => use(db))()
    db.pragma('wal_checkpoint(truncate)')
  } finally {
    db.close()
  }
}

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(sqlite(':memory:').migrations))
  for (const name of ['seed.ts', 'population.ts']) hash.update(await readFile(join(import.meta.dirname, name)))
  return hash.digest('hex').slice(0, 16)
}

/** Creates the few other records through the library. */
async function createRecords(mailkeep: Mailkeep): Promise<void> {
  await mailkeep.clients.bootstrap({ token: people.token })
  const client = mailkeep.forClient(people.clientId)
  for (let id = 1; id <= people.listCount; id++) {
    await client.lists.create({ name: `list ${id}` })
    await client.topics.create(id, { name: `topic ${id}` })
  }
  for (let id = 1; id <= people.tagCount; id++) await client.tags.create({ name: people.tagName(id) })
  // Never receives anything: benchmarks that use it run without the dispatcher.
  await client.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: ['contact.subscribed'] })
}

function fill(file: string, size: number): void {
  withFastHandle(file, (db) => {
    const contact = db.prepare(`insert into mailkeep_contact
      (client_id, uuid, created_at, email, email_key, name, attributes, search, unsubscribed_at, unsubscribed_by_contact)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`)
    const member = (kind: string) => db.prepare(`insert into mailkeep_contact_${kind} values (?, ?, ?)`)
    const [tag, list, topic] = ['tag', 'list', 'topic'].map(member) as [Statement, Statement, Statement]
    for (let i = 0; i < size; i++) {
      const id = BigInt(i + 1)
      const email = people.emailOf(i)
      const name = people.nameOf(i)
      const search = `${name.toLowerCase()}\u001f${email}`
      const unsubscribedAt = people.isUnsubscribed(i) ? createdAt : null
      contact.run(1n, randomUUID(), createdAt, email, email, name, people.attributesOf(i), search, unsubscribedAt)
      for (const tagId of people.tagsOf(i)) tag.run(1n, id, BigInt(tagId))
      list.run(1n, id, BigInt(people.listOf(i)))
      if (people.hasTopic(i)) topic.run(1n, id, BigInt(people.listOf(i)))
    }
    // Leaves as many segments as imports do. FTS5's automerge handles rows that are written together.
    const merging = (segments: number) =>
      `insert into mailkeep_search (mailkeep_search, rank) values ('automerge', ${segments})`
    db.exec(`${merging(4)}; insert into mailkeep_search (mailkeep_search) values ('rebuild'); ${merging(0)}`)
  })
}

type Statement = Database.Statement

async function sync(file: string): Promise<void> {
  await using handle = await open(file, 'r+')
  await handle.sync()
}
