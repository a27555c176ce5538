import { CliError } from './cli-error.ts'
import { argumentsOf, type Command, nameOf } from './commands/command.ts'
import { commands } from './commands/index.ts'
import { type Flags, unknownFlag } from './config.ts'
import { commandHelp, groupHelp, programHelp } from './help.ts'
import { flagOf, type SettingName, secretSettings, settingNames, switchSettings } from './settings.ts'
import { nearest } from './suggest.ts'

/** A parsed command line. */
export interface CommandLine {
  readonly command: Command
  readonly args: readonly string[]
  /** The command's flags other than settings. A switch that is set has the value `''`. */
  readonly own: Readonly<Record<string, string>>
  /** All flags as given, including settings. */
  readonly flags: Flags
}

const usageExitCode = 2
const publicSettings = settingNames.filter((name) => !secretSettings.has(name))
const secrets = settingNames.filter((name) => secretSettings.has(name))
const commonSettings = ['DATABASE', 'DATABASE_SCHEMA', 'DATABASE_POOLER', 'LOG_LEVEL'] as const

/**
 * Reads a command line.
 *
 * @param argv Without the program, and without `--json`.
 * @param version What `--version` prints.
 * @returns The command to run, or the text to print for help and version.
 * @throws CliError
 */
export function readArguments(argv: readonly string[], version: string): CommandLine | string {
  const [first] = argv
  if ((first === '-v' || first === '--version') && argv.length === 1) return version
  if (first === '-h' || first === '--help' || (first === 'help' && argv.length === 1)) return programHelp(commands)
  if (first === 'help') return readArguments([...argv.slice(1), '--help'], version)
  // The command comes first. Without one, the flags belong to `serve`.
  const words = first === undefined || first.startsWith('-') ? ['serve', ...argv] : argv
  const asksHelp = beforeSeparator(words).some((word) => word === '--help' || word === '-h')
  const command = commands.find((each) => nameOf(each).every((word, at) => words[at] === word))
  if (!command) return helpOrFailGroup(words, asksHelp)
  if (asksHelp) return commandHelp(command, settingsOf(command), takesAllSettings(command) ? secrets : [])
  const { args, flags } = parse(command, words.slice(nameOf(command).length))
  checkArgumentCount(command, args)
  return { command, args, own: ownFlags(command, flags), flags }
}

/** Returns the words before `--`. Words after it are arguments, also if they begin with a dash. */
export function beforeSeparator(words: readonly string[]): readonly string[] {
  const at = words.indexOf('--')
  return at === -1 ? words : words.slice(0, at)
}

function helpOrFailGroup(words: readonly string[], asksHelp: boolean): string {
  const [name = '', second] = words
  const group = commands.filter((command) => nameOf(command).length > 1 && nameOf(command)[0] === name)
  if (group.length === 0) throw unknownCommand(words)
  if (asksHelp) return groupHelp(name, group)
  if (second !== undefined && !second.startsWith('-')) throw unknownCommand(words)
  const names = group.map((command) => nameOf(command)[1])
  throw new CliError(`${name} needs a command: ${names.join(', ')}. See mailkeep ${name} --help.`, usageExitCode)
}

function unknownCommand(words: readonly string[]): CliError {
  const given = words.slice(0, 2).filter((word, at) => at === 0 || !word.startsWith('-'))
  const names = commands.map((command) => nameOf(command).join(' '))
  const groups = names.map((name) => name.split(' ')[0]!)
  const meant = nearest(given.join(' '), names) ?? nearest(given[0]!, groups)
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  return new CliError(`There is no command ${given.join(' ')}.${hint} See mailkeep --help.`, usageExitCode)
}

const takesAllSettings = (command: Command) => command.longRunning || command.settings

function settingsOf(command: Command): readonly SettingName[] {
  return takesAllSettings(command) ? publicSettings : commonSettings
}

type GivenFlags = Record<string, string | false | (string | false)[]>

/** Splits words into arguments and flags: `--name VALUE`, `--name=VALUE`, `--switch`, `--no-switch`. */
function parse(command: Command, words: readonly string[]): { args: string[]; flags: GivenFlags } {
  const kinds = kindsOf(command)
  const args: string[] = []
  const flags: GivenFlags = Object.create(null)
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (word === '--') return { args: [...args, ...words.slice(at + 1)], flags }
    if (word === '-' || !word.startsWith('-')) {
      args.push(word)
      continue
    }
    const [, name, assigned] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? []
    const kind = name === undefined ? undefined : kinds.get(name)
    if (name !== undefined && kind !== undefined) {
      const takesNext = assigned === undefined && isValue(words[at + 1], kind)
      addFlag(flags, name, assigned ?? (takesNext ? words[at + 1]! : ''))
      if (takesNext) at++
    } else if (assigned === undefined && kinds.get(word.replace(/^--no-/, '')) === 'boolean') {
      addFlag(flags, word.slice(5), false)
    } else throw unknownFlag(word, [...kinds.keys()], nameOf(command).join(' '))
  }
  return { args, flags }
}

/** A `switch` takes no value. The value of a `boolean` is optional. */
type Kind = 'value' | 'switch' | 'boolean'

function kindsOf(command: Command): ReadonlyMap<string, Kind> {
  const own = (command.flags ?? []).map(({ name, value }) => [name, value === undefined ? 'switch' : 'value'] as const)
  const settings = settingsOf(command).map((name) => {
    return [flagOf(name), switchSettings.has(name) ? 'boolean' : 'value'] as const
  })
  return new Map<string, Kind>([...settings, ...own])
}

function isValue(next: string | undefined, kind: Kind): boolean {
  if (next === undefined || kind === 'switch') return false
  if (kind === 'boolean') return /^(?:true|false|0|1)$/i.test(next)
  return next === '-' || !next.startsWith('-')
}

/** Collects the values of a repeated flag. The readers of a flag refuse more than one value. */
function addFlag(flags: GivenFlags, name: string, value: string | false): void {
  const before = flags[name]
  flags[name] = before === undefined ? value : [before, value].flat()
}

function checkArgumentCount(command: Command, args: readonly string[]): void {
  const name = nameOf(command).join(' ')
  const wanted = argumentsOf(command)
  // An empty name of a file is an unset variable in a script. Other arguments are checked as values.
  const missing = wanted.find((argument, at) => args[at] === undefined || (argument === 'FILE' && args[at] === ''))
  if (missing !== undefined) {
    throw new CliError(
      `${name} needs ${missing}: mailkeep ${command.usage}. See mailkeep ${name} --help.`,
      usageExitCode,
    )
  }
  const extra = args[wanted.length]
  if (extra === undefined) return
  const isCommand = commands.some((each) => nameOf(each)[0] === extra)
  const hint = isCommand ? ` A command comes before its flags: mailkeep ${extra} ….` : ''
  throw new CliError(`${name} does not take ${JSON.stringify(extra)}.${hint}`, usageExitCode)
}

function ownFlags(command: Command, flags: GivenFlags): Record<string, string> {
  const own: Record<string, string> = {}
  for (const { name, value: shape, required, repeats } of command.flags ?? []) {
    const given = flags[name]
    const value = repeats && Array.isArray(given) ? given.join('\0') : given
    if (value === undefined && !required) continue
    if (value === undefined) throw missingFlag(command, name)
    if (typeof value !== 'string') throw new CliError(`--${name} needs one value.`, usageExitCode)
    if (shape === undefined && value !== '') throw new CliError(`--${name} takes no value.`, usageExitCode)
    if (shape !== undefined && value === '') throw new CliError(`--${name} needs one value.`, usageExitCode)
    own[name] = value
  }
  return own
}

function missingFlag(command: Command, flag: string): CliError {
  const name = nameOf(command).join(' ')
  return new CliError(`${name} needs --${flag}. See mailkeep ${name} --help.`, usageExitCode)
}
