import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const inMemory = '/dev/shm'
const neededBytes = 2 * 1024 ** 3

/** The parent folder of test databases. In memory if the system has such a folder, because each commit waits for the disk. */
export const databaseFolder = isUsable(inMemory) ? inMemory : tmpdir()

function isUsable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > neededBytes
  } catch {
    return false
  }
}
