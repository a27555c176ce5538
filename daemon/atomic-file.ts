import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { chown, open, readlink, realpath, rename, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { CliError, reasonOf } from './cli-error.ts'

/**
 * Returns the file of a database that a link leads to: it may be on another disk, and need not exist. Other paths are
 * returned unchanged. The key is beside the link.
 *
 * @throws CliError The link leads to a directory that does not exist.
 */
export async function followLink(path: string): Promise<string> {
  const link = await readlink(path).catch(() => undefined)
  if (link === undefined) return path
  const file = resolve(dirname(path), link)
  if (existsSync(file)) return await realpath(file)
  if (existsSync(dirname(file))) return file
  throw new CliError(`${path} is a link to a directory that does not exist: mount its disk, or delete the link.`)
}

/**
 * Writes a file atomically and durably: writes a temporary file with mode 0600, syncs it and renames it.
 *
 * @param fill Writes to the empty file at this path. When it throws, the temporary file is deleted.
 * @param onExit Registers a function that deletes the temporary file if the process exits before, such as at Ctrl-C.
 * @param exclusive Names the work that only one process may do at a time. The temporary file is its lock.
 * @throws CliError The file system refuses, or another process does the exclusive work.
 */
export async function writeFileAtomic(
  path: string,
  fill: (partial: string) => unknown,
  onExit?: (listener: () => void) => void,
  exclusive?: string,
): Promise<void> {
  const partial = join(dirname(path), `.${basename(path)}.${exclusive ?? randomBytes(4).toString('hex')}.partial`)
  let isOwn = false
  const deletePartial = () => {
    if (!isOwn) return
    for (const suffix of ['', '-journal', '-wal', '-shm']) if (existsSync(partial + suffix)) rmSync(partial + suffix)
  }
  onExit?.(deletePartial)
  try {
    closeSync(openSync(partial, 'wx', 0o600))
    isOwn = true
    // A file that root writes must belong to the owner of the directory. Other users cannot change owners.
    const { uid, gid } = await stat(dirname(path))
    await chown(partial, uid, gid).catch(() => {})
    await fill(partial)
    await sync(partial)
    await rename(partial, path)
    isOwn = false // another process may have created the next one
    // Not every system can sync a directory.
    await sync(dirname(path)).catch(() => {})
  } catch (error) {
    if (exclusive !== undefined && !isOwn && (error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new CliError(`Another ${exclusive} to ${path} is running. If it was killed, delete ${partial}.`)
    }
    if (error instanceof Error && 'syscall' in error) {
      throw new CliError(`${path} cannot be written: ${reasonOf(error)}.`)
    }
    throw error
  } finally {
    deletePartial()
  }
}

/** Writes what the system has cached of a file or directory to the disk. */
export async function sync(path: string): Promise<void> {
  await using file = await open(path, 'r')
  await file.sync()
}
