import { constants, existsSync } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { FileReport } from '../../lib/storage/sqlite.ts'
import type { Config } from '../config.ts'
import { sqliteCode } from '../database-error.ts'
import { holdsDatabase, inMemory, isServer, NotADatabase } from '../database-setting.ts'
import { loadSqlite } from '../drivers.ts'
import { sqliteOptions } from '../open.ts'
import { plural } from '../progress.ts'
import { checkKey, checkSchema } from './compatibility.ts'
import { type Finding, fault, ok, warning } from './finding.ts'
import { checkServer } from './server.ts'

/** Checks the database without changing it. */
export async function checkDatabase(config: Config): Promise<Finding[]> {
  const { database } = config
  if (database === inMemory)
    return [warning('database', 'is in memory: it is lost when the daemon stops', 'set MAILKEEP_DATABASE')]
  if (isServer(database)) return await checkServer(config)
  try {
    if (!holdsDatabase(database)) {
      const faults = await checkDirectory(database)
      if (faults.length > 0) return faults
      const { requireSqlite } = await loadSqlite()
      requireSqlite(sqliteOptions())
      return [ok('database', `${database} does not exist yet: the first start creates it`)]
    }
    const { inspectFile } = await loadSqlite()
    const report = inspectFile(database, { ...sqliteOptions(), thorough: true })
    return [
      ...(await checkDirectory(database)),
      ...(await checkFile(database)),
      ...(await checkModes(database)),
      ...(await checkOwners(config)),
      checkIntegrity(database, report),
      ...(report.mailkeep ? [checkSchema(report), await checkKey(report, config, `${database}.key`)] : []),
      checkClock(report),
    ]
  } catch (error) {
    const closed = [...(await checkDirectory(database)), ...(await checkFile(database))]
    if (closed.length > 0) return closed
    return [unusable(database, error)]
  }
}

/** Advises to restore a backup only if the file is not, or is no longer, a database. */
function unusable(database: string, error: unknown): Finding {
  const code = sqliteCode(error)
  if (code !== undefined && /^SQLITE_(?:CORRUPT|NOTADB)/.test(code))
    return fault('database', `${database} is damaged (${code})`, restore)
  if (error instanceof NotADatabase) {
    const what = `${database} is not a SQLite database`
    return fault('database', what, `set MAILKEEP_DATABASE to another file, or ${restore}`)
  }
  const message = error instanceof Error ? error.message : String(error)
  return { check: 'database', state: 'fault', message }
}

const restore = 'stop the daemon and restore a backup: mailkeep restore FILE'

const ownerRemedy = 'chown it to the user mailkeep runs as'
const mountRemedy = 'mount it writable (in a systemd unit: ReadWritePaths=), or set MAILKEEP_DATABASE'

function isReadOnly(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EROFS'
}

async function checkDirectory(database: string): Promise<Finding[]> {
  const directory = dirname(resolve(database))
  if (!existsSync(directory)) {
    return [fault('permissions', `there is no directory ${directory}`, 'create it, or set MAILKEEP_DATABASE')]
  }
  try {
    // SQLite creates its write-ahead log beside the database.
    await access(directory, constants.W_OK | constants.X_OK)
    return []
  } catch (error) {
    if (isReadOnly(error)) return [fault('permissions', `${directory} is on a read-only file system`, mountRemedy)]
    return [fault('permissions', `${directory} cannot be written by this user`, ownerRemedy)]
  }
}

/** Checks the database and its log files, which copy the mode that the database had when they were created. */
async function checkFile(database: string): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const path of [database, `${database}-wal`, `${database}-shm`]) {
    const file = await stat(path).catch(() => undefined)
    if (!file) continue
    await access(path, constants.R_OK | constants.W_OK).catch((error) => {
      if (isReadOnly(error)) {
        findings.push(fault('permissions', `${path} is on a read-only file system`, mountRemedy))
        return
      }
      const isOwn = file.uid === process.getuid?.() && (file.mode & 0o600) !== 0o600
      const message = `${path} cannot be read and written by this user`
      findings.push(fault('permissions', message, isOwn ? `chmod 600 ${path}` : ownerRemedy))
    })
  }
  return findings
}

async function checkModes(database: string): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const path of [database, `${database}-wal`, `${database}.key`, `${database}.admin-token`]) {
    const file = await stat(path).catch(() => undefined)
    if (!file) continue
    const mode = file.mode & 0o777
    const what = `${path} has mode 0${mode.toString(8)}: others on this machine can read it`
    if (mode & 0o077) findings.push(warning('permissions', what, `chmod 600 ${path}`))
    const readable = await access(path, constants.R_OK).then(
      () => true,
      () => false,
    )
    if (!readable) findings.push(fault('permissions', `${path} cannot be read`, ownerRemedy))
  }
  return findings.length > 0 ? findings : [ok('permissions', 'only their owner can read the files')]
}

/** As root, finds files of root that the owner of the database's directory may not use: commands of root created them. */
async function checkOwners({ database, mail: { transport } }: Config): Promise<Finding[]> {
  if (process.getuid?.() !== 0) return []
  const files = ['', '-wal', '-shm', '.key', '.admin-token', '.process-1'].map((suffix) => resolve(database + suffix))
  if (transport.kind === 'folder') files.push(resolve(transport.path))
  const directory = dirname(resolve(database))
  const owner = await stat(directory).catch(() => undefined)
  if (!owner || owner.uid === 0) return []
  const findings: Finding[] = []
  for (const path of files) {
    const file = await stat(path).catch(() => undefined)
    if (file?.uid !== 0) continue
    const message = `${path} belongs to root, and ${directory} to another user`
    findings.push(warning('permissions', message, `chown -R ${owner.uid}:${owner.gid} '${path}'`))
  }
  return findings
}

function checkIntegrity(database: string, { faults, rows, mailkeep }: FileReport): Finding {
  if (!mailkeep)
    return fault('integrity', `${database} is a database, but not mailkeep's`, 'set MAILKEEP_DATABASE to another file')
  if (faults.length === 0) {
    const counts = `${plural(rows.contact ?? 0, 'contact')}, ${plural(rows.delivery ?? 0, 'delivery')}`
    return ok('integrity', `the file is whole; ${counts}`)
  }
  return fault('integrity', faults.join('; '), restore)
}

const maxClockDifferenceMs = 60_000

/** Detects a clock that was set back: rows written before have later times. */
function checkClock({ latest }: FileReport): Finding {
  const nowMs = Date.now()
  const now = new Date(nowMs).toISOString()
  const aheadMs = latest === null ? 0 : Date.parse(latest) - nowMs
  if (aheadMs <= maxClockDifferenceMs) return ok('clock', `${now}, later than all rows in the database`)
  const message = `the clock of this machine says ${now}, but the database has rows of ${latest}`
  return fault(
    'clock',
    message,
    'set the clock and keep it in sync with NTP: deliveries wait until the clock reaches their time',
  )
}
