import { randomBytes } from 'node:crypto'
import { chown, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CliError, reasonOf } from './cli-error.ts'

/**
 * Makes a file that is there whole or not at all, and survives a power cut once it is: it is written under another
 * name, with mode 0600 from the start, and renamed.
 *
 * @param fill Writes into the empty file at this path; when it throws, nothing is left of it.
 * @throws Complaint when the file system refuses.
 */
export async function writeFileAtomic(path: string, fill: (partial: string) => unknown): Promise<void> {
  const partial = join(dirname(path), `.${basename(path)}.${randomBytes(4).toString('hex')}.partial`)
  try {
    await (await open(partial, 'wx', 0o600)).close()
    // Root works for somebody else here; nobody else can give files away.
    const { uid, gid } = await stat(dirname(path))
    await chown(partial, uid, gid).catch(() => {})
    await fill(partial)
    await sync(partial)
    await rename(partial, path)
    // Not every system can sync a directory.
    await sync(dirname(path)).catch(() => {})
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) {
      throw new CliError(`${path} cannot be written: ${reasonOf(error)}.`)
    }
    throw error
  } finally {
    for (const suffix of ['', '-journal', '-wal', '-shm']) await rm(partial + suffix, { force: true })
  }
}

async function sync(path: string): Promise<void> {
  await using file = await open(path, 'r')
  await file.sync()
}
