import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CliError, reasonOf } from './cli-error.ts'

const fileName = 'better_sqlite3.node'

let loaded: object | undefined

/**
 * better-sqlite3's native addon, where the program carries it along: in the single executable it is an asset, for
 * the plain bundle it lies beside it.
 *
 * @returns undefined where better-sqlite3 finds it by itself: from the sources, and installed by npm.
 * @throws Complaint when it cannot be loaded.
 */
export function nativeAddon(): object | string | undefined {
  const asset = assetOf(fileName)
  if (asset) {
    loaded ??= loadAddon(asset)
    return loaded
  }
  const beside = join(program.directory, fileName)
  return program.bundled && existsSync(beside) ? beside : undefined
}

declare const MAILKEEP_COMMIT: string | undefined

/** Set when the program was bundled: what it was made of. */
export const commit: string | undefined = typeof MAILKEEP_COMMIT === 'undefined' ? undefined : MAILKEEP_COMMIT

/** Only a bundle has CommonJS's `__dirname`. */
const program = { bundled: commit !== undefined, directory: commit === undefined ? '' : __dirname }

/** @returns undefined unless this is the single executable. */
function assetOf(name: string): Buffer | undefined {
  if (!program.bundled) return undefined
  const sea = process.getBuiltinModule('node:sea')
  return sea?.isSea() ? Buffer.from(sea.getRawAsset(name) as ArrayBuffer) : undefined
}

/** The system loads only what has a name; nobody else may have a hand in it, and the name is gone at once. */
function loadAddon(addon: Buffer): object {
  const parent = tmpdir()
  let directory: string | undefined
  try {
    directory = mkdtempSync(join(parent, 'mailkeep-'))
    const path = join(directory, fileName)
    writeFileSync(path, addon, { flag: 'wx', mode: 0o500 })
    const module = { exports: {} }
    process.dlopen(module, path)
    return module.exports
  } catch (error) {
    const reason = reasonOf(error)
    const noexec = /failed to map|Operation not permitted|Permission denied/i.test(reason)
    const what = noexec ? `${parent} does not let programs run (noexec)` : `${parent} cannot be used: ${reason}`
    throw new CliError(`The SQLite addon cannot be loaded: ${what}. Set TMPDIR to a directory where it may.`)
  } finally {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
  }
}
