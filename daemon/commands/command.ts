import {
  type ClientMailkeep,
  type Format,
  inputLimits,
  isMailkeepError,
  type Logger,
  type Mailkeep,
  type Page,
} from '../../lib/index.ts'
import { CliError } from '../cli-error.ts'
import { columns } from '../columns.ts'
import type { Config } from '../config.ts'
import { openMailkeep } from '../open.ts'
import type { Progress } from '../progress.ts'

/** What a command says: to people as text, to programs as one JSON value. */
export type Print = (result: { readonly json: unknown; readonly text: string }) => void

/** What a command is called with. */
export interface Invocation {
  readonly args: readonly string[]
  /** The command's own flags; those given twice or without a value never come so far. */
  readonly flags: Readonly<Record<string, string>>
  readonly config: Config
  readonly logger: Logger
  readonly print: Print
  /** Where a command writes that has more to say than fits into memory; `json` says in which form. */
  readonly output: NodeJS.WritableStream
  readonly json: boolean
  /** What a command reads that takes a file from standard input. */
  readonly input?: AsyncIterable<Uint8Array>
  /** Shows how far something is: a bar on a terminal, else a line every ten seconds. */
  readonly progress?: Progress | undefined
  /** Whether a person is looking at the output. */
  readonly terminal: boolean
  /** A listening socket that whoever started us holds for us. */
  readonly listenFd?: number | undefined
  /** Settles when the process is asked to stop. */
  readonly stopped: Promise<void>
}

export interface Flag {
  readonly name: string
  /** Placeholder of its value, such as `ID`; a flag without one is a switch. */
  readonly value?: string
  /** Meaning, with the unit. */
  readonly about: string
  readonly required?: boolean
  readonly default?: string
  readonly example?: string
}

/** A command is a row of data. */
export interface Command {
  /** Its words, then its arguments in capitals: `client create NAME`. */
  readonly usage: string
  readonly about: string
  /** Values of the arguments in the example of `--help`. */
  readonly examples?: Readonly<Record<string, string>>
  readonly flags?: readonly Flag[]
  /** What `--help` says at its end. */
  readonly notes?: readonly string[]
  /** Whether it runs until it is stopped; then it takes every setting as a flag. */
  readonly lasting?: boolean
  /** Whether it takes every setting as a flag all the same. */
  readonly settings?: boolean
  readonly run: (invocation: Invocation) => Promise<void>
}

/** The words of a command: `['client', 'create']`. */
export function nameOf({ usage }: Pick<Command, 'usage'>): string[] {
  return usage.split(' ').filter((word) => word !== word.toUpperCase())
}

/** The arguments of a command: `['NAME']`. */
export function argumentsOf({ usage }: Pick<Command, 'usage'>): string[] {
  return usage.split(' ').filter((word) => word === word.toUpperCase())
}

/**
 * Opens the database for as long as `use` takes. It may be in use by a daemon at the same time.
 *
 * @param create Whether a database that is missing is created; else that is an error.
 */
export async function withMailkeep<T>(
  { config, logger }: Pick<Invocation, 'config' | 'logger'>,
  use: (mailkeep: Mailkeep) => Promise<T>,
  { create = false }: { create?: boolean } = {},
): Promise<T> {
  const mailkeep = await openMailkeep(config, logger, { create })
  try {
    return await use(mailkeep)
  } finally {
    await mailkeep.close()
  }
}

/**
 * Opens the database for something that belongs to one client: the one of `--client`.
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
 * Finds the client that a record belongs to: ids are unique over all clients.
 *
 * @param find Gets the record of a client; `not_found` where the client has no such record.
 * @returns The client's id, its operations and the record; undefined when no client has it.
 */
export async function findOwner<T>(
  mailkeep: Mailkeep,
  find: (client: ClientMailkeep) => Promise<T>,
): Promise<{ clientId: number; client: ClientMailkeep; record: T } | undefined> {
  for (const { id: clientId } of await mailkeep.clients.list()) {
    const client = mailkeep.forClient(clientId)
    try {
      return { clientId, client, record: await find(client) }
    } catch (error) {
      if (!isMailkeepError(error, 'not_found')) throw error
    }
  }
  return undefined
}

/** All records of a listing at once, for listings of which that is never much. */
export async function allOf<T>(list: Parameters<typeof eachOf<T>>[0]): Promise<T[]> {
  const all: T[] = []
  for await (const record of eachOf(list)) all.push(record)
  return all
}

/** All records of a listing, page by page. */
export async function* eachOf<T>(
  list: (query: { per_page: number; cursor?: string }) => Promise<Page<T>>,
): AsyncGenerator<T, void, undefined> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { data, meta } = await list({
      per_page: inputLimits.pageRecords,
      ...(cursor === undefined ? {} : { cursor }),
    })
    yield* data
    cursor = meta.next_cursor
  }
}

/** @throws Complaint unless `text` is the id that `name` needs. */
export function idFrom(name: string, text: string | undefined): number {
  const id = /^[1-9]\d{0,15}$/.test(text ?? '') ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(id)) throw new CliError(`${name} must be an id: a positive whole number.`, 2)
  return id
}

export const yesFlag: Flag = { name: 'yes', about: 'Really do it; without it only says what would be deleted' }

export const formatFlag: Flag = { name: 'format', value: 'csv|ndjson', about: 'Format of the file', example: 'csv' }

/** @throws Complaint unless `text` is a format, or absent. */
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

/** Columns for people to read. Names may hold anything: what would steer a terminal is not printed. */
export function table(rows: readonly (readonly unknown[])[], none: string): string {
  if (rows.length === 0) return none
  const cells = rows.map((row) => row.map((cell) => String(cell ?? '-').replace(/\p{C}/gu, '?')))
  return columns(cells)
}
