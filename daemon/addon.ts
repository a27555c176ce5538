import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CliError, reasonOf } from './cli-error.ts'

const fileName = 'better_sqlite3.node'

let loaded: object | undefined

/**
 * Finds better-sqlite3's native addon in a bundled program. The single executable contains it as an asset. The plain
 * bundle has it as a file beside it.
 *
 * @returns Undefined when better-sqlite3 finds the addon itself: run from the sources, or installed by npm.
 * @throws CliError The addon cannot be loaded.
 */
export function nativeAddon(): object | string | undefined {
  const asset = assetOf(fileName)
  if (asset) {
    loaded ??= loadAddon(asset)
    return loaded
  }
  const beside = join(bundle.directory, fileName)
  if (!bundle.bundled || !existsSync(beside)) return undefined
  requireNodeOfAddon()
  return beside
}

/** @throws CliError On a Node with an older Node-API the addon would end the process with a segmentation fault. */
function requireNodeOfAddon(): void {
  const { node, napi } = process.versions
  if (Number(napi) >= MAILKEEP_NODE_API) return
  throw new CliError(`The SQLite of this bundle needs Node ${MAILKEEP_MIN_NODE} or later; this is Node ${node}.`)
}

declare const MAILKEEP_COMMIT: string | undefined
/** The lowest version of Node that the addon of a bundled program runs on: `22.14`. Node 23 has its Node-API from 23.6 on. */
declare const MAILKEEP_MIN_NODE: string
/** The lowest version of Node-API that the addon runs on. */
declare const MAILKEEP_NODE_API: number

/** The commit of a bundled program. Undefined when run from the sources. */
export const commit: string | undefined = typeof MAILKEEP_COMMIT === 'undefined' ? undefined : MAILKEEP_COMMIT

/** Only the bundle is CommonJS, which has `__dirname`. */
const bundle = { bundled: commit !== undefined, directory: commit === undefined ? '' : __dirname }

/** @returns Undefined unless this is the single executable. */
function assetOf(name: string): Buffer | undefined {
  if (!bundle.bundled) return undefined
  const sea = process.getBuiltinModule('node:sea')
  return sea?.isSea() ? Buffer.from(sea.getRawAsset(name) as ArrayBuffer) : undefined
}

/** Loads the addon from a private temporary file, because dlopen needs a path. Deletes the file right after. */
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
    // Without the directory nothing was run: then the user may not write there.
    const noexec = directory !== undefined && /failed to map|Operation not permitted|Permission denied/i.test(reason)
    const what = noexec ? `${parent} does not let programs run (noexec)` : `${parent} cannot be used: ${reason}`
    throw new CliError(`The SQLite addon cannot be loaded: ${what}. Set TMPDIR to a directory where it may.`)
  } finally {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
  }
}
