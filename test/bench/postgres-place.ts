/** Creates PostgreSQL databases to measure on: on the server of MAILKEEP_TEST_POSTGRES, else on 127.0.0.1:5432. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { createMailkeep, type Mailkeep } from '../../lib/index.ts'
import { silent } from '../../lib/logger.ts'
import { copyInto, postgres } from '../../lib/storage/postgres.ts'
import { openRows } from '../../lib/storage/sqlite.ts'
import { encryptionKey } from './population.ts'
import { discard, scratch } from './seed.ts'

const server = process.env.MAILKEEP_TEST_POSTGRES ?? 'postgres://postgres@127.0.0.1:5432/postgres'

/** Creates a database with `size` contacts, passes it to `use`, and drops it afterwards. */
export function withPostgres<T>(folder: string, size: number, use: (url: string) => Promise<T>): Promise<T> {
  return withEmptyPostgres(async (url) => {
    await fill(folder, size, url)
    return await use(url)
  })
}

/** Creates a database, passes it to `use`, and drops it afterwards. */
export async function withEmptyPostgres<T>(use: (url: string) => Promise<T>): Promise<T> {
  const name = `mailkeep_bench_${process.pid}_${randomUUID().slice(0, 8)}`
  await ask(server, `create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  try {
    return await use(url.href)
  } finally {
    await ask(server, `drop database ${name} with (force)`)
  }
}

async function fill(folder: string, size: number, url: string): Promise<void> {
  const file = await scratch(folder, size)
  {
    using rows = openRows(file)
    await copyInto(url, rows, { logger: silent })
  }
  await discard(file)
  await ask(url, 'checkpoint') // pending write-back would slow down the first commits
}

export async function ask<T>(url: string, text: string, values: unknown[] = []): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

export async function withLibraryOn<T>(
  database: string | pg.Pool,
  use: (mailkeep: Mailkeep) => Promise<T>,
): Promise<T> {
  const webhooks = { allowPrivate: true }
  const mailkeep = await createMailkeep({ database: postgres(database), encryptionKey, webhooks })
  try {
    return await use(mailkeep)
  } finally {
    await mailkeep.close()
  }
}
