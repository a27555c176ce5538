import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClientMailkeep, Format } from '../../lib/index.ts'
import { CliError, reasonOf } from '../cli-error.ts'
import type { Progress } from '../progress.ts'
import { type Command, clientFlag, formatFlag, formatFrom, type Invocation, withClient } from './command.ts'

export const exportCommand: Command = {
  usage: 'export',
  about: 'Write all contacts of a client to standard output, unsubscribed ones too; --json writes one array',
  flags: [
    clientFlag,
    { ...formatFlag, default: 'ndjson' },
    { name: 'raw', about: 'CSV: leave cells that look like formulas as they are; without it they get an apostrophe' },
  ],
  run: (invocation) => {
    const { json, flags } = invocation
    const format = formatFrom(flags.format) ?? 'ndjson'
    return withClient(invocation, (client) => write(invocation, client, json ? 'array' : format))
  },
}

/** Output format: a file format, or one JSON array for `--json`. */
type OutputFormat = Format | 'array'

async function write(
  { output, progress, flags }: Invocation,
  { contacts }: ClientMailkeep,
  form: OutputFormat,
): Promise<void> {
  const format = form === 'array' ? 'ndjson' : form
  const pieces = contacts.export({ format, include_unsubscribed: true, raw: flags.raw !== undefined })
  const watched = progress ? withProgress(pieces, await contacts.count(), progress) : pieces
  const text = form === 'array' ? arrayOf(watched) : watched
  try {
    await pipeline(Readable.from(text, { highWaterMark: 1 }), output, { end: false })
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    // The reader closed the pipe early (`| head`). That is not an error.
    if (code === 'EPIPE') return
    if (syscall === 'write') throw new CliError(`The output cannot be written: ${reasonOf(error)}.`)
    throw error
  } finally {
    progress?.clear()
  }
}

async function* withProgress(pieces: AsyncIterable<string>, total: number, progress: Progress): AsyncGenerator<string> {
  let done = 0
  for await (const piece of pieces) {
    yield piece
    done = Math.min(done + countLines(piece), total)
    progress.show({ what: 'exporting', done, total, unit: 'contact' })
  }
}

/** Counts lines as an estimate of the contacts in a piece. A CSV cell may contain line breaks. */
function countLines(piece: string): number {
  let count = 0
  for (let at = piece.indexOf('\n'); at >= 0; at = piece.indexOf('\n', at + 1)) count++
  return count
}

/** Joins NDJSON lines into one JSON array of any size. */
async function* arrayOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let before = '['
  for await (const piece of pieces) {
    if (piece === '') continue
    yield before + piece.trimEnd().replaceAll('\n', ',')
    before = ','
  }
  yield before === '[' ? '[]\n' : ']\n'
}
