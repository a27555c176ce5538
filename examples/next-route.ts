/**
 * The API in a Next.js app: this file is `app/api/v1/[...path]/route.ts`.
 *
 * A native driver cannot be bundled. So set `serverExternalPackages: ['mailkeep', 'better-sqlite3']` in next.config.
 *
 * On serverless platforms use mailkeep/postgres and do not call `start()`: requests then only write. Deliver the webhooks
 * with the daemon (`npx mailkeep`) on the same database, or with a scheduled route that awaits `mailkeep.deliverDue()`.
 */
import { createMailkeep, type Mailkeep } from 'mailkeep'
import { createFetchHandler, type FetchHandler } from 'mailkeep/http'
import { sqlite } from 'mailkeep/sqlite'

export const runtime = 'nodejs' // the edge runtime has no files and no sockets
export const dynamic = 'force-dynamic'

/** Keeps one instance when hot reload runs this file again. */
const cached = globalThis as typeof globalThis & { mailkeep?: Promise<Mailkeep> }

function open(): Promise<Mailkeep> {
  cached.mailkeep ??= createMailkeep({
    database: sqlite(process.env.MAIL_DATABASE ?? 'mail.db'),
    encryptionKey: process.env.MAIL_KEY ?? '', // openssl rand -base64 32
  }).then((mailkeep) => {
    if (!process.env.VERCEL) mailkeep.start() // long-running processes deliver webhooks
    return mailkeep
  })
  cached.mailkeep.catch(() => delete cached.mailkeep) // the next request tries again
  return cached.mailkeep
}

/** Opens the database at the first request, because `next build` also imports this file. */
const handler: FetchHandler = async (request) => createFetchHandler({ mailkeep: await open() })(request)

export { handler as DELETE, handler as GET, handler as PATCH, handler as POST, handler as PUT }
