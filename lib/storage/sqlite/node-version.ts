import { createRequire } from 'node:module'
import { MailkeepError } from '../../errors.ts'

/** The version of Node-API that the addon of better-sqlite3 13 is compiled for. Node has it from 22.14 and 23.6 on. */
const nodeApiOfDriver13 = 10

/**
 * Refuses better-sqlite3 13 or later on a Node with an older Node-API, where the driver's native addon ends the process
 * with a segmentation fault. Call it before the first handle is opened.
 *
 * @throws MailkeepError `unavailable`
 */
export function requireSupportedNode(): void {
  const { node, napi } = process.versions
  if (Number(napi) >= nodeApiOfDriver13) return
  const driverMajor = Number.parseInt(installedDriverVersion() ?? '', 10)
  if (!(driverMajor >= 13)) return
  throw new MailkeepError(
    'unavailable',
    `better-sqlite3 ${driverMajor} needs Node 22.14 or later; this is Node ${node}. Update Node or install better-sqlite3@12.`,
  )
}

/** Returns undefined if the package cannot be resolved, as in a bundle without `node_modules`. */
function installedDriverVersion(): string | undefined {
  try {
    return createRequire(import.meta.url)('better-sqlite3/package.json').version
  } catch {
    return undefined
  }
}
