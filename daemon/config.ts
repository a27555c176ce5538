import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname, join } from 'node:path'
import * as v from 'valibot'
import type { MailSettings, WebhookSettings } from '../lib/index.ts'
import { defined } from '../lib/internal.ts'
import { CliError, reasonOf } from './cli-error.ts'
import { inMemory, isServer } from './database-setting.ts'
import {
  fileSettings,
  flagOf,
  type SettingName,
  Settings,
  secretSettings,
  settingNames,
  switchSettings,
  variableOf,
} from './settings.ts'
import { nearest } from './suggest.ts'

/** The daemon's whole configuration. */
export interface Config {
  readonly host: string
  readonly port: number
  /** A SQLite file's path, `:memory:`, or `postgres://…`. */
  readonly database: string
  /** Only the settings that are set. */
  readonly postgres: PostgresSettings
  /** Target of `mailkeep copy`: `postgres://…`, possibly with a password. */
  readonly copyTo: string | undefined
  /** Without a trailing slash. */
  readonly publicUrl: string | undefined
  /** Whether `X-Forwarded-For` names the client. */
  readonly trustProxy: boolean
  readonly adminToken: string | undefined
  /** The file that `adminToken` was read from, if any. */
  readonly adminTokenFile: string | undefined
  /** Base64 of 32 bytes. */
  readonly encryptionKey: string | undefined
  /** The key before a rotation, needed until `mailkeep secrets reseal` is done. Base64 of 32 bytes. */
  readonly previousEncryptionKey: string | undefined
  readonly logLevel: Settings['LOG_LEVEL']
  readonly metricsToken: string | undefined
  /** Whether `serve` delivers webhooks and sends mail. */
  readonly dispatch: boolean
  /** Number of processes that answer requests. */
  readonly processes: number
  /** Whether the web console and the documentation are served. */
  readonly console: boolean
  /** Origins of the pages that may embed the portal. */
  readonly portalOrigins: readonly string[]
  /** Only the settings that are set. The library has the defaults. */
  readonly webhooks: Partial<WebhookSettings>
  readonly mail: MailConfig
}

/** How mail is sent. */
export interface MailConfig {
  readonly transport:
    | { readonly kind: 'folder'; readonly path: string }
    | { readonly kind: 'smtp'; readonly url: string; readonly ehloName: string | undefined }
    | { readonly kind: 'ses' }
    | { readonly kind: 'none' }
  /** Only the settings that are set. The library has the defaults. */
  readonly settings: Partial<MailSettings>
  /** ARNs of the SNS topics whose notifications are accepted. */
  readonly sesTopics: readonly string[]
}

/** Options for the library's `postgres()`. */
interface PostgresSettings {
  readonly schema?: string
  readonly connections?: number
  readonly pooler?: boolean
}

/** Flags by name without dashes, as the command line gave them. */
export type Flags = Readonly<Record<string, unknown>>

type Environment = Readonly<Record<string, string | undefined>>

/** A setting's text and its source. */
interface GivenSetting {
  readonly value: string
  /** Flag or variable, for error messages. */
  readonly source: string
  /** The file that the value was read from. */
  readonly path?: string
}

/**
 * Reads the settings. A flag overrides the variable. An empty or blank variable counts as unset.
 *
 * @returns The settings, and one warning for each unknown `MAILKEEP_…` variable.
 * @throws CliError One line that names the wrong setting, never a secret's value.
 */
export function readConfig(env: Environment, flags: Flags): { config: Config; warnings: string[] } {
  const given = new Map<SettingName, GivenSetting>()
  for (const name of settingNames) {
    const found = fromFlag(name, flags) ?? fromEnvironment(name, env)
    if (found) given.set(name, found)
  }
  const values = Object.fromEntries([...given].map(([name, { value }]) => [name, value]))
  const result = v.safeParse(Settings, values)
  if (!result.success) throw invalidSetting(result.issues[0], given)
  const adminTokenFile = given.get('ADMIN_TOKEN')?.path
  return { config: { ...configFrom(result.output), adminTokenFile }, warnings: unknownVariables(env) }
}

function fromFlag(name: SettingName, flags: Flags): GivenSetting | undefined {
  const flag = flagOf(name)
  if (!Object.hasOwn(flags, flag) || flags[flag] === undefined) return undefined
  const value = flags[flag]
  const source = `--${flag} (${variableOf(name)})`
  if (switchSettings.has(name) && (value === '' || value === false)) {
    return { value: value === '' ? 'true' : 'false', source }
  }
  if (typeof value !== 'string' || value === '') throw new CliError(`--${flag} needs one value.`, 2)
  if (name === 'DATABASE' && isServer(value)) {
    throw new CliError('--database takes no URL, which may hold a password: set MAILKEEP_DATABASE instead.', 2)
  }
  return { value, source }
}

function fromEnvironment(name: SettingName, env: Environment): GivenSetting | undefined {
  const variable = variableOf(name)
  const value = textOf(env, variable)
  const path = fileSettings.has(name) ? textOf(env, `${variable}_FILE`) : undefined
  if (value && path) throw new CliError(`${variable} and ${variable}_FILE are both set: one of them is enough.`)
  if (path) return { value: readSetting(`${variable}_FILE`, path), source: `${variable}_FILE`, path }
  return value ? { value, source: variable } : undefined
}

function textOf(env: Environment, variable: string): string | undefined {
  const text = env[variable]
  return text?.trim() ? text : undefined
}

function readSetting(variable: string, path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new CliError(`${variable}: ${path} cannot be read: ${reasonOf(error)}.`)
  }
  if (text === '') throw new CliError(`${variable}: ${path} is empty.`)
  return text
}

function invalidSetting(issue: v.BaseIssue<unknown>, given: ReadonlyMap<string, GivenSetting>): CliError {
  const name = String(issue.path?.[0]?.key)
  const { value, source } = given.get(name) ?? { value: '', source: variableOf(name) }
  // A URL may hold a password before its @.
  const isSecret = fileSettings.has(name) || value.includes('@')
  const shown = isSecret ? '' : `, not ${JSON.stringify(value.slice(0, 100))}`
  return new CliError(`${source} ${issue.message}${shown}.`)
}

function configFrom(settings: Settings): Omit<Config, 'adminTokenFile'> {
  return {
    host: settings.HOST,
    port: settings.PORT,
    database: settings.DATABASE,
    postgres: defined({
      schema: settings.DATABASE_SCHEMA,
      connections: settings.DATABASE_CONNECTIONS,
      pooler: settings.DATABASE_POOLER,
    }),
    copyTo: settings.COPY_TO,
    publicUrl: settings.PUBLIC_URL,
    trustProxy: settings.TRUST_PROXY,
    adminToken: settings.ADMIN_TOKEN,
    encryptionKey: settings.ENCRYPTION_KEY,
    previousEncryptionKey: settings.PREVIOUS_ENCRYPTION_KEY,
    logLevel: settings.LOG_LEVEL,
    metricsToken: settings.METRICS_TOKEN,
    dispatch: settings.DISPATCH,
    processes: settings.PROCESSES,
    console: settings.CONSOLE,
    portalOrigins: settings.PORTAL_ORIGINS ?? [],
    webhooks: defined({
      allowPrivate: settings.WEBHOOK_ALLOW_PRIVATE,
      ports: settings.WEBHOOK_PORTS,
      retryScheduleSeconds: settings.WEBHOOK_RETRY_SCHEDULE,
      timeoutSeconds: settings.WEBHOOK_TIMEOUT_SECONDS,
      concurrency: settings.WEBHOOK_CONCURRENCY,
      endpointConcurrency: settings.WEBHOOK_ENDPOINT_CONCURRENCY,
      disableAfterFailures: settings.WEBHOOK_DISABLE_AFTER_FAILURES,
      disableAfterHours: settings.WEBHOOK_DISABLE_AFTER_HOURS,
      endpointsPerClient: settings.ENDPOINTS_PER_CLIENT,
      testDeliveriesPerMinute: settings.TEST_DELIVERIES_PER_MINUTE,
      retentionDays: settings.DELIVERY_RETENTION_DAYS,
    }),
    mail: {
      transport: mailTransport(settings),
      settings: defined({
        rate: settings.MAIL_RATE,
        connections: settings.MAIL_CONNECTIONS,
        allowUnverified: settings.MAIL_ALLOW_UNVERIFIED,
        postalAddress: settings.POSTAL_ADDRESS,
      }),
      sesTopics: settings.SES_TOPICS ?? [],
    },
  }
}

/** @throws CliError The SMTP server is missing. */
function mailTransport({ MAIL_TRANSPORT, SMTP_URL, DATABASE, PUBLIC_URL }: Settings): MailConfig['transport'] {
  const chosen = MAIL_TRANSPORT ?? (SMTP_URL === undefined ? usualTransport(DATABASE) : 'smtp')
  if (chosen.startsWith('folder:')) return { kind: 'folder', path: chosen.slice('folder:'.length) }
  if (chosen !== 'smtp') return { kind: chosen as 'ses' | 'none' }
  if (SMTP_URL === undefined) throw new CliError('MAILKEEP_MAIL_TRANSPORT is smtp: set MAILKEEP_SMTP_URL too.')
  return { kind: 'smtp', url: SMTP_URL, ehloName: domainOf(PUBLIC_URL) }
}

/** Returns the host of the URL, if it is a name with a domain. */
function domainOf(url: string | undefined): string | undefined {
  const host = url === undefined ? '' : new URL(url).hostname
  return host.includes('.') && isIP(host) === 0 ? host : undefined
}

/** The first newsletter works with nothing set up: it is written to files. */
function usualTransport(database: string): string {
  return isServer(database) || database === inMemory ? 'none' : `folder:${join(dirname(database), 'mail')}`
}

/** Warns of unknown `MAILKEEP_…` variables. They are not refused, because orchestrators add some. */
function unknownVariables(env: Environment): string[] {
  const known = new Set(settingNames.map(variableOf))
  for (const name of fileSettings) known.add(`${variableOf(name)}_FILE`)
  const unknown = Object.keys(env).filter((variable) => variable.startsWith('MAILKEEP_') && !known.has(variable))
  return unknown.map((variable) => `${variable} is not a setting of mailkeep: it is ignored.`)
}

/**
 * Returns the error for a flag that a command does not have.
 *
 * @param known The command's flags.
 * @param command The command's name.
 */
export function unknownFlag(token: string, known: readonly string[], command: string): CliError {
  const given = token.replace(/=.*$/s, '')
  const flag = given.replace(/^-+/, '')
  if (/^-(?:v|-version)$/.test(token)) return new CliError(`${token} must be the only word: mailkeep ${token}.`, 2)
  if (['help', 'version', 'json'].includes(flag)) return new CliError(`${given} takes no value.`, 2)
  const secret = [...secretSettings].find((name) => flagOf(name) === flag)
  if (!secret) {
    const meant = nearest(flag, [...known, 'json', 'help'])
    const hint = meant === undefined ? '' : ` Did you mean --${meant}?`
    return new CliError(`There is no flag ${given} here.${hint} See mailkeep ${command} --help.`, 2)
  }
  const variable = variableOf(secret)
  return new CliError(
    `--${flag} is not taken from the command line, which others can read: set ${variable} or ${variable}_FILE.`,
    2,
  )
}
