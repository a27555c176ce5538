import {
  type ClientMailkeep,
  type Format,
  inputLimits,
  isMailkeepError,
  type Logger,
  type Mailkeep,
  type Page,
} from '../../lib/index.ts'
import { CliError, fieldMessage } from '../cli-error.ts'
import type { Config } from '../config.ts'
import { openMailkeep } from '../open.ts'
import type { Fork } from '../processes/process-group.ts'
import type { WorkerProcess } from '../processes/worker.ts'
import { type Progress, terminalText } from '../progress.ts'

/** Prints a command's result: text for people, or one JSON value for programs. */
export type Print = (result: { readonly json: unknown; readonly text: string }) => void

/** Arguments and environment of one command run. */
export interface Invocation {
  readonly args: readonly string[]
  /** The command's flags other than settings, already checked for exactly one value. */
  readonly flags: Readonly<Record<string, string>>
  readonly config: Config
  readonly logger: Logger
  readonly print: Print
  /** Output stream of commands whose result is too large for memory. */
  readonly output: NodeJS.WritableStream
  /** Whether the output must be JSON. */
  readonly json: boolean
  /** Standard input, for commands that can read a file from it. */
  readonly input?: AsyncIterable<Uint8Array>
  /** Shows progress: a bar on a terminal, otherwise a line every ten seconds. */
  readonly progress?: Progress | undefined
  /** Whether the output is a terminal, so that a person reads it. */
  readonly terminal: boolean
  /** File descriptor of a listening socket inherited from systemd. */
  readonly listenFd?: number | undefined
  /** Resolves when the process receives a stop signal, if the command is long-running or ends when it is stopped. */
  readonly stopped: Promise<void>
  /** Set in one of several processes that serve together. */
  readonly worker?: WorkerProcess | undefined
  /** Starts the program again, as one of several processes that serve together. */
  readonly fork?: Fork
  /** Calls the function when this process exits. */
  readonly onExit?: (listener: () => void) => void
}

export interface Flag {
  readonly name: string
  /** Placeholder for the value, such as `ID`. A flag without it is a switch. */
  readonly value?: string
  /** Meaning, with the unit. */
  readonly about: string
  readonly required?: boolean
  /** May be given several times. The values are separated by NUL characters, which no argument has. */
  readonly repeats?: boolean
  readonly default?: string
  readonly example?: string
}

/** A command, described as data. */
export interface Command {
  /** The command's words, then its arguments in capitals: `client create NAME`. */
  readonly usage: string
  readonly about: string
  /** Argument values for the example in `--help`. */
  readonly examples?: Readonly<Record<string, string>>
  readonly flags?: readonly Flag[]
  /** Notes at the end of `--help`. */
  readonly notes?: readonly string[]
  /** Whether the command runs until it is stopped. Such a command takes every setting as a flag. */
  readonly longRunning?: boolean
  /** Whether a command that is not long-running ends by itself at a stop signal, as `Invocation.stopped` says. */
  readonly endsWhenStopped?: boolean
  /** Whether a command that is not long-running takes every setting as a flag. */
  readonly settings?: boolean
  readonly run: (invocation: Invocation) => Promise<void>
}

/** Returns the words of a command: `['client', 'create']`. */
export function nameOf({ usage }: Pick<Command, 'usage'>): string[] {
  return usage.split(' ').filter((word) => word !== word.toUpperCase())
}

/** Returns the arguments of a command: `['NAME']`. */
export function argumentsOf({ usage }: Pick<Command, 'usage'>): string[] {
  return usage.split(' ').filter((word) => word === word.toUpperCase())
}

/**
 * Opens the database, calls `use` and closes the database. A daemon may use it at the same time.
 *
 * @param create Whether to create a missing database, or migrate an older one. Otherwise both are errors.
 * @param works Whether the command does background work, whose errors are only logged.
 */
export async function withMailkeep<T>(
  { config, logger }: Pick<Invocation, 'config' | 'logger'>,
  use: (mailkeep: Mailkeep) => Promise<T>,
  { create = false, works = false }: { create?: boolean; works?: boolean } = {},
): Promise<T> {
  const mailkeep = await openMailkeep(config, works ? logger : withoutErrors(logger), { create })
  try {
    return await use(mailkeep)
  } finally {
    await mailkeep.close()
  }
}

/** The program prints the error of a command as one line, so the log need not have it too. */
function withoutErrors(logger: Logger): Logger {
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: () => {},
  }
}

/**
 * Opens the database for the client that `--client` names.
 *
 * @throws MailkeepError `not_found`: no such client.
 */
export function withClient<T>(invocation: Invocation, use: (client: ClientMailkeep) => Promise<T>): Promise<T> {
  const id = idFrom('--client', invocation.flags.client)
  return withMailkeep(invocation, async (mailkeep) => {
    await mailkeep.clients.get(id)
    return await use(mailkeep.forClient(id))
  })
}

/**
 * Finds the client that owns a record. Record ids are unique over all clients.
 *
 * @param record The record with its id, for the error: `contact 7`.
 * @param find Throws `not_found` when the client has no such record.
 * @throws CliError No client has it.
 */
export async function findOwner(
  mailkeep: Mailkeep,
  record: string,
  find: (client: ClientMailkeep) => Promise<unknown>,
): Promise<{ clientId: number; client: ClientMailkeep }> {
  for (const { id: clientId } of await mailkeep.clients.list()) {
    const client = mailkeep.forClient(clientId)
    try {
      await find(client)
      return { clientId, client }
    } catch (error) {
      if (!isMailkeepError(error, 'not_found')) throw error
    }
  }
  throw new CliError(`There is no ${record}.`)
}

/** Reads the first `max` records of a listing. Without `max`, all of one that is always small. */
export async function collectRecords<T>(
  list: (query: { per_page: number; cursor?: string }) => Promise<Page<T>>,
  max = Number.POSITIVE_INFINITY,
): Promise<T[]> {
  const found: T[] = []
  for (let cursor: string | null | undefined; cursor !== null && found.length < max; ) {
    const query = { per_page: inputLimits.pageRecords, ...(cursor === undefined ? {} : { cursor }) }
    const page: Page<T> = await list(query)
    found.push(...page.data)
    cursor = page.meta.next_cursor
  }
  return found.slice(0, max)
}

/**
 * Parses an id.
 *
 * @param name The argument or flag, for the message.
 * @throws CliError The text is not an id.
 */
export function idFrom(name: string, text: string | undefined): number {
  const id = /^[1-9]\d{0,15}$/.test(text ?? '') ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(id)) throw new CliError(`${name} must be an id: a positive whole number.`, 2)
  return id
}

/**
 * Parses the value of a flag that has a few known ones.
 *
 * @throws CliError The text is none of them.
 */
export function oneOf<T extends string>(flag: string, text: string, known: readonly T[]): T {
  const found = known.find((name) => name === text)
  if (found === undefined) throw new CliError(`--${flag} must be one of ${known.join(', ')}.`, 2)
  return found
}

/**
 * Runs an operation. What it says about a field is reported as wrong usage of the flag or argument with the field's value.
 *
 * @param names The flag or argument of each field, for the message: `{ since: '--since' }`.
 * @throws CliError A value breaks a rule.
 */
export async function naming<T>(names: Readonly<Record<string, string>>, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const errors = isMailkeepError(error, 'validation_failed') ? Object.entries(error.errors ?? {}) : []
    const wrong = errors.filter(([field]) => Object.hasOwn(names, field))
    if (wrong.length === 0) throw error
    throw new CliError(wrong.map(([field, messages]) => fieldMessage(names[field]!, messages)).join(' '), 2)
  }
}

export const yesFlag: Flag = {
  name: 'yes',
  about: 'Delete it; without this flag the command only reports what would be deleted, and exits with 2',
}

export const formatFlag: Flag = { name: 'format', value: 'csv|ndjson', about: 'Format of the file', example: 'csv' }

/** @throws CliError The text is not a format. */
export function formatFrom(text: string | undefined): Format | undefined {
  if (text === undefined || text === 'csv' || text === 'ndjson') return text
  throw new CliError('--format must be csv or ndjson.', 2)
}

export const clientFlag: Flag = {
  name: 'client',
  value: 'ID',
  about: 'Id of the client, as client list shows it',
  required: true,
  example: '1',
}

/** Formats rows as columns. */
export function table(rows: readonly (readonly unknown[])[], none: string): string {
  if (rows.length === 0) return none
  const cells = rows.map((row) => row.map((cell) => terminalText(String(cell ?? '-'))))
  return columns(cells)
}

/** Aligns rows of text in columns. All rows must have the same number of cells. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
