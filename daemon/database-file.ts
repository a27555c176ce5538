import { open } from 'node:fs/promises'
import { Complaint, reasonOf } from './complaint.ts'

export const inMemory = ':memory:'

/** Every SQLite database begins with this: https://sqlite.org/fileformat.html#magic_header_string */
const magic = Buffer.from('SQLite format 3\0')

/**
 * Looks at a database file before anything is put beside it.
 *
 * @returns whether there is a database in it already.
 * @throws Complaint when it is something else, or cannot be read.
 */
export async function holdsDatabase(path: string): Promise<boolean> {
  if (path === inMemory) return false
  const head = await readHead(path)
  if (head.length === 0) return false
  if (!head.equals(magic)) throw new Complaint(`${path} is not a SQLite database.`)
  return true
}

async function readHead(path: string): Promise<Buffer> {
  try {
    await using file = await open(path, 'r')
    if ((await file.stat()).isDirectory()) throw new Complaint(`The database ${path} is a directory.`)
    const { bytesRead, buffer } = await file.read(Buffer.alloc(magic.length), 0, magic.length, 0)
    return buffer.subarray(0, bytesRead)
  } catch (error) {
    if (error instanceof Complaint) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw new Complaint(`The database ${path} cannot be opened: ${reasonOf(error)}.`)
  }
}
