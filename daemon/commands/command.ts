import type { ClientMailkeep, Format, Logger, Mailkeep } from '../../lib/index.ts'
import { columns } from '../columns.ts'
import { Complaint } from '../complaint.ts'
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
  /** Shows how far something is, to a person; undefined where nobody is looking. */
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
  readonly about: string
  readonly required?: boolean
}

/** A command is a row of data. */
export interface Command {
  /** Its words, then its arguments: `client create <name>`. */
  readonly usage: string
  readonly about: string
  readonly flags?: readonly Flag[]
  /** Whether it runs until it is stopped; then it takes every setting as a flag. */
  readonly lasting?: boolean
  /** Whether it takes every setting as a flag all the same. */
  readonly settings?: boolean
  readonly run: (invocation: Invocation) => Promise<void>
}

/** Opens the database for as long as `use` takes. It may be in use by a daemon at the same time. */
export async function withMailkeep<T>(
  { config, logger }: Pick<Invocation, 'config' | 'logger'>,
  use: (mailkeep: Mailkeep) => Promise<T>,
): Promise<T> {
  const mailkeep = await openMailkeep(config, logger)
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

/** @throws Complaint unless `text` is the id that `name` needs. */
export function idFrom(name: string, text: string | undefined): number {
  const id = /^[1-9]\d{0,15}$/.test(text ?? '') ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(id)) throw new Complaint(`${name} must be an id: a positive whole number.`, 2)
  return id
}

export const formatFlag: Flag = { name: 'format', about: 'csv or ndjson' }

/** @throws Complaint unless `text` is a format, or absent. */
export function formatFrom(text: string | undefined): Format | undefined {
  if (text === undefined || text === 'csv' || text === 'ndjson') return text
  throw new Complaint('--format must be csv or ndjson.', 2)
}

export const clientFlag: Flag = { name: 'client', about: 'ID of the client', required: true }

/** Columns for people to read. Names may hold anything: what would steer a terminal is not printed. */
export function table(rows: readonly (readonly unknown[])[], none: string): string {
  if (rows.length === 0) return none
  const cells = rows.map((row) => row.map((cell) => String(cell ?? '-').replace(/\p{C}/gu, '?')))
  return columns(cells)
}
