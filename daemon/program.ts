import cluster from 'node:cluster'
import { createWriteStream, fstatSync } from 'node:fs'
import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import { isMailkeepError, type MailkeepError, version } from '../lib/index.ts'
import { commit } from './addon.ts'
import { beforeSeparator, type CommandLine, readArguments } from './arguments.ts'
import { CliError, fieldMessages, reasonOf } from './cli-error.ts'
import type { Command } from './commands/command.ts'
import { readConfig } from './config.ts'
import { databaseError } from './database-error.ts'
import { openLog } from './log.ts'
import type { Fork } from './processes/process-group.ts'
import { openWorker, type WorkerProcess } from './processes/worker.ts'
import { progressOn, terminalText } from './progress.ts'

/** Standard output. For a file, Node's own stream ignores that the system wrote a part only, as on a disk that is full. */
const output = isOutputFile() ? createWriteStream('', { fd: 1, autoClose: false }) : process.stdout

function isOutputFile(): boolean {
  try {
    return fstatSync(1).isFile()
  } catch {
    return false // standard output is closed, or Windows cannot tell
  }
}

async function main(): Promise<void> {
  output.on('error', () => {}) // see requireOutput
  process.stderr.on('error', () => {})
  const argv = process.argv.slice(2)
  const flags = beforeSeparator(argv)
  const json = flags.includes('--json')
  const words = [...flags.filter((word) => word !== '--json'), ...argv.slice(flags.length)]
  const request = readArguments(words, versionLine(json))
  if (typeof request === 'string') {
    output.write(`${request}\n`)
    await flushed(output)
  } else await run(request, json)
  if (typeof request === 'string' || !request.command.longRunning) requireOutput()
}

function versionLine(json: boolean): string {
  if (json) return JSON.stringify({ name: 'mailkeep', version, commit: commit ?? null })
  return `mailkeep, ${version}${commit === undefined ? '' : ` (${commit})`}`
}

/** The reader may close the pipe early (`| head`). That is not an error. */
function requireOutput(): void {
  const error: NodeJS.ErrnoException | null = output.errored
  if (error && error.code !== 'EPIPE') throw new CliError(`The output cannot be written: ${reasonOf(error)}.`)
}

async function run({ command, args, own, flags }: CommandLine, json: boolean): Promise<void> {
  const worker = workerProcess()
  const { config: given, warnings } = readConfig(process.env, flags)
  const config = worker ? { ...given, port: worker.port } : given
  if (!worker) for (const warning of warnings) printError(warning)
  const listenFd = systemdSocket(worker ? process.ppid : process.pid)
  const ran = command.run({
    args,
    flags: own,
    config,
    logger: openLog(config, command.longRunning ? 'info' : 'warn', process.stderr, worker?.number),
    print: (result) => {
      if (worker) worker.started(result)
      else output.write(`${json ? JSON.stringify(result.json) : result.text}\n`)
    },
    output,
    input: process.stdin,
    json,
    progress: progressOn(process.stderr),
    terminal: process.stdout.isTTY === true,
    listenFd,
    stopped: worker?.stopped ?? stopOf(command),
    worker,
    fork: forkWith(listenFd),
    onExit: (listener) => {
      process.once('exit', listener)
      // A signal without a listener ends the process, and its exit listeners do not run.
      if (!command.longRunning) exitOnSignal()
    },
  })
  try {
    await ran
  } catch (error) {
    throw databaseError(error, config)
  } finally {
    // A command waits for a slow reader, so that no output is lost. A long-running command must stop in time instead.
    if (!command.longRunning) await flushed(output)
  }
}

/** Resolves when the command must stop. The signal ends other commands at once. */
async function stopOf({ longRunning, endsWhenStopped }: Command): Promise<void> {
  if (!longRunning && !endsWhenStopped) return new Promise(() => {})
  await waitForStopSignal()
  if (endsWhenStopped) printError('Stopping: work that is under way is finished. A second signal ends it at once.')
}

/** Returns the number of this process, its port, and its way to the first one, if several serve together. */
function workerProcess(): WorkerProcess | undefined {
  const [number, port, creates] = (process.env.MAILKEEP_PROCESS ?? '').split(' ').map(Number)
  delete process.env.MAILKEEP_PROCESS
  if (!cluster.isWorker || !number || port === undefined) return undefined
  // Signals reach the whole process group. The first process decides when the others stop.
  for (const signal of stopSignals) process.on(signal, () => {})
  return openWorker(
    { number, port, creates: creates === 1 },
    {
      send: (message) => void process.send?.(message, undefined, undefined, () => {}),
      listen: (listener) => void process.on('message', listener),
    },
  )
}

/** The single executable takes its first argument where Node takes the path of a script. */
function forkWith(listenFd: number | undefined): Fork {
  return (number, port, creates) => {
    const [first = 'serve', ...others] = process.argv.slice(2)
    if (process.getBuiltinModule('node:sea')?.isSea()) cluster.setupPrimary({ exec: first, args: others })
    const socket = listenFd === undefined ? {} : { LISTEN_PID: String(process.pid), LISTEN_FDS: '1' }
    return cluster.fork({ MAILKEEP_PROCESS: `${number} ${port} ${Number(creates)}`, ...socket })
  }
}

/**
 * Returns the socket of systemd's socket activation, see sd_listen_fds(3). Hides the variables from child processes.
 *
 * @param owner The process that systemd has started.
 */
function systemdSocket(owner: number): number | undefined {
  const { LISTEN_PID, LISTEN_FDS } = process.env
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]
  if (LISTEN_PID !== String(owner) || !(Number(LISTEN_FDS) > 0)) return undefined
  if (LISTEN_FDS !== '1') throw new CliError('systemd passed several sockets: mailkeep accepts only one.')
  return 3
}

/**
 * Signals within this time count as one. A terminal signals the whole process group, and npm forwards the signal to its
 * child, so one Ctrl-C arrives twice.
 */
const sameSignalWindowMs = 100

const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

function exitOnSignal(): void {
  for (const signal of stopSignals) process.on(signal, () => process.exit(128 + constants.signals[signal]))
}

/** Resolves at the first signal. A second signal exits immediately. SIGHUP arrives when the terminal is closed. */
function waitForStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstSignalMs: number | undefined
    for (const signal of stopSignals) {
      process.on(signal, () => {
        firstSignalMs ??= performance.now()
        if (performance.now() - firstSignalMs > sameSignalWindowMs) process.exit(128 + constants.signals[signal])
        resolve()
      })
    }
  })
}

function printError(message: string): void {
  process.stderr.write(`mailkeep: ${terminalText(message.replace(/\s*\n\s*/g, ' '))}\n`)
}

/** Prints one line for errors that the user can correct, and a stack trace for unexpected errors. Returns the exit code. */
function printFailure(error: unknown): number {
  if (error instanceof CliError) {
    if (error.message !== '') printError(error.message) // without one, another process has printed it
  } else if (isMailkeepError(error)) printError(error.errors ? fieldMessages(error.errors) : withReason(error))
  else if (error instanceof Error && 'syscall' in error) printError(error.message)
  else process.stderr.write(`mailkeep: ${error instanceof Error ? error.stack : error}\n`)
  return error instanceof CliError ? error.exitCode : 1
}

/** Adds the database's own message, which the API hides from its callers. */
function withReason({ code, message, cause }: MailkeepError): string {
  return code === 'internal' && cause instanceof Error ? `${message} ${cause.message}.` : message
}

/** Maximum wait at exit until the remaining output is read. */
const flushTimeoutMs = 500

/** Resolves when the stream has flushed its buffer or is destroyed. */
function flushed(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableLength === 0) resolve()
    else stream.write('', () => resolve())
  })
}

// Exits explicitly, because an open handle would keep a stopped daemon running.
async function exit(code: number): Promise<void> {
  const timeout = new Promise((resolve) => setTimeout(resolve, flushTimeoutMs))
  await Promise.race([timeout, Promise.all([flushed(output), flushed(process.stderr)])])
  process.exit(code)
}

main().then(
  () => exit(0),
  (error: unknown) => exit(printFailure(error)),
)
