import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import { isMailkeepError, type MailkeepError, version } from '../lib/index.ts'
import { commit } from './addon.ts'
import { type CommandLine, readArguments } from './arguments.ts'
import { CliError, fieldMessage } from './cli-error.ts'
import { readConfig } from './config.ts'
import { databaseError } from './database-error.ts'
import { openLog } from './log.ts'
import { progressOn } from './progress.ts'

async function main(): Promise<void> {
  // The reader of our output may stop reading (`| head`): that is no error.
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
  const argv = process.argv.slice(2)
  const request = readArguments(
    argv.filter((word) => word !== '--json'),
    commit === undefined ? version : `${version} (${commit})`,
  )
  if (typeof request === 'string') process.stdout.write(`${request}\n`)
  else await run(request, argv.includes('--json'))
}

async function run({ command, args, own, flags }: CommandLine, json: boolean): Promise<void> {
  const { config, warnings } = readConfig(process.env, flags)
  for (const warning of warnings) printError(warning)
  const ran = command.run({
    args,
    flags: own,
    config,
    logger: openLog(config, command.lasting ? 'info' : 'warn', process.stderr),
    print: (result) => process.stdout.write(`${json ? JSON.stringify(result.json) : result.text}\n`),
    output: process.stdout,
    input: process.stdin,
    json,
    progress: progressOn(process.stderr),
    terminal: process.stdout.isTTY === true,
    listenFd: handedSocket(),
    stopped: command.lasting ? untilAskedToStop() : new Promise(() => {}),
  })
  try {
    await ran
  } catch (error) {
    throw databaseError(error, config)
  } finally {
    // A service must end in time. Of a command's output nothing may be lost: its reader may be slow.
    if (!command.lasting) await written(process.stdout)
  }
}

/** systemd's socket activation: sd_listen_fds(3). What is left in the environment is not for our children. */
function handedSocket(): number | undefined {
  const { LISTEN_PID, LISTEN_FDS } = process.env
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]
  if (LISTEN_PID !== String(process.pid) || !(Number(LISTEN_FDS) > 0)) return undefined
  if (LISTEN_FDS !== '1') throw new CliError('systemd hands over several sockets: mailkeep takes one.')
  return 3
}

/** A terminal signals the whole process group, and npm passes on what it gets: within this time two signals are one. */
const oneSignalMs = 100

const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** The first signal asks, the second insists. SIGHUP too: it comes when the terminal is closed. */
function untilAskedToStop(): Promise<void> {
  return new Promise((resolve) => {
    let askedMs: number | undefined
    for (const signal of stopSignals) {
      process.on(signal, () => {
        askedMs ??= performance.now()
        if (performance.now() - askedMs > oneSignalMs) process.exit(128 + constants.signals[signal])
        resolve()
      })
    }
  })
}

function printError(message: string): void {
  process.stderr.write(`mailkeep: ${message.replace(/\s*\n\s*/g, ' ')}\n`)
}

/** Prints one line about what a person can put right, and a stack only for what nobody foresaw. */
function explain(error: unknown): number {
  if (error instanceof CliError) printError(error.message)
  else if (isMailkeepError(error)) printError(inFields(error.errors) ?? withReason(error))
  else if (error instanceof Error && 'syscall' in error) printError(error.message)
  else process.stderr.write(`mailkeep: ${error instanceof Error ? error.stack : error}\n`)
  return error instanceof CliError ? error.exitCode : 1
}

/** What callers of the API do not see: why the database refused a statement. */
function withReason({ code, message, cause }: MailkeepError): string {
  return code === 'internal' && cause instanceof Error ? `${message} ${cause.message}.` : message
}

function inFields(errors: Readonly<Record<string, string[]>> | undefined): string | undefined {
  if (!errors) return undefined
  return Object.entries(errors)
    .map(([field, messages]) => fieldMessage(field, messages))
    .join(' ')
}

/** How long the last lines wait for somebody who reads them. */
const lastLinesMs = 500

/** Resolves when all that was written has been taken, or the reader is gone. */
function written(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableLength === 0) resolve()
    else stream.write('', () => resolve())
  })
}

// Does not leave the end to the event loop: a handle that stays open must not keep a stopped daemon running.
async function exit(code: number): Promise<void> {
  const late = new Promise((resolve) => setTimeout(resolve, lastLinesMs))
  await Promise.race([late, Promise.all([written(process.stdout), written(process.stderr)])])
  process.exit(code)
}

main().then(
  () => exit(0),
  (error: unknown) => exit(explain(error)),
)
