import { argumentsOf, type Command, columns, type Flag, nameOf } from './commands/command.ts'
import { settingHelp } from './setting-help.ts'
import { flagOf, type SettingName, variableOf } from './settings.ts'

const commonFlags: readonly Flag[] = [
  { name: 'json', about: 'Print exactly one JSON value to standard output' },
  { name: 'help', about: 'Print this help' },
]

/** Returns the help of the program, with all commands. */
export function programHelp(commands: readonly Command[]): string {
  return [
    'mailkeep: contacts, consent, newsletters, sequences and signed webhooks over HTTP.',
    section('Usage', ['$ mailkeep COMMAND [flags]', '$ mailkeep [flags]    # the same as serve']),
    section('Commands', listOf(commands)),
    section('Flags', tableOf([...commonFlags, { name: 'version', about: 'Print version and commit' }])),
    'mailkeep COMMAND --help explains a command and its flags. Settings are flags or variables: --port is MAILKEEP_PORT.',
  ].join('\n\n')
}

/** Returns the help of commands that share their first word. */
export function groupHelp(group: string, commands: readonly Command[]): string {
  return [
    section('Usage', [`$ mailkeep ${group} COMMAND [flags]`]),
    section('Commands', listOf(commands)),
    `mailkeep ${group} COMMAND --help explains a command and its flags.`,
  ].join('\n\n')
}

/**
 * Returns the help of one command.
 *
 * @param settings The settings that the command takes as flags.
 * @param secrets The settings that it takes from variables and files only.
 */
export function commandHelp(
  command: Command,
  settings: readonly SettingName[],
  secrets: readonly SettingName[],
): string {
  const { usage, about, flags = [], notes = [] } = command
  const required = flags.filter((flag) => flag.required).map(shapeOf)
  const line = ['$ mailkeep', usage, ...required, '[flags]'].join(' ')
  const shown = settings.map((name) => {
    const { value, ...help } = settingHelp[name]
    return { name: flagOf(name), value, ...help, variable: variableOf(name) }
  })
  return [
    `${about}.`,
    section('Usage', [line]),
    section('Flags', tableOf([...flags, ...commonFlags])),
    section('Settings', tableOf(shown)),
    ...(secrets.length > 0
      ? [section('Only in variables, or in files that MAILKEEP_…_FILE names', secretsTable(secrets))]
      : []),
    section('Example', [exampleOf(command)]),
    ...notes,
  ].join('\n\n')
}

function listOf(commands: readonly Command[]): string[] {
  return columns(commands.map(({ usage, about }) => [usage, about])).split('\n')
}

function tableOf(flags: readonly (Flag & { readonly variable?: string })[]): string[] {
  return columns(flags.map((flag) => [shapeOf(flag), meaningOf(flag)])).split('\n')
}

function secretsTable(names: readonly SettingName[]): string[] {
  const rows = names.map((name) => {
    const { about, default: value } = settingHelp[name]
    return [variableOf(name), `${about}. Default: ${value}`] as const
  })
  return columns(rows).split('\n')
}

function shapeOf({ name, value }: Flag): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`
}

function meaningOf(flag: Flag & { readonly variable?: string }): string {
  const { name, value, about, required, example, variable } = flag
  const parts = [about]
  if (required) parts.push('Required')
  if (flag.default !== undefined) parts.push(`Default: ${flag.default}`)
  if (value !== undefined && example !== undefined) parts.push(`Example: --${name} ${example}`)
  if (variable !== undefined) parts.push(`Variable: ${variable}`)
  return parts.join('. ')
}

function exampleOf(command: Command): string {
  const given = argumentsOf(command).map((name) => command.examples?.[name] ?? name)
  const flags = (command.flags ?? []).filter(({ required }) => required)
  const words = flags.map(({ name, value, example }) => (value === undefined ? `--${name}` : `--${name} ${example}`))
  return ['$ mailkeep', ...nameOf(command), ...given, ...words].join(' ')
}

function section(title: string, lines: readonly string[]): string {
  return [title, ...lines.map((line) => `    ${line}`)].join('\n')
}
