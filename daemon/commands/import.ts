import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import type { Format, ImportReport } from '../../lib/index.ts'
import { CliError, fieldMessage, reasonOf } from '../cli-error.ts'
import { plural } from '../progress.ts'
import {
  type Command,
  findOwner,
  formatFlag,
  formatFrom,
  type Invocation,
  idFrom,
  table,
  withMailkeep,
} from './command.ts'

const standardInput = '-'

export const importCommand: Command = {
  usage: 'import FILE',
  about: 'Add the contacts of a CSV or NDJSON file to a list; - reads standard input; importing again changes nothing',
  examples: { FILE: 'people.csv' },
  flags: [
    { name: 'list', value: 'ID', about: 'Id of the list, as list list shows it', required: true, example: '1' },
    { ...formatFlag, default: "by the file's name: .csv, .ndjson or .jsonl" },
    { name: 'allow-refused', about: 'Exit with 0 although rows were refused; without it that is 2' },
  ],
  run: async (invocation) => {
    const [file = ''] = invocation.args
    const { flags, print } = invocation
    const listId = idFrom('--list', flags.list)
    const format = formatFrom(flags.format) ?? formatOfName(file)
    const source = await openSource(file, invocation)
    const report = await withMailkeep(invocation, (mailkeep) => load(mailkeep, listId, source, format, invocation))
    print({ json: report, text: textOf(report) })
    if (report.refused === 0 || flags['allow-refused'] !== undefined) return
    const refused = `${plural(report.refused, 'row')} of ${plural(report.total, 'row')}`
    throw new CliError(`${refused} ${report.refused === 1 ? 'was' : 'were'} refused (--allow-refused exits with 0).`, 2)
  },
}

function formatOfName(file: string): Format {
  if (file === standardInput) throw new CliError('import - needs --format csv or --format ndjson.', 2)
  const extension = extname(file).toLowerCase()
  if (extension === '.csv') return 'csv'
  if (/^\.(?:ndjson|jsonl)$/.test(extension)) return 'ndjson'
  throw new CliError(`Is ${basename(file)} CSV or NDJSON? Its name does not say: use --format.`, 2)
}

/** The file to import. */
interface Source {
  readonly name: string
  readonly chunks: AsyncIterable<Uint8Array>
  /** Undefined when the size is unknown. */
  readonly sizeBytes: number | undefined
}

async function openSource(file: string, { input }: Invocation): Promise<Source> {
  if (file === standardInput && input) return { name: 'standard input', chunks: input, sizeBytes: undefined }
  try {
    const found = await stat(file)
    if (found.isDirectory()) throw new CliError(`${file} is a directory.`)
    const sizeBytes = found.isFile() ? found.size : undefined
    return { name: basename(file), chunks: createReadStream(file), sizeBytes }
  } catch (error) {
    throw error instanceof CliError ? error : new CliError(`${file} cannot be read: ${reasonOf(error)}.`)
  }
}

async function load(
  mailkeep: Parameters<typeof findOwner>[0],
  listId: number,
  { name, chunks, sizeBytes }: Source,
  format: Format,
  { progress }: Invocation,
): Promise<ImportReport> {
  const owner = await findOwner(mailkeep, (client) => client.lists.get(listId))
  if (!owner) throw new CliError(`There is no list ${listId}.`)
  let readBytes = 0
  const counted = async function* () {
    for await (const chunk of chunks) {
      readBytes += chunk.length
      yield chunk
    }
  }
  const onProgress = ({ total }: { readonly total: number }) => {
    const part = sizeBytes === undefined || sizeBytes === 0 ? undefined : readBytes / sizeBytes
    progress?.show({ what: name, done: total, unit: 'row', part })
  }
  try {
    return await owner.client.contacts.import(listId, counted(), { format, onProgress })
  } finally {
    progress?.clear()
  }
}

/** Maximum refused rows in the text output. The JSON output has more. */
const maxShownRows = 20

function textOf({ total, created, updated, refused, refused_rows }: ImportReport): string {
  const shown = refused_rows.slice(0, maxShownRows).flatMap(({ line, errors }) => {
    return Object.entries(errors).map(([field, messages]) => `line ${line}: ${fieldMessage(field, messages)}`)
  })
  const more = refused > maxShownRows ? [`… and ${plural(refused - maxShownRows, 'row')} more: see --json`] : []
  const [fresh, there, no] = [created, updated, refused].map((count) => count.toLocaleString('en'))
  // Column names could contain terminal escape sequences, which `table` replaces.
  const lines = [...shown, ...more].map((line) => table([[line]], ''))
  return [`${plural(total, 'row')}: ${fresh} new, ${there} there before, ${no} refused`, ...lines].join('\n')
}
