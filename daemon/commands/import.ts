import { createReadStream, fstatSync, type Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import type { ClientMailkeep, Format, ImportInput, ImportReport, Mailkeep } from '../../lib/index.ts'
import { CliError, fieldMessage, reasonOf } from '../cli-error.ts'
import { isDatabaseFile, isSameFile } from '../database-setting.ts'
import { plural } from '../progress.ts'
import {
  type Command,
  clientFlag,
  findOwner,
  formatFlag,
  formatFrom,
  type Invocation,
  idFrom,
  table,
  withMailkeep,
} from './command.ts'
import { openRefusedFile } from './refused-file.ts'

const standardInput = '-'

export const importCommand: Command = {
  usage: 'import FILE',
  about: 'Add the contacts of a CSV or NDJSON file to a list; - reads standard input; importing again changes nothing',
  examples: { FILE: 'people.csv --list 1' },
  flags: [
    {
      name: 'list',
      value: 'ID',
      about: 'Id of the list, as list list shows it',
      example: '1',
      default: 'none; then --client',
    },
    {
      ...clientFlag,
      required: false,
      about: 'Instead of --list: only the lists and topics that an export names',
      default: "the list's client",
    },
    { ...formatFlag, default: "by the file's name: .csv, .ndjson or .jsonl; csv for standard input" },
    {
      name: 'map',
      value: 'FIELD=COLUMN',
      about: 'Map a column to a field; repeat the flag for more',
      default: 'the usual names, also of Mailchimp, Brevo, listmonk and Mailcoach',
      example: 'email="Email Address"',
      repeats: true,
    },
    {
      name: 'mode',
      value: 'merge|skip|replace_tags',
      about: 'What becomes of contacts that exist: skip leaves them as they are',
      example: 'skip',
      default: 'merge',
    },
    {
      name: 'status',
      value: 'unsubscribed',
      about: 'Everybody in the file has unsubscribed',
      default: 'as the file says',
      example: 'unsubscribed',
    },
    { name: 'confirmed', about: 'Everybody in the file has confirmed elsewhere: skip double opt-in' },
    { name: 'dry-run', about: 'Check every row and store nothing' },
    {
      name: 'refused',
      value: 'FILE',
      about: 'Write the refused rows with their reasons to this file',
      default: 'none',
      example: 'refused.csv',
    },
    { name: 'allow-refused', about: 'Exit with 0 although rows were refused; without it that is 2' },
  ],
  run: async (invocation) => {
    const [file = ''] = invocation.args
    const { flags, print } = invocation
    // First, because a misspelt name must not lead to a question about the format.
    const source = await findSource(file, invocation)
    const format = formatFrom(flags.format) ?? formatOfName(file)
    const options = optionsFrom(flags, format)
    if (flags.list === undefined && flags.client === undefined) {
      throw new CliError('import needs --list, or --client to use the lists that an export names.', 2)
    }
    if (flags.list !== undefined && flags.client !== undefined)
      throw new CliError('Use --list or --client, not both.', 2)
    const ids = {
      list: flags.list === undefined ? null : idFrom('--list', flags.list),
      client: flags.client === undefined ? undefined : idFrom('--client', flags.client),
    }
    if (flags.refused !== undefined) await refuseToOverwrite(flags.refused, source, invocation)
    const report = await withMailkeep(invocation, async (mailkeep) => {
      const client = await clientOf(mailkeep, ids)
      return await load(client, ids.list, source, options, invocation)
    })
    print({ json: report, text: textOf(report) })
    if (report.refused === 0 || flags['allow-refused'] !== undefined) return
    const refused = `${plural(report.refused, 'row')} of ${plural(report.total, 'row')}`
    throw new CliError(`${refused} ${report.refused === 1 ? 'was' : 'were'} refused (--allow-refused exits with 0).`, 2)
  },
}

async function refuseToOverwrite(path: string, { stats }: Source, { config }: Invocation): Promise<void> {
  if (stats && (await isSameFile(path, stats))) throw new CliError('--refused must not be the imported file.', 2)
  if (await isDatabaseFile(path, config.database)) {
    throw new CliError('--refused must not be the database or a file of it: use another name.', 2)
  }
}

/** @throws CliError A flag has a wrong value. The library checks the columns. */
function optionsFrom(flags: Invocation['flags'], format: Format): ImportInput {
  const { mode, status } = flags
  if (mode !== undefined && mode !== 'merge' && mode !== 'skip' && mode !== 'replace_tags') {
    throw new CliError('--mode must be merge, skip or replace_tags.', 2)
  }
  if (status !== undefined && status !== 'unsubscribed') throw new CliError('--status must be unsubscribed.', 2)
  const [confirmed, dry_run] = [flags.confirmed !== undefined, flags['dry-run'] !== undefined]
  return { format, map: mapFrom(flags.map), mode, status, confirmed, dry_run }
}

function mapFrom(text: string | undefined): Record<string, string> {
  const pairs = (text?.split('\0') ?? []).map((pair) => {
    const [, field, column] = /^([^=]+)=(.+)$/s.exec(pair) ?? []
    if (field === undefined) throw new CliError('--map must be FIELD=COLUMN, such as email="Email Address".', 2)
    return [field, column!] as const
  })
  const twice = pairs.find(([field], at) => pairs.findIndex(([other]) => other === field) < at)
  if (twice) throw new CliError(`--map names two columns for ${twice[0]}.`, 2)
  return Object.fromEntries(pairs)
}

async function clientOf(
  mailkeep: Mailkeep,
  { list, client }: { readonly list: number | null; readonly client: number | undefined },
): Promise<ClientMailkeep> {
  if (client !== undefined) {
    await mailkeep.clients.get(client)
    return mailkeep.forClient(client)
  }
  return (await findOwner(mailkeep, `list ${list}`, ({ lists }) => lists.get(list!))).client
}

function formatOfName(file: string): Format {
  if (file === standardInput) return 'csv'
  const extension = extname(file).toLowerCase()
  if (extension === '.csv') return 'csv'
  if (/^\.(?:ndjson|jsonl)$/.test(extension)) return 'ndjson'
  throw new CliError(`Is ${basename(file)} CSV or NDJSON? Its name does not say: use --format.`, 2)
}

/** The file to import. */
interface Source {
  readonly name: string
  readonly open: () => AsyncIterable<Uint8Array>
  /** Undefined for a standard input that is closed. */
  readonly stats: Stats | undefined
}

async function findSource(file: string, { input }: Invocation): Promise<Source> {
  if (file === standardInput && input) return { name: 'standard input', open: () => input, stats: statOfInput() }
  try {
    const found = await stat(file)
    if (found.isDirectory()) throw new CliError(`${file} is a directory.`)
    return { name: basename(file), open: () => createReadStream(file), stats: found }
  } catch (error) {
    throw error instanceof CliError ? error : new CliError(`${file} cannot be read: ${reasonOf(error)}.`)
  }
}

/** Returns the status of the file that a shell opens for `import - < FILE`. */
function statOfInput(): Stats | undefined {
  try {
    return fstatSync(0)
  } catch {
    return undefined
  }
}

async function load(
  client: ClientMailkeep,
  listId: number | null,
  { name, open, stats }: Source,
  options: ImportInput,
  { progress, flags }: Invocation,
): Promise<ImportReport> {
  const refused = flags.refused === undefined ? undefined : await openRefusedFile(flags.refused, options.format)
  let readBytes = 0
  const counted = async function* () {
    for await (const chunk of open()) {
      readBytes += chunk.length
      yield chunk
    }
  }
  const onProgress = ({ total }: { readonly total: number }) => {
    const part = stats?.isFile() && stats.size > 0 ? readBytes / stats.size : undefined
    progress?.show({ what: name, done: total, unit: 'row', part })
  }
  try {
    const onResults = refused && { onResults: refused.write }
    return await client.contacts.import(listId, counted(), { ...options, onProgress, ...onResults })
  } finally {
    progress?.clear()
    await refused?.close()
  }
}

/** Maximum refused rows in the text output. The JSON output has more. */
const maxShownRows = 20

function textOf({ total, created, updated, skipped, refused, dry_run, refused_rows }: ImportReport): string {
  const shown = refused_rows.slice(0, maxShownRows).flatMap(({ line, errors }) => {
    return Object.entries(errors).map(([field, messages]) => `line ${line}: ${fieldMessage(field, messages)}`)
  })
  const more = refused > maxShownRows ? [`… and ${plural(refused - maxShownRows, 'row')} more: see --json`] : []
  const [fresh, there, no] = [created, updated, refused].map((count) => count.toLocaleString('en'))
  // Column names could contain terminal escape sequences, which `table` replaces.
  const lines = [...shown, ...more].map((line) => table([[line]], ''))
  const left = skipped === undefined ? '' : `, ${skipped.toLocaleString('en')} skipped`
  const dry = dry_run ? 'Dry run, nothing was stored: ' : ''
  const summary = `${dry}${plural(total, 'row')}: ${fresh} new, ${there} there before${left}, ${no} refused`
  return [summary, ...lines].join('\n')
}
