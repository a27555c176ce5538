import { setTimeout as wait } from 'node:timers/promises'
import type { ClientMailkeep, Mailkeep, Newsletter } from '../../lib/index.ts'
import { inMemory, isServer } from '../database-setting.ts'
import { loadSqlite } from '../drivers.ts'
import { sqliteOptions } from '../open.ts'
import { type ProgressReport, plural } from '../progress.ts'
import { type Command, findOwner, type Invocation, idFrom, naming, withMailkeep } from './command.ts'

const pollIntervalMs = 200

const sendNewsletter: Command = {
  usage: 'newsletter send ID',
  about: 'Send a newsletter, and show the progress until all its messages are final',
  examples: { ID: '1' },
  flags: [
    {
      name: 'at',
      value: 'TIME',
      about: 'Schedule it instead, as in 2026-01-02T03:04:05Z',
      example: '2027-01-02T03:04:05Z',
      default: 'now',
    },
  ],
  notes: [
    'If it is stopped, it finishes the messages under way. A daemon on the same database continues.',
    'With the folder transport and a daemon on the same SQLite file, the daemon sends all messages, with its own transport. The command waits for it.',
    'With --at, a daemon with a mail transport sends it at that time.',
  ],
  endsWhenStopped: true,
  run: async (invocation) => {
    const id = idFrom('ID', invocation.args[0])
    const newsletter = await withMailkeep(invocation, (mailkeep) => send(mailkeep, id, invocation), { works: true })
    invocation.print({ json: newsletter, text: textOf(newsletter) })
  },
}

export const newsletterCommands: readonly Command[] = [sendNewsletter]

async function send(mailkeep: Mailkeep, id: number, invocation: Invocation): Promise<Newsletter> {
  const { client } = await findOwner(mailkeep, `newsletter ${id}`, ({ newsletters }) => newsletters.get(id))
  const { at } = invocation.flags
  const started = await naming({ at: '--at' }, () => client.newsletters.send(id, { at }))
  if (started.status === 'scheduled') return started
  return await sendUntilFinal(mailkeep, client, started, invocation)
}

/** Without settings of mail, mails are files. A daemon on the same database may have a mail server, so it sends all of them. */
async function isLeftToDaemon({ config: { database, mail } }: Invocation): Promise<boolean> {
  if (mail.transport.kind !== 'folder' || isServer(database) || database === inMemory) return false
  const { hasSender } = await loadSqlite()
  return hasSender(database, sqliteOptions())
}

async function sendUntilFinal(
  mailkeep: Mailkeep,
  client: ClientMailkeep,
  started: Newsletter,
  invocation: Invocation,
): Promise<Newsletter> {
  const { progress, stopped } = invocation
  let isSending = false
  let isStopped = false
  const stop = stopped.then(() => {
    isStopped = true
  })
  try {
    for (let newsletter = started; ; newsletter = await client.newsletters.get(started.id)) {
      // A daemon that was there may have ended.
      if (!isSending && !(await isLeftToDaemon(invocation))) {
        mailkeep.start()
        isSending = true
      }
      progress?.show(progressOf(newsletter, isSending))
      if (newsletter.status !== 'sending' || isStopped) return newsletter
      await Promise.race([wait(pollIntervalMs), stop])
    }
  } finally {
    progress?.clear()
  }
}

/**
 * Returns what the progress bar shows. Only the progress of a daemon shows that it has a transport. Until then there is no
 * bar, and the name comes last, because the hint must fit into a terminal of 80 columns.
 *
 * @param isSending Whether this process sends. Otherwise a daemon does.
 */
export function progressOf({ name, counts }: Pick<Newsletter, 'name' | 'counts'>, isSending: boolean): ProgressReport {
  const { recipients, pending } = counts
  const report = { done: recipients - pending, unit: 'message' }
  if (isSending) return { ...report, what: name, total: recipients }
  if (pending < recipients) return { ...report, what: `sent by the daemon: ${name}`, total: recipients }
  return { ...report, what: `waits until the daemon sends it: it needs a mail transport: ${name}` }
}

function textOf({ id, status, scheduled_at, counts }: Newsletter): string {
  if (status === 'scheduled') return `newsletter ${id} is scheduled at ${scheduled_at}`
  const { recipients, sent, failed, skipped, uncertain, pending } = counts
  const parts = { sent, failed, skipped, uncertain, pending }
  const shown = Object.entries(parts).filter(([name, count]) => count > 0 || name === 'sent')
  const figures = shown.map(([name, count]) => `${count.toLocaleString('en')} ${name}`)
  return `newsletter ${id} is ${status}: ${plural(recipients, 'recipient')}, ${figures.join(', ')}`
}
