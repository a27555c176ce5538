import { closeSync, existsSync, fstatSync, openSync, readSync, realpathSync, type Stats, statSync } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { CliError, reasonOf } from './cli-error.ts'

export const inMemory = ':memory:'

/** First bytes of every SQLite database: https://sqlite.org/fileformat.html#magic_header_string */
const fileHeader = Buffer.from('SQLite format 3\0')

/** The error for a file that is there, but has other content than a SQLite database. */
export class NotADatabase extends CliError {}

/**
 * Checks a database file before other files are created beside it.
 *
 * @returns Whether the file contains a SQLite database.
 * @throws NotADatabase The file has other content.
 * @throws CliError The file cannot be read.
 */
export function holdsDatabase(path: string): boolean {
  if (path === inMemory) return false
  const header = readHeader(path)
  if (header.length === 0) return false
  if (!header.equals(fileHeader))
    throw new NotADatabase(`${path} is not a SQLite database: check the path, or restore a backup.`)
  return true
}

/** @throws CliError The configured database does not exist. */
export function requireDatabase(database: string): void {
  if (holdsDatabase(database)) return
  throw new CliError(`There is no database ${database}: set --database or MAILKEEP_DATABASE to its path.`)
}

/** @throws CliError better-sqlite3 trims the name, and would open another file. */
export function refuseSpaces(path: string): void {
  if (path.trim() === path) return
  throw new CliError(`The name ${JSON.stringify(path)} must not begin or end with white space.`, 2)
}

/** @throws CliError The directory of the database does not exist. */
export function refuseMissingDirectory(path: string): void {
  const directory = dirname(resolve(path))
  if (path === inMemory || existsSync(directory)) return
  throw new CliError(
    `The database ${path} cannot be created: there is no directory ${directory}. Create it, or set MAILKEEP_DATABASE.`,
  )
}

/** Returns the bytes of a database file and its write-ahead log, which may have most of the data; 0 without a file. */
export function bytesOf(path: string): number {
  if (!existsSync(path)) return 0
  const file = realpathSync(path) // SQLite puts the log beside the file that a link leads to
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })
  return statSync(file).size + (log?.size ?? 0)
}

/** Files that mailkeep or SQLite put beside a database have its name and one of these endings. */
const besideDatabase = /^(?:-wal|-shm|-journal|\.key|\.admin-token|\.process-\d+)$/

/** Whether a path leads, also through links, to a SQLite database, or has the name of a file beside it. */
export async function isDatabaseFile(path: string, database: string): Promise<boolean> {
  if (isServer(database) || database === inMemory) return false
  const target = join(await realpath(dirname(path)).catch(() => resolve(dirname(path))), basename(path))
  // SQLite follows a link to the database, mailkeep does not.
  for (const name of new Set([resolve(database), await realpath(database).catch(() => resolve(database))])) {
    const directory = await realpath(dirname(name)).catch(() => dirname(name))
    const base = basename(name)
    const isOne = (file: string) =>
      file.startsWith(base) && (file === base || besideDatabase.test(file.slice(base.length)))
    if (dirname(target) === directory && isOne(basename(target))) return true
    const files = (await readdir(directory).catch(() => [])).filter(isOne)
    for (const file of files) if (await isSameFile(path, join(directory, file))) return true
  }
  return false
}

/** Whether two paths, or a path and the status of a file, lead to one regular file. */
export async function isSameFile(path: string, other: string | Stats): Promise<boolean> {
  const [one, two] = await Promise.all([stat(path), typeof other === 'string' ? stat(other) : other]).catch(() => [])
  return one !== undefined && two !== undefined && one.isFile() && one.dev === two.dev && one.ino === two.ino
}

/** Reads synchronously. The first asynchronous read would start Node's thread pool, a tenth of the start-up time. */
function readHeader(path: string): Buffer {
  try {
    using file = openDisposable(path)
    const found = fstatSync(file.fd)
    if (found.isDirectory()) throw new CliError(`The database ${path} is a directory.`)
    if (!found.isFile()) throw new CliError(`The database ${path} is not a file.`)
    const header = Buffer.alloc(fileHeader.length)
    return header.subarray(0, readSync(file.fd, header, 0, fileHeader.length, 0))
  } catch (error) {
    if (error instanceof CliError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw new CliError(`The database ${path} cannot be opened: ${reasonOf(error)}.`)
  }
}

function openDisposable(path: string): { readonly fd: number } & Disposable {
  const fd = openSync(path, 'r')
  return { fd, [Symbol.dispose]: () => closeSync(fd) }
}

const postgresUrl = /^postgres(?:ql)?:/i

/** @returns Whether the setting is a PostgreSQL URL. */
export function isServer(database: string): boolean {
  return postgresUrl.test(database)
}

/** @returns Whether a database URL contains a password. Also works for malformed URLs. */
export function holdsPassword(url: string): boolean {
  const user = /^\w+:\/\/([^?]*)@/s.exec(url)?.[1]
  return user?.includes(':') === true || /[?&]\w*password=/i.test(url)
}

/** Returns a database's name for messages. A URL is reduced to user, host and database. */
export function shownDatabase(database: string): string {
  if (!isServer(database)) return database
  if (!URL.canParse(database)) return 'the PostgreSQL database'
  const { protocol, username, host, pathname } = new URL(database)
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}
