/**
 * The API in a Next.js app: this file is `app/api/v1/[...path]/route.ts`.
 *
 * In next.config: `serverExternalPackages: ['mailkeep', 'better-sqlite3']`, since a native driver cannot be bundled.
 * On serverless, requests only write: there use mailkeep/postgres, call no `start()`, and deliver elsewhere, by the
 * daemon (`npx mailkeep`) on the same database or by a scheduled route that awaits `mailkeep.deliverDue()`.
 */
import { createMailkeep, type Mailkeep } from 'mailkeep'
import { createFetchHandler, type FetchHandler } from 'mailkeep/http'
import { sqlite } from 'mailkeep/sqlite'

export const runtime = 'nodejs' // not the edge: it has no files and no sockets
export const dynamic = 'force-dynamic'

/** One instance, however often hot reload runs this file anew. */
const kept = globalThis as typeof globalThis & { mailkeep?: Promise<Mailkeep> }

function open(): Promise<Mailkeep> {
  kept.mailkeep ??= createMailkeep({
    database: sqlite(process.env.MAIL_DATABASE ?? 'mail.db'),
    encryptionKey: process.env.MAIL_KEY ?? '', // openssl rand -base64 32
  }).then((mailkeep) => {
    if (!process.env.VERCEL) mailkeep.start() // a process that stays delivers
    return mailkeep
  })
  kept.mailkeep.catch(() => delete kept.mailkeep) // the next request tries again
  return kept.mailkeep
}

/** Opened by the first request, not by `next build`, which imports this file. */
const handler: FetchHandler = async (request) => createFetchHandler({ mailkeep: await open() })(request)

export { handler as DELETE, handler as GET, handler as PATCH, handler as POST, handler as PUT }
