import assert from 'node:assert/strict'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CliError } from '../../daemon/cli-error.ts'
import { type Config, type Flags, readConfig, unknownFlag } from '../../daemon/config.ts'
import { openEncryptionKey } from '../../daemon/encryption-key.ts'
import { flagOf, secretSettings, settingNames } from '../../daemon/settings.ts'

const key = Buffer.alloc(32, 7).toString('base64')
const previousKey = Buffer.alloc(32, 9).toString('base64')

async function directory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'mailkeep-config-'))
  t.after(() => rm(path, { recursive: true }))
  return path
}

function config(env: Record<string, string>, flags: Flags = {}): Config {
  return readConfig(env, flags).config
}

function configErrorOf(env: Record<string, string>, flags: Flags = {}): CliError {
  try {
    readConfig(env, flags)
  } catch (error) {
    if (error instanceof CliError) return error
    throw error
  }
  throw new Error(`${JSON.stringify({ env, flags })} was accepted`)
}

test('without any setting the defaults apply', () => {
  assert.deepEqual(readConfig({}, {}), {
    config: {
      host: '127.0.0.1',
      port: 6245,
      database: 'mailkeep.db',
      postgres: {},
      copyTo: undefined,
      publicUrl: undefined,
      trustProxy: false,
      adminToken: undefined,
      adminTokenFile: undefined,
      encryptionKey: undefined,
      previousEncryptionKey: undefined,
      logLevel: undefined,
      metricsToken: undefined,
      dispatch: true,
      processes: 1,
      console: true,
      portalOrigins: [],
      webhooks: {},
      mail: { transport: { kind: 'folder', path: 'mail' }, settings: {}, sesTopics: [] },
    },
    warnings: [],
  })
})

const everything = {
  HOST: '::1',
  PORT: '0',
  DATABASE: '/some/where.db',
  DATABASE_SCHEMA: 'mail',
  DATABASE_CONNECTIONS: '5',
  DATABASE_POOLER: 'true',
  COPY_TO: 'postgres://user@host/db',
  PUBLIC_URL: 'https://example.com/mail/',
  TRUST_PROXY: 'true',
  ADMIN_TOKEN: 'admin-token-0123456789-0123456789',
  ENCRYPTION_KEY: key,
  LOG_LEVEL: 'debug',
  METRICS_TOKEN: 'metrics-token',
  PREVIOUS_ENCRYPTION_KEY: previousKey,
  DISPATCH: 'false',
  PROCESSES: '3',
  CONSOLE: '0',
  PORTAL_ORIGINS: 'https://a.example, https://b.example:8443',
  WEBHOOK_ALLOW_PRIVATE: '1',
  WEBHOOK_PORTS: '443, 9443',
  WEBHOOK_RETRY_SCHEDULE: '0.5,1,2',
  WEBHOOK_TIMEOUT_SECONDS: '2.5',
  WEBHOOK_CONCURRENCY: '10',
  WEBHOOK_ENDPOINT_CONCURRENCY: '2',
  WEBHOOK_DISABLE_AFTER_FAILURES: '3',
  WEBHOOK_DISABLE_AFTER_HOURS: '0',
  ENDPOINTS_PER_CLIENT: '1000',
  TEST_DELIVERIES_PER_MINUTE: '5',
  DELIVERY_RETENTION_DAYS: '7',
  MAIL_TRANSPORT: 'smtp',
  SMTP_URL: 'smtp://user:password@smtp.example.com',
  MAIL_RATE: '0.5',
  MAIL_CONNECTIONS: '2',
  MAIL_ALLOW_UNVERIFIED: 'true',
  POSTAL_ADDRESS: ' Acme, 1 High Street ',
  SES_TOPICS: 'arn:aws:sns:eu-central-1:123456789012:bounces, arn:aws:sns:us-east-1:123456789012:complaints',
}
const understood: Config = {
  host: '::1',
  port: 0,
  database: '/some/where.db',
  postgres: { schema: 'mail', connections: 5, pooler: true },
  copyTo: 'postgres://user@host/db',
  publicUrl: 'https://example.com/mail',
  trustProxy: true,
  adminToken: 'admin-token-0123456789-0123456789',
  adminTokenFile: undefined,
  encryptionKey: key,
  previousEncryptionKey: previousKey,
  logLevel: 'debug',
  metricsToken: 'metrics-token',
  dispatch: false,
  processes: 3,
  console: false,
  portalOrigins: ['https://a.example', 'https://b.example:8443'],
  webhooks: {
    allowPrivate: true,
    ports: [443, 9443],
    retryScheduleSeconds: [0.5, 1, 2],
    timeoutSeconds: 2.5,
    concurrency: 10,
    endpointConcurrency: 2,
    disableAfterFailures: 3,
    disableAfterHours: 0,
    endpointsPerClient: 1000,
    testDeliveriesPerMinute: 5,
    retentionDays: 7,
  },
  mail: {
    transport: { kind: 'smtp', url: 'smtp://user:password@smtp.example.com', ehloName: 'example.com' },
    settings: { rate: 0.5, connections: 2, allowUnverified: true, postalAddress: 'Acme, 1 High Street' },
    sesTopics: ['arn:aws:sns:eu-central-1:123456789012:bounces', 'arn:aws:sns:us-east-1:123456789012:complaints'],
  },
}

test('every setting is read from the environment', () => {
  assert.deepEqual(Object.keys(everything).sort(), settingNames.toSorted())
  const env = Object.fromEntries(Object.entries(everything).map(([name, value]) => [`MAILKEEP_${name}`, value]))
  assert.deepEqual(readConfig(env, {}), { config: understood, warnings: [] })
})

test('every setting except secrets is a flag too, and the flag wins', () => {
  const named = Object.entries(everything).filter(([name]) => !secretSettings.has(name))
  const flags = Object.fromEntries(named.map(([name, value]) => [flagOf(name), value]))
  assert.equal(flags['webhook-allow-private'], '1')
  const smtp = { MAILKEEP_SMTP_URL: everything.SMTP_URL }
  const env = { MAILKEEP_PORT: '1', MAILKEEP_HOST: 'elsewhere', MAILKEEP_DATABASE_FILE: '/nowhere', ...smtp }
  const secrets = {
    adminToken: undefined,
    encryptionKey: undefined,
    previousEncryptionKey: undefined,
    metricsToken: undefined,
    copyTo: undefined,
  }
  assert.deepEqual(config(env, flags), { ...understood, ...secrets })
})

test('an empty or blank variable counts as not set', () => {
  for (const blank of ['', ' ', '\r']) {
    const empty = Object.fromEntries(settingNames.map((name) => [`MAILKEEP_${name}`, blank]))
    assert.deepEqual(config({ ...empty, MAILKEEP_ADMIN_TOKEN_FILE: blank }), config({}))
  }
})

test('mail goes to a folder beside the SQLite file, to an SMTP server that is set, or is switched off', () => {
  const transport = (env: Record<string, string>) => config(env).mail.transport
  assert.deepEqual(transport({}), { kind: 'folder', path: 'mail' })
  assert.deepEqual(transport({ MAILKEEP_DATABASE: '/var/lib/a/b.db' }), {
    kind: 'folder',
    path: join('/var/lib/a', 'mail'),
  })
  assert.deepEqual(transport({ MAILKEEP_DATABASE: ':memory:' }), { kind: 'none' })
  assert.deepEqual(transport({ MAILKEEP_DATABASE: 'postgres://h/d' }), { kind: 'none' })
  const MAILKEEP_SMTP_URL = 'smtp://127.0.0.1:2525'
  for (const MAILKEEP_PUBLIC_URL of ['https://203.0.113.9', 'http://[::1]:80', 'http://localhost:6245']) {
    const expected = { kind: 'smtp', url: MAILKEEP_SMTP_URL, ehloName: undefined }
    assert.deepEqual(transport({ MAILKEEP_SMTP_URL, MAILKEEP_PUBLIC_URL }), expected)
  }
  assert.deepEqual(transport({ MAILKEEP_SMTP_URL, MAILKEEP_MAIL_TRANSPORT: 'none' }), { kind: 'none' })
  assert.deepEqual(transport({ MAILKEEP_MAIL_TRANSPORT: 'ses' }), { kind: 'ses' })
  const folder = { MAILKEEP_MAIL_TRANSPORT: 'folder:/tmp/a: b' }
  assert.deepEqual(transport(folder), { kind: 'folder', path: '/tmp/a: b' })
  assert.match(configErrorOf({ MAILKEEP_MAIL_TRANSPORT: 'smtp' }).message, /MAILKEEP_SMTP_URL/)
})

test('switches as flags need no value', () => {
  assert.equal(config({}, { dispatch: false }).dispatch, false)
  assert.equal(config({ MAILKEEP_DISPATCH: 'false' }, { dispatch: '' }).dispatch, true)
  assert.equal(config({}, { 'webhook-allow-private': '' }).webhooks.allowPrivate, true)
  assert.equal(config({ MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'TRUE' }).webhooks.allowPrivate, true)
})

test('a wrong setting is one line that names it', () => {
  const wrong: Record<string, string[]> = {
    PORT: ['70000', '-1', '1.5', '0x10', '1e3', ' 80', 'tcp://10.0.0.1:80', '٣'],
    HOST: ['a b', 'http://x'],
    DATABASE: [
      'postgres:h/d',
      'postgresql:/h',
      'postgres://a b',
      'postgres://u:p%zw@h/d',
      'postgres://u:p/w@h/d',
      'postgres://h:99999/d',
      'mysql://h/d',
      'file:x.db',
      'sqlite:x.db',
      'folder/',
      ' mail.db',
      'mail.db ',
    ],
    DATABASE_SCHEMA: ['a b', 'a"b', '1a', 'x'.repeat(64)],
    DATABASE_CONNECTIONS: ['0', 'many'],
    DATABASE_POOLER: ['yes'],
    COPY_TO: ['mailkeep.db', 'mysql://h/d', 'postgres://u:p%w@h/d', 'postgres://u:p#w@h/d'],
    PUBLIC_URL: [
      ...['example.com', 'ftp://example.com', 'https://u@example.com', 'https://example.com?a', 'https://'],
      ...['https://example.com/mail?', 'https://example.com/#'], // paths that follow would not reach the server
    ],
    ADMIN_TOKEN: ['with space', 'ümlaut', 'x'.repeat(600), 'x'.repeat(31)],
    ENCRYPTION_KEY: ['short', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')],
    LOG_LEVEL: ['loud', 'INFO '],
    DISPATCH: ['yes', 'maybe'],
    CONSOLE: ['off'],
    PORTAL_ORIGINS: ['example.com', 'https://a.example/', 'https://a.example; script-src *'],
    WEBHOOK_PORTS: ['0', '443,', '443;8443', '65536'],
    WEBHOOK_RETRY_SCHEDULE: ['-5', '5,,5', 'soon'],
    WEBHOOK_TIMEOUT_SECONDS: ['0', 'Infinity', 'NaN'],
    WEBHOOK_CONCURRENCY: ['0', '2.5'],
    ENDPOINTS_PER_CLIENT: ['0', '-1', '2.5', 'many'],
    DELIVERY_RETENTION_DAYS: ['0', '1e9'],
    MAIL_TRANSPORT: ['mail', 'folder', 'folder:', 'SMTP', 'smtp:'],
    SMTP_URL: ['smtp.example.com', 'http://smtp.example.com', 'smtp://a b', 'smtp://smtp.example.com:port'],
    MAIL_RATE: ['0', '-1', 'fast'],
    MAIL_CONNECTIONS: ['0', '1.5'],
    MAIL_ALLOW_UNVERIFIED: ['yes'],
    POSTAL_ADDRESS: ['x'.repeat(1001)],
    SES_TOPICS: ['bounces', 'arn:aws:sqs:eu-central-1:123456789012:x', 'arn:aws:sns:eu-central-1:12:x'],
  }
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const { message, exitCode } = configErrorOf({ [`MAILKEEP_${name}`]: value })
      assert.match(message, new RegExp(`^MAILKEEP_${name} `))
      assert.doesNotMatch(message, /\n/)
      assert.equal(exitCode, 1)
    }
  }
})

test('an error about a flag names the flag as well', () => {
  const { message, exitCode } = configErrorOf({}, { port: '70000' })
  assert.equal(message, '--port (MAILKEEP_PORT) must be a whole number from 0 to 65535, not "70000".')
  assert.equal(exitCode, 1)
})

test('a flag without its value, or given twice, is wrong usage', () => {
  for (const value of ['', false, ['1', '2']]) assert.equal(configErrorOf({}, { port: value }).exitCode, 2)
})

test('an error never repeats a secret', () => {
  const secret = 'geheim geheim'
  const configErrors = [
    ...[...secretSettings].map((name) => configErrorOf({ [`MAILKEEP_${name}`]: secret })),
    configErrorOf({ MAILKEEP_DATABASE: 'postgres:user:geheim@host/db' }),
    configErrorOf({ MAILKEEP_COPY_TO: 'postgres:user:geheim@host/db' }),
    configErrorOf({ MAILKEEP_DATABASE: 'postgres://user:geheim%@host/db' }),
    configErrorOf({ MAILKEEP_PUBLIC_URL: 'https://user:geheim@host' }),
    configErrorOf({ MAILKEEP_PORTAL_ORIGINS: 'https://user:geheim@host' }),
    configErrorOf({}, { 'mail-transport': 'smtp://user:geheim@host' }),
    configErrorOf({}, { database: 'postgres://user:geheim@host/db' }),
    configErrorOf({}, { database: 'mysql://user:geheim@host/db' }),
    unknownFlag('--admin-token=geheim', [], 'serve'),
    unknownFlag('--other=geheim', [], 'serve'),
  ]
  for (const { message } of configErrors) assert.doesNotMatch(message, /geheim/)
})

test('secrets and database URLs are not taken from the command line', () => {
  for (const name of ['admin-token', 'encryption-key', 'metrics-token']) {
    const { message, exitCode } = unknownFlag(`--${name}`, [], 'serve')
    assert.match(message, new RegExp(`set MAILKEEP_${name.toUpperCase().replace('-', '_')} or MAILKEEP_.*_FILE`))
    assert.equal(exitCode, 2)
  }
  const { message, exitCode } = configErrorOf({}, { database: 'postgres://host/db' })
  assert.match(message, /MAILKEEP_DATABASE/)
  assert.equal(exitCode, 2)
})

test('secrets and the database URL can be read from files', async (t) => {
  const path = join(await directory(t), 'setting')
  await writeFile(path, `${key}\n`)
  const read = config({
    MAILKEEP_ENCRYPTION_KEY_FILE: path,
    MAILKEEP_ADMIN_TOKEN_FILE: path,
    MAILKEEP_DATABASE_FILE: path,
  })
  assert.equal(read.encryptionKey, key)
  assert.equal(read.adminToken, key)
  assert.equal(read.adminTokenFile, path)
  assert.equal(read.database, key)
})

test('a setting given both directly and as a file is refused', () => {
  const both = { MAILKEEP_ADMIN_TOKEN: 'a', MAILKEEP_ADMIN_TOKEN_FILE: '/b' }
  assert.match(configErrorOf(both).message, /^MAILKEEP_ADMIN_TOKEN and MAILKEEP_ADMIN_TOKEN_FILE are both set/)
})

test('a file that is missing or empty is named', async (t) => {
  const path = join(await directory(t), 'empty')
  await writeFile(path, '\n')
  assert.match(
    configErrorOf({ MAILKEEP_METRICS_TOKEN_FILE: path }).message,
    /^MAILKEEP_METRICS_TOKEN_FILE: .* is empty/,
  )
  assert.match(
    configErrorOf({ MAILKEEP_METRICS_TOKEN_FILE: `${path}x` }).message,
    /^MAILKEEP_METRICS_TOKEN_FILE: .* ENOENT/,
  )
})

test('an unknown variable with our prefix causes a warning', () => {
  const { warnings } = readConfig({ MAILKEEP_PROT: '1', MAILKEEP_PORT_FILE: 'x', OTHER: 'y' }, {})
  assert.deepEqual(
    warnings.map((line) => line.split(' ')[0]),
    ['MAILKEEP_PROT', 'MAILKEEP_PORT_FILE'],
  )
})

test('the encryption key is created next to a new database, readable by its owner only', async (t) => {
  const database = join(await directory(t), 'new.db')
  const made = await openEncryptionKey(config({}, { database }))
  assert.equal(Buffer.from(made, 'base64').length, 32)
  assert.equal((await stat(`${database}.key`)).mode & 0o777, 0o600)
  assert.equal(await openEncryptionKey(config({}, { database })), made)
})

test('many simultaneous starts agree on one encryption key', async (t) => {
  const settings = config({}, { database: join(await directory(t), 'new.db') })
  const keys = await Promise.all(Array.from({ length: 20 }, () => openEncryptionKey(settings)))
  assert.equal(new Set(keys).size, 1)
})

test('a start waits while another process writes the encryption key', async (t) => {
  const database = join(await directory(t), 'new.db')
  await writeFile(`${database}.key`, '')
  const opened = openEncryptionKey(config({}, { database }))
  await writeFile(`${database}.key`, `${key}\n`)
  assert.equal(await opened, key)
})

test('a database whose encryption key is missing gets no new one', async (t) => {
  const database = join(await directory(t), 'old.db')
  await writeFile(database, 'SQLite format 3\0and more')
  await assert.rejects(openEncryptionKey(config({}, { database })), /key of the database .* is missing/)
  assert.equal(await openEncryptionKey(config({ MAILKEEP_ENCRYPTION_KEY: key }, { database })), key)
})

test('a database in memory gets its own key', async () => {
  const settings = config({}, { database: ':memory:' })
  assert.notEqual(await openEncryptionKey(settings), await openEncryptionKey(settings))
})
