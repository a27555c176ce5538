import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { type ClientMailkeep, type Format, type ImportReport, isMailkeepError, type Mailkeep } from '../../lib/index.ts'
import { Complaint } from '../complaint.ts'
import type { Progress } from '../progress.ts'
import { type Command, formatFlag, formatFrom, idFrom, withMailkeep } from './command.ts'

export const importCommand: Command = {
  usage: 'import <file>',
  about: 'Put the contacts of a CSV or NDJSON file on a list; importing it again changes nothing',
  flags: [{ name: 'list', about: 'ID of the list', required: true }, formatFlag],
  run: async (invocation) => {
    const [file = ''] = invocation.args
    const { flags, progress, print } = invocation
    const listId = idFrom('--list', flags.list)
    const format = formatFrom(flags.format) ?? formatOfName(file)
    const { size } = await stat(file)
    const report = await withMailkeep(invocation, async (mailkeep) => {
      const client = await clientOfList(mailkeep, listId)
      try {
        return await client.contacts.import(listId, watched(file, size, progress), { format })
      } finally {
        progress?.clear()
      }
    })
    print({ json: report, text: textOf(report) })
  },
}

function formatOfName(file: string): Format {
  const extension = extname(file).toLowerCase()
  if (extension === '.csv') return 'csv'
  if (/^\.(?:ndjson|jsonl)$/.test(extension)) return 'ndjson'
  throw new Complaint(`Is ${basename(file)} CSV or NDJSON? Its name does not tell: use --format.`, 2)
}

/** Lists have ids of their own among all clients. */
async function clientOfList(mailkeep: Mailkeep, listId: number): Promise<ClientMailkeep> {
  for (const { id } of await mailkeep.clients.list()) {
    const client = mailkeep.forClient(id)
    const list = await client.lists.get(listId).catch((error: unknown) => {
      if (!isMailkeepError(error, 'not_found')) throw error
    })
    if (list) return client
  }
  throw new Complaint(`There is no list ${listId}.`)
}

async function* watched(file: string, size: number, progress: Progress | undefined): AsyncGenerator<Uint8Array> {
  let done = 0
  for await (const chunk of createReadStream(file)) {
    yield chunk
    done += chunk.length
    progress?.show(done, Math.max(size, done), basename(file), 'bytes')
  }
}

/** To people: of a thousand rows with the same mistake the first ones will do. */
const mostShown = 20

function textOf({ total, created, updated, refused, refused_rows }: ImportReport): string {
  const shown = refused_rows.slice(0, mostShown).flatMap(({ line, errors }) => {
    return Object.entries(errors).map(([field, messages]) => `line ${line}: ${field}: ${messages.join(' ')}`)
  })
  const more = refused > mostShown ? [`… and ${(refused - mostShown).toLocaleString('en')} rows more: see --json`] : []
  const [all, fresh, there, no] = [total, created, updated, refused].map((count) => count.toLocaleString('en'))
  // Names of columns may hold anything: what would steer a terminal is not printed.
  const lines = [...shown, ...more].map((line) => line.replace(/\p{C}/gu, '?'))
  return [`${all} rows: ${fresh} new, ${there} there before, ${no} refused`, ...lines].join('\n')
}
