#!/usr/bin/env node
import { constants } from 'node:os'
import { isMailkeepError, type MailkeepError, version } from '../lib/index.ts'
import { commit } from './addon.ts'
import { type CommandLine, readArguments } from './arguments.ts'
import { Complaint } from './complaint.ts'
import { readConfig } from './config.ts'
import { openLog } from './log.ts'
import { progressOn } from './progress.ts'

async function main(): Promise<void> {
  // Whoever read us may have seen enough (`| head`): that is no error.
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
  const argv = process.argv.slice(2)
  const request = readArguments(
    argv.filter((word) => word !== '--json'),
    commit === undefined ? version : `${version} (${commit})`,
  )
  if (request) await run(request, argv.includes('--json'))
}

async function run({ command, args, own, flags }: CommandLine, json: boolean): Promise<void> {
  const { config, warnings } = readConfig(process.env, flags)
  for (const warning of warnings) complain(warning)
  await command.run({
    args,
    flags: own,
    config,
    logger: openLog(config, command.lasting ? 'info' : 'warn'),
    print: (result) => process.stdout.write(`${json ? JSON.stringify(result.json) : result.text}\n`),
    output: process.stdout,
    json,
    progress: progressOn(process.stderr),
    terminal: process.stdout.isTTY === true,
    listenFd: handedSocket(),
    stopped: command.lasting ? untilAskedToStop() : new Promise(() => {}),
  })
}

/** systemd's socket activation: sd_listen_fds(3). What is left in the environment is not for our children. */
function handedSocket(): number | undefined {
  const { LISTEN_PID, LISTEN_FDS } = process.env
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]
  if (LISTEN_PID !== String(process.pid) || !(Number(LISTEN_FDS) > 0)) return undefined
  if (LISTEN_FDS !== '1') throw new Complaint('systemd hands over several sockets: mailkeep takes one.')
  return 3
}

/** A terminal signals the whole process group, and npm passes on what it gets: for so long two signals are one. */
const oneSignalMs = 100

/** The first signal asks, the second insists. */
function untilAskedToStop(): Promise<void> {
  return new Promise((resolve) => {
    let askedMs: number | undefined
    const stop = (signal: 'SIGTERM' | 'SIGINT') => {
      askedMs ??= performance.now()
      if (performance.now() - askedMs > oneSignalMs) process.exit(128 + constants.signals[signal])
      resolve()
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}

function complain(message: string): void {
  process.stderr.write(`mailkeep: ${message.replace(/\s*\n\s*/g, ' ')}\n`)
}

/** Prints one line about what a person can put right, and a stack only for what nobody foresaw. */
function explain(error: unknown): number {
  if (error instanceof Complaint) complain(error.message)
  else if (isMailkeepError(error)) complain(inFields(error.errors) ?? withReason(error))
  else if (error instanceof Error && 'syscall' in error) complain(error.message)
  else process.stderr.write(`mailkeep: ${error instanceof Error ? error.stack : error}\n`)
  return error instanceof Complaint ? error.exitCode : 1
}

/** What callers of the API are not told: why the database refused a statement. */
function withReason({ code, message, cause }: MailkeepError): string {
  return code === 'internal' && cause instanceof Error ? `${message} ${cause.message}.` : message
}

function inFields(errors: Readonly<Record<string, string[]>> | undefined): string | undefined {
  if (!errors) return undefined
  const fields = Object.entries(errors).map(([field, messages]) => `${field}: ${messages.join(' ')}`)
  return fields.join(' ')
}

main().then(
  // Not left to the event loop: a handle of ours that stays open must not keep a stopped daemon.
  () => process.exit(),
  (error: unknown) => process.exit(explain(error)),
)
