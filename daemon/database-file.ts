import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { CliError, reasonOf } from './cli-error.ts'

export const inMemory = ':memory:'

/** Every SQLite database begins with this: https://sqlite.org/fileformat.html#magic_header_string */
const magic = Buffer.from('SQLite format 3\0')

/**
 * Looks at a database file before anything is put beside it.
 *
 * @returns whether there is a database in it already.
 * @throws Complaint when it is something else, or cannot be read.
 */
export function holdsDatabase(path: string): boolean {
  if (path === inMemory) return false
  const head = readHead(path)
  if (head.length === 0) return false
  if (!head.equals(magic)) throw new CliError(`${path} is not a SQLite database.`)
  return true
}

/** @throws Complaint when the directory of the database does not exist: it is not created. */
export function refuseMissingDirectory(path: string): void {
  const directory = dirname(resolve(path))
  if (path === inMemory || existsSync(directory)) return
  throw new CliError(
    `The database ${path} cannot be created: there is no directory ${directory}. Create it, or set MAILKEEP_DATABASE.`,
  )
}

/** At once: a first wait for the file system would start node's threads, a tenth of the time of a start. */
function readHead(path: string): Buffer {
  try {
    using file = opened(path)
    if (fstatSync(file.fd).isDirectory()) throw new CliError(`The database ${path} is a directory.`)
    const head = Buffer.alloc(magic.length)
    return head.subarray(0, readSync(file.fd, head, 0, magic.length, 0))
  } catch (error) {
    if (error instanceof CliError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw new CliError(`The database ${path} cannot be opened: ${reasonOf(error)}.`)
  }
}

function opened(path: string): { readonly fd: number } & Disposable {
  const fd = openSync(path, 'r')
  return { fd, [Symbol.dispose]: () => closeSync(fd) }
}
