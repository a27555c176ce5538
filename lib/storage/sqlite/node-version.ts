import { createRequire } from 'node:module'
import { MailkeepError } from '../../errors.ts'

/**
 * Refuses better-sqlite3 13 or later on Node 20, where its native addon ends the process with a segmentation fault.
 * Call it before the first handle is opened.
 *
 * @throws MailkeepError `unavailable`
 */
export function requireSupportedNode(): void {
  const { node } = process.versions
  if (Number.parseInt(node, 10) >= 22) return
  const driverMajor = Number.parseInt(installedDriverVersion() ?? '', 10)
  if (!(driverMajor >= 13)) return
  throw new MailkeepError(
    'unavailable',
    `better-sqlite3 ${driverMajor} needs Node 22 or later; this is Node ${node}. Update Node or install better-sqlite3@12.`,
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
