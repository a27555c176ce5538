import sade from 'sade'
import type { Command } from './commands/command.ts'
import { commands } from './commands/index.ts'
import { Complaint } from './complaint.ts'
import { type Flags, unknownFlag } from './config.ts'
import { flagOf, secretSettings, settingNames, variableOf } from './settings.ts'

/** What a command line asks for. */
export interface CommandLine {
  readonly command: Command
  readonly args: readonly string[]
  /** The command's own flags, each with its one value. */
  readonly own: Readonly<Record<string, string>>
  /** All flags as given, settings among them. */
  readonly flags: Flags
}

const wrongUsage = 2
const publicSettings = settingNames.filter((name) => !secretSettings.has(name))

/**
 * Reads a command line.
 *
 * @param argv Without the program, and without `--json`.
 * @returns undefined when help or the version was asked for, and has been printed.
 * @throws Complaint
 */
export function readArguments(argv: readonly string[], version: string): CommandLine | undefined {
  const program = describe(version)
  if (/^(?:-h|--help|-v|--version)$/.test(argv[0] ?? '')) return program.parse(['', '', ...argv]) as undefined
  // A command comes first; flags alone are the default command's.
  const words = argv[0] === undefined || argv[0].startsWith('-') ? ['serve', ...argv] : argv
  const command = findCommand(words)
  if (!command) {
    if (words.includes('--help') || words.includes('-h')) return program.help() as undefined
    throw new Complaint(`There is no command ${words.slice(0, 2).join(' ')}: see mailkeep --help.`, wrongUsage)
  }
  refuseMissing(command, words)
  const parsed = program.parse(['', '', ...words], {
    lazy: true,
    // Else `--name 007` would be 7.
    string: [...settingsOf(command), ...(command.flags ?? [])].map(({ name }) => name),
    unknown: (flag) => {
      throw unknownFlag(flag)
    },
  }) as sade.LazyOutput | undefined
  if (!parsed) return undefined
  const flags = parsed.args.pop() as unknown as Record<string, unknown> & { _: string[] }
  const [extra] = flags._
  if (extra !== undefined) throw new Complaint(`${command.usage} does not take ${JSON.stringify(extra)}.`, wrongUsage)
  return { command, args: parsed.args, own: ownFlags(command, flags), flags }
}

function describe(version: string): sade.Sade {
  const program = sade('mailkeep').version(version).option('--json', 'Print exactly one JSON value')
  for (const command of commands) {
    program.command(command.usage, command.about, { default: command.usage === 'serve' })
    for (const { name, about } of [...(command.flags ?? []), ...settingsOf(command)]) program.option(`--${name}`, about)
  }
  return program
}

function settingsOf(command: Command): { name: string; about: string }[] {
  const taken =
    command.lasting || command.settings
      ? publicSettings
      : (['DATABASE', 'DATABASE_SCHEMA', 'DATABASE_POOLER', 'LOG_LEVEL'] as const)
  return taken.map((name) => ({ name: flagOf(name), about: `goes before ${variableOf(name)}` }))
}

function findCommand(words: readonly string[]): Command | undefined {
  return commands.find(({ usage }) => nameOf(usage).every((word, at) => words[at] === word))
}

function nameOf(usage: string): string[] {
  return usage.replace(/ <.*/, '').split(' ')
}

/** Before sade does: it would not say what is missing, and leave the process by itself. */
function refuseMissing({ usage }: Command, words: readonly string[]): void {
  const wanted = usage.match(/<\w+>/g) ?? []
  const given = countArguments(words.slice(nameOf(usage).length))
  const missing = wanted[given]
  if (missing === undefined || words.includes('--help') || words.includes('-h')) return
  throw new Complaint(`${nameOf(usage).join(' ')} needs ${missing}.`, wrongUsage)
}

/** Every flag of a command with arguments has a value. */
function countArguments(words: readonly string[]): number {
  let count = 0
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (word === '--') return count + words.length - at - 1
    if (!word.startsWith('-')) count++
    else if (!word.includes('=')) at++
  }
  return count
}

function ownFlags(command: Command, flags: Flags): Record<string, string> {
  const own: Record<string, string> = {}
  for (const { name, required } of command.flags ?? []) {
    const value = flags[name]
    if (value === undefined && !required) continue
    if (value === undefined) throw new Complaint(`${command.usage} needs --${name}.`, wrongUsage)
    if (typeof value !== 'string' || value === '') throw new Complaint(`--${name} needs one value.`, wrongUsage)
    own[name] = value
  }
  return own
}
