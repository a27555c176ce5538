import { availableParallelism } from 'node:os'
import * as v from 'valibot'
import { isPublicUrl, isSchemaName, publicUrlRule, schemaNameRule } from '../lib/internal.ts'
import { isKey } from './database-key.ts'
import { isServer } from './database-setting.ts'

/** A number written in digits. `Number()` alone would accept `0x10`, `1e3` and white space. */
function numeric(min: number, max: number, kind: 'integer' | 'decimal' = 'integer') {
  const message = `must be ${kind === 'integer' ? 'a whole number' : 'a number'} from ${min} to ${max}`
  return v.pipe(
    v.string(),
    v.regex(kind === 'integer' ? /^\d{1,12}$/ : /^\d{1,12}(?:\.\d{1,6})?$/, message),
    v.transform(Number),
    v.minValue(min, message),
    v.maxValue(max, message),
  )
}

/** @param empty Whether `none` is accepted for an empty list. */
function commaSeparated(min: number, max: number, kind: 'integer' | 'decimal', empty = false) {
  const one = numeric(min, max, kind)
  const message = `must be numbers from ${min} to ${max} with commas between${empty ? ', or none' : ''}`
  return v.pipe(
    v.string(),
    v.transform((text) => (text === 'none' && empty ? [] : text.split(',').map((part) => part.trim()))),
    v.check((parts) => parts.every((part) => v.is(one, part)), message),
    v.transform((parts) => parts.map(Number)),
  )
}

const yesOrNo = v.pipe(
  v.string(),
  v.toLowerCase(),
  v.picklist(['true', 'false', '1', '0'], 'must be true or false'),
  v.transform((text) => text === 'true' || text === '1'),
)

/** Token characters of `Authorization: Bearer …` (RFC 6750, 2.1). */
const token = v.pipe(
  v.string(),
  v.regex(/^[\w.~+/-]{1,512}=*$/, 'must be made of letters, digits and -._~+/ only, at most 512'),
)

/** The minimum length prevents guessing. */
const adminToken = v.pipe(token, v.minLength(32, 'must have at least 32 characters'))

const hostName = v.pipe(v.string(), v.regex(/^[\w.:%-]+$/, 'must be a host name or an address'))

const postgresUrlRule =
  'must be a URL with one host: postgres://USER@HOST/DATABASE, with user and password percent-encoded'
const postgresUrl = v.pipe(v.string(), v.check(isPostgresUrl, postgresUrlRule))

/** The driver names the wrong part of a URL that is not encoded, or none. */
function isPostgresUrl(text: string): boolean {
  if (!/^postgres(?:ql)?:\/\/\S*$/i.test(text) || /%(?![\da-f]{2})/i.test(text)) return false
  return URL.canParse(text.replace(/@(?=\/|$)/, '@host')) // the host may be missing: PGHOST, or ?host=/run/postgresql
}

const database = v.pipe(
  v.string(),
  v.check((text) => !isServer(text) || isPostgresUrl(text), postgresUrlRule),
  v.check(
    (text) => isServer(text) || !/^(?:file:|sqlite3?:|[a-z][a-z\d+.-]*:\/\/)/i.test(text),
    'must be the path of a SQLite file, :memory:, or postgres://…',
  ),
  v.check(
    (text) => isServer(text) || !/[/\\]$/.test(text),
    'must be the path of a file, and ends like one of a directory',
  ),
  v.check((text) => isServer(text) || text.trim() === text, 'must not begin or end with white space'),
)

/** Checked here, too, so that the message names the setting. */
const databaseSchema = v.pipe(
  v.string(),
  v.check((text) => isSchemaName(text), `must be ${schemaNameRule}`),
)

const publicUrl = v.pipe(
  v.string(),
  v.check((text) => isPublicUrl(text), `must be ${publicUrlRule}`),
  v.transform((text) => new URL(text).href.replace(/\/+$/, '')),
)

const origins = v.pipe(
  v.string(),
  v.transform((text) => text.split(',').map((part) => part.trim())),
  v.check(
    (parts) => parts.every((part) => /^https?:\/\/[^\s;,/?#@]+$/i.test(part) && URL.canParse(part)),
    'must be origins such as https://app.example.com, with commas between',
  ),
  v.transform((parts) => parts.map((part) => new URL(part).origin)), // a header must be ASCII
)

const mailTransport = v.pipe(
  v.string(),
  v.regex(/^(?:folder:.+|smtp|ses|none)$/s, 'must be folder:PATH, smtp, ses or none'),
)

/** The library checks the parts of the URL. */
const smtpUrl = v.pipe(
  v.string(),
  v.check(
    (text) => /^smtps?:\/\/\S+$/i.test(text) && URL.canParse(text),
    'must be a URL: smtp://USER:PASSWORD@HOST:PORT or smtps://…',
  ),
)

const topicArns = v.pipe(
  v.string(),
  v.transform((text) => text.split(',').map((part) => part.trim())),
  v.check(
    (parts) => parts.every((part) => /^arn:aws[\w-]*:sns:[a-z\d-]+:\d{12}:[\w-]{1,256}$/.test(part)),
    'must be ARNs of SNS topics with commas between: arn:aws:sns:REGION:ACCOUNT:NAME',
  ),
)

const maxProcesses = 64
const processes = v.pipe(
  v.string(),
  v.check(
    (text) => text === 'auto' || v.is(numeric(1, maxProcesses), text),
    `must be a whole number from 1 to ${maxProcesses}, or auto`,
  ),
  v.transform((text) => (text === 'auto' ? Math.min(availableParallelism(), maxProcesses) : Number(text))),
)

const postalAddress = v.pipe(v.string(), v.trim(), v.maxLength(1000, 'must have at most 1000 characters'))

const encryptionKey = v.pipe(v.string(), v.check(isKey, 'must be the base64 of 32 bytes'))

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** All settings by name, without `MAILKEEP_`. Defaults that are missing here are in the library, if there are any. */
export const Settings = v.object({
  HOST: v.optional(hostName, '127.0.0.1'),
  PORT: v.optional(numeric(0, 65_535), '6245'),
  DATABASE: v.optional(database, 'mailkeep.db'),
  DATABASE_SCHEMA: v.optional(databaseSchema),
  DATABASE_CONNECTIONS: v.optional(numeric(1, 1000)),
  DATABASE_POOLER: v.optional(yesOrNo),
  COPY_TO: v.optional(postgresUrl),
  PUBLIC_URL: v.optional(publicUrl),
  TRUST_PROXY: v.optional(yesOrNo, 'false'),
  ADMIN_TOKEN: v.optional(adminToken),
  ENCRYPTION_KEY: v.optional(encryptionKey),
  PREVIOUS_ENCRYPTION_KEY: v.optional(encryptionKey),
  LOG_LEVEL: v.optional(v.picklist(logLevels, `must be one of ${logLevels.join(', ')}`)),
  METRICS_TOKEN: v.optional(token),
  DISPATCH: v.optional(yesOrNo, 'true'),
  PROCESSES: v.optional(processes, '1'),
  CONSOLE: v.optional(yesOrNo, 'true'),
  PORTAL_ORIGINS: v.optional(origins),
  WEBHOOK_ALLOW_PRIVATE: v.optional(yesOrNo),
  WEBHOOK_PORTS: v.optional(commaSeparated(1, 65_535, 'integer')),
  WEBHOOK_RETRY_SCHEDULE: v.optional(commaSeparated(0, 31_536_000, 'decimal', true)),
  WEBHOOK_TIMEOUT_SECONDS: v.optional(numeric(0.1, 3600, 'decimal')),
  WEBHOOK_CONCURRENCY: v.optional(numeric(1, 10_000)),
  WEBHOOK_ENDPOINT_CONCURRENCY: v.optional(numeric(1, 10_000)),
  WEBHOOK_DISABLE_AFTER_FAILURES: v.optional(numeric(1, 1_000_000)),
  WEBHOOK_DISABLE_AFTER_HOURS: v.optional(numeric(0, 87_600, 'decimal')),
  ENDPOINTS_PER_CLIENT: v.optional(numeric(1, 1_000_000)),
  TEST_DELIVERIES_PER_MINUTE: v.optional(numeric(0, 1_000_000)),
  DELIVERY_RETENTION_DAYS: v.optional(numeric(0.001, 36_500, 'decimal')),
  MAIL_TRANSPORT: v.optional(mailTransport),
  SMTP_URL: v.optional(smtpUrl),
  MAIL_RATE: v.optional(numeric(0.01, 100_000, 'decimal')),
  MAIL_CONNECTIONS: v.optional(numeric(1, 1000)),
  MAIL_ALLOW_UNVERIFIED: v.optional(yesOrNo),
  POSTAL_ADDRESS: v.optional(postalAddress),
  SES_TOPICS: v.optional(topicArns),
})
export type Settings = v.InferOutput<typeof Settings>
export type SettingName = keyof Settings

/** Settings refused on the command line, which every user of the machine can read. */
export const secretSettings: ReadonlySet<string> = new Set([
  'ADMIN_TOKEN',
  'ENCRYPTION_KEY',
  'PREVIOUS_ENCRYPTION_KEY',
  'METRICS_TOKEN',
  'COPY_TO',
  'SMTP_URL',
])

/** Settings that `MAILKEEP_…_FILE` can read from a file. DATABASE is one, because its URL may contain a password. */
export const fileSettings: ReadonlySet<string> = new Set([...secretSettings, 'DATABASE'])

/** Settings whose flag needs no value. */
export const switchSettings: ReadonlySet<string> = new Set([
  'DISPATCH',
  'CONSOLE',
  'TRUST_PROXY',
  'DATABASE_POOLER',
  'WEBHOOK_ALLOW_PRIVATE',
  'MAIL_ALLOW_UNVERIFIED',
])

export const settingNames = Object.keys(Settings.entries) as SettingName[]

export function variableOf(name: string): string {
  return `MAILKEEP_${name}`
}

export function flagOf(name: string): string {
  return name.toLowerCase().replaceAll('_', '-')
}
