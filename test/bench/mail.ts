/** Mail benchmarks: messages per second, the preparation of a newsletter, and the start of many steps. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { createMailkeep, type Mailkeep } from '../../lib/index.ts'
import type { MailTransport } from '../../lib/sending/transport.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { Child } from './children.ts'
import {
  atLeast,
  atMost,
  type Bench,
  type Figure,
  interleave,
  largest,
  ratioOf,
  short,
  smallest,
  thousands,
} from './harness.ts'
import { newsletterHtml } from './mail-content.ts'
import type { MailReceipts } from './mail-receive.ts'
import { clientId, encryptionKey } from './population.ts'
import { discard, scratch, withFastHandle, withMailkeep } from './seed.ts'
import { median } from './summary.ts'

const senderCore = 0
const serverCore = 1

/** Compares newsletters whose outcomes are stored with nodemailer's bare pool, with as many connections. */
export const mail: Figure = async (bench) => {
  await using server = new Child(serverCore, [process.execPath, join(bench.folder, 'mail-receive.cjs')])
  const { port } = await server.listening()
  const count = bench.quick ? 3000 : 9000
  const receive = async (file?: string) => {
    const args = file === undefined ? [] : [file]
    await using sender = new Child(senderCore, [
      process.execPath,
      join(bench.folder, 'mail-send.cjs'),
      String(port),
      ...args,
    ])
    await server.ask({ awaited: count, pid: sender.pid })
    return await sender.alive(server.answer<MailReceipts>())
  }
  const { mailkeep, bare } = await interleave(bench.rounds, {
    mailkeep: () => withNewsletter(bench, count, receive),
    bare: () => receive(),
  })
  const rates = (all: readonly MailReceipts[]) => all.map(({ perSecond }) => perSecond)
  const cpuRates = (all: readonly MailReceipts[]) => all.map(({ perCpuSecond }) => perCpuSecond)
  const ratio = ratioOf(rates(mailkeep), rates(bare))
  return [
    {
      name: 'mail',
      figure: `${thousands(median(rates(mailkeep)))}/s`,
      ceiling: `${thousands(median(rates(bare)))}/s`,
      ratio,
      byCpu: ratioOf(cpuRates(mailkeep), cpuRates(bare)),
      target: atLeast(ratio, 0.6),
      details: { mailkeep, bare },
    },
  ]
}

/** Runs with a newsletter that is prepared for this many recipients. */
export async function withNewsletter<T>(bench: Bench, count: number, use: (file: string) => Promise<T>): Promise<T> {
  const file = await scratch(bench.folder, smallest(bench))
  try {
    const id = await addNewsletter(file)
    withFastHandle(file, (db) => {
      const { added } = insertMessages(db, id, count)
      if (added < count) throw new Error(`only ${added} contacts get the newsletter`)
      db.prepare(`update mailkeep_newsletter set status = 'sending', is_prepared = 1, recipients = ?`).run(
        BigInt(added),
      )
    })
    return await use(file)
  } finally {
    await discard(file)
  }
}

function addNewsletter(file: string): Promise<number> {
  return withMailkeep(file, async (mailkeep) => {
    const acme = mailkeep.forClient(clientId)
    const identity = await acme.identities.add({ email: 'news@acme.example', name: 'Acme', status: 'verified' })
    const content = { subject: 'News', html: newsletterHtml }
    return (await acme.newsletters.create({ name: 'News', from_identity_id: identity.id, ...content })).id
  })
}

/** Inserts one message for each subscribed contact after `after`, up to `limit`. */
function insertMessages(db: Database.Database, newsletterId: number, limit: number, after = 0) {
  const contacts = db.prepare(
    'select id from mailkeep_contact where unsubscribed_at is null and id > ? order by id limit ?',
  )
  const insert = db.prepare(`insert into mailkeep_message
    (client_id, uuid, created_at, contact_id, newsletter_id, status, attempts, due_at) values (?, ?, ?, ?, ?, 'pending', 0, ?)`)
  const now = timestampNow()
  const ids = contacts.pluck().all(after, BigInt(limit)) as number[]
  for (const id of ids) insert.run(BigInt(clientId), randomUUID(), now, BigInt(id), BigInt(newsletterId), now)
  return { added: ids.length, lastId: ids.at(-1) }
}

function timestampNow(): string {
  return new Date().toISOString().replace('Z', '000Z')
}

const longestMs = 100

/** Compares the preparation of a newsletter with bare inserts of the same messages, while contacts are saved. */
export const mailPrepare: Figure = async (bench) => {
  const prepared = await prepare(bench)
  const barePerSecond = await prepareBare(bench)
  const ratio = prepared.perSecond / barePerSecond
  const half = Math.floor(prepared.samples.length / 2)
  const [early, late] = [median(prepared.samples.slice(0, half)), median(prepared.samples.slice(half))]
  return [
    {
      name: 'mail-prepare',
      figure: `${thousands(prepared.perSecond)}/s`,
      ceiling: `${thousands(barePerSecond)}/s`,
      ratio,
      target: atLeast(ratio, 0.5),
      details: { prepared, barePerSecond },
    },
    {
      name: 'mail-prepare: longest save',
      figure: `${short(prepared.longestMs)} ms`,
      target: atMost(prepared.longestMs, longestMs, ' ms'),
    },
    {
      name: 'mail-prepare: memory',
      figure: `${short(early)} → ${short(late)} MB`,
      ratio: late / early,
      target: atMost(late / early, 1.1),
    },
  ]
}

interface Prepared {
  readonly perSecond: number
  readonly longestMs: number
  /** Resident memory in MB after each save. */
  readonly samples: readonly number[]
}

async function prepare(bench: Bench): Promise<Prepared> {
  const file = await scratch(bench.folder, largest(bench))
  const id = await addNewsletter(file)
  const reader = new Database(file, { readonly: true })
  try {
    return await withSender(file, async (mailkeep) => {
      const acme = mailkeep.forClient(clientId)
      const startedMs = performance.now()
      await acme.newsletters.send(id)
      await acme.newsletters.pause(id) // so that only the preparation is measured
      mailkeep.start()
      const isPrepared = reader.prepare('select is_prepared from mailkeep_newsletter').pluck()
      const samples = []
      let longest = 0
      for (let n = 0; isPrepared.get() !== 1; n++) {
        const savedMs = performance.now()
        await acme.contacts.upsert({ email: `saved${n % 100}@example.org`, name: `Name ${n}` })
        longest = Math.max(longest, performance.now() - savedMs)
        samples.push(process.memoryUsage.rss() / 2 ** 20)
        await delay(20)
      }
      const seconds = (performance.now() - startedMs) / 1000
      const { counts } = await acme.newsletters.get(id)
      return { perSecond: counts.recipients / seconds, longestMs: longest, samples }
    })
  } finally {
    reader.close()
    await discard(file)
  }
}

/** Inserts 500 messages a transaction, each durable. @returns Messages per second. */
async function prepareBare(bench: Bench): Promise<number> {
  const file = await scratch(bench.folder, largest(bench))
  const db = new Database(file)
  try {
    db.pragma('synchronous = full')
    const startedMs = performance.now()
    let count = 0
    const batch = db.transaction((after: number) => {
      const { added, lastId } = insertMessages(db, 1, 500, after)
      count += added
      return lastId
    })
    for (let lastId: number | undefined = 0; lastId !== undefined; ) lastId = batch(lastId)
    return count / ((performance.now() - startedMs) / 1000)
  } finally {
    db.close()
    await discard(file)
  }
}

const stepCount = 100_000

/** Measures how long the first message takes when a step is due for many contacts. */
export const mailSteps: Figure = async (bench) => {
  const file = await scratch(bench.folder, bench.sizes.find((size) => size >= stepCount) ?? largest(bench))
  try {
    await addEnrolments(file)
    let firstMs = Number.NaN
    let handOver = () => {}
    const first = new Promise<void>((resolve) => {
      handOver = resolve
    })
    await withSender(
      file,
      async (mailkeep) => {
        const startedMs = performance.now()
        mailkeep.start()
        await first
        firstMs = performance.now() - startedMs
      },
      () => handOver(),
    )
    return [{ name: 'mail-steps', figure: `${thousands(firstMs)} ms`, target: atMost(firstMs, 2000, ' ms') }]
  } finally {
    await discard(file)
  }
}

async function addEnrolments(file: string): Promise<void> {
  const sequenceId = await withMailkeep(file, async (mailkeep) => {
    const acme = mailkeep.forClient(clientId)
    const identity = await acme.identities.add({ email: 'news@acme.example', name: 'Acme', status: 'verified' })
    const sequence = await acme.sequences.create({ name: 'Welcome', from_identity_id: identity.id, list_id: 1 })
    await acme.sequences.setSteps(sequence.id, {
      steps: [{ delay_seconds: 0, subject: 'Hello', html: newsletterHtml }],
    })
    return sequence.id
  })
  withFastHandle(file, (db) => {
    const now = timestampNow()
    db.prepare(`insert into mailkeep_enrolment (client_id, sequence_id, contact_id, status, list_version, since, due_at, created_at)
      select client_id, ?, id, 'active', null, ?, ?, ? from mailkeep_contact where unsubscribed_at is null limit ?`).run(
      BigInt(sequenceId),
      now,
      now,
      now,
      BigInt(stepCount),
    )
  })
}

/** Opens a mailkeep in this process whose transport sends nothing. */
async function withSender<T>(file: string, use: (mailkeep: Mailkeep) => Promise<T>, onSend = () => {}): Promise<T> {
  const transport: MailTransport = {
    async send() {
      onSend()
      return { kind: 'sent' }
    },
  }
  await using mailkeep = await createMailkeep({
    database: sqlite(file),
    encryptionKey,
    publicUrl: 'https://mail.example.com',
    mail: { transport, allowUnverified: true },
  })
  return await use(mailkeep)
}
