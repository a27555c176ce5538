/** Mail benchmarks: messages per second, the preparation of a newsletter, and the start of many steps. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import { Child } from './children.ts'
import { atLeast, type Bench, type Figure, interleave, ratioOf, smallest, thousands } from './harness.ts'
import { newsletterHtml } from './mail-content.ts'
import type { MailReceipts } from './mail-receive.ts'
import { clientId } from './population.ts'
import { discard, scratch, withFastHandle, withMailkeep } from './seed.ts'
import { median } from './summary.ts'

const senderCore = 0
const serverCore = 1

/** Compares newsletters whose outcomes are stored with nodemailer's bare pool, with as many connections. */
export const mail: Figure = async (bench) => {
  await using server = new Child(serverCore, [process.execPath, join(bench.folder, 'mail-receive.cjs')])
  const { port } = await server.answer<{ port: number }>()
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
async function withNewsletter<T>(bench: Bench, count: number, use: (file: string) => Promise<T>): Promise<T> {
  const file = await scratch(bench.folder, smallest(bench))
  try {
    const id = await addNewsletter(file)
    withFastHandle(file, (db) => {
      const added = insertMessages(db, id, count)
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

/** @returns The number of messages: one for each subscribed contact, up to `limit`. */
function insertMessages(db: Database.Database, newsletterId: number, limit: number): number {
  const contacts = db.prepare('select id from mailkeep_contact where unsubscribed_at is null order by id limit ?')
  const insert = db.prepare(`insert into mailkeep_message
    (client_id, uuid, created_at, contact_id, newsletter_id, status, attempts, due_at) values (?, ?, ?, ?, ?, 'pending', 0, ?)`)
  const now = new Date().toISOString().replace('Z', '000Z')
  const ids = contacts.pluck().all(BigInt(limit)) as number[]
  for (const id of ids) insert.run(BigInt(clientId), randomUUID(), now, BigInt(id), BigInt(newsletterId), now)
  return ids.length
}
