/**
 * Runs the service as the binary of MAILKEEP_TEST_BINARY, for the suites over HTTP:
 * `MAILKEEP_TEST_BINARY=$PWD/dist/mailkeep npx tsx --test test/http/*.test.ts`
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, chown, copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import Database from 'better-sqlite3'
import { createMailkeep, type Mailkeep, type MailkeepOptions, type WebhookSettings } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'

export const testedBinary = process.env.MAILKEEP_TEST_BINARY

interface BinaryService {
  /** The library on the daemon's database, for operations that HTTP does not offer. */
  readonly mailkeep: Mailkeep
  readonly url: string
  readonly port: number
  advance(ms: number): void
}

/** When the tests run as root, the binary runs as another user. */
const isRoot = process.getuid?.() === 0
const otherUserId = 65_534

let placed: Promise<string> | undefined
after(async () => {
  if (placed) await rm(join(await placed, '..'), { recursive: true, force: true })
})

/** Copies the binary alone to a place where any user can run it. */
async function place(binary: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'mailkeep-alone-'))
  const copy = join(directory, 'mailkeep')
  await copyFile(binary, copy)
  for (const path of [directory, copy]) await chmod(path, 0o755)
  return copy
}

/** Creates an empty read-only working directory and a directory for the database. */
async function surroundings(closing: (() => unknown)[]) {
  const directory = await mkdtemp(join(tmpdir(), 'mailkeep-binary-'))
  closing.push(() => rm(directory, { recursive: true, force: true }))
  await chmod(directory, 0o755)
  const [cwd, data] = [join(directory, 'empty'), join(directory, 'data')]
  for (const path of [cwd, data]) await mkdir(path, { mode: 0o700 })
  if (isRoot) for (const path of [cwd, data]) await chown(path, otherUserId, otherUserId)
  await chmod(cwd, 0o500)
  closing.push(async () => assert.deepEqual(await readdir(cwd), [], 'it wrote outside its data directory'))
  return { cwd, data }
}

interface Options {
  readonly webhooks?: MailkeepOptions['webhooks']
  readonly publicUrl?: string | undefined
  readonly dispatch?: boolean
}

/**
 * Starts the binary in an empty directory without a PATH, as another user if possible.
 * @param closing Clean-up functions, called in reverse order.
 */
export async function serveBinary(
  binary: string,
  { webhooks = {}, publicUrl, dispatch = true }: Options,
  closing: (() => unknown)[],
): Promise<BinaryService> {
  placed ??= place(binary)
  const { cwd, data } = await surroundings(closing)
  const file = join(data, 'mailkeep.db')
  const encryptionKey = randomBytes(32).toString('base64')
  const child = spawn(await placed, ['--port', '0', '--json', '--database', file], {
    cwd,
    ...(isRoot ? { uid: otherUserId, gid: otherUserId } : {}),
    env: {
      PATH: '',
      TMPDIR: data,
      MAILKEEP_ADMIN_TOKEN: 'first-0123456789-0123456789-0123456789',
      MAILKEEP_ENCRYPTION_KEY: encryptionKey,
      MAILKEEP_LOG_LEVEL: 'error',
      MAILKEEP_DISPATCH: String(dispatch),
      ...(publicUrl === undefined ? {} : { MAILKEEP_PUBLIC_URL: publicUrl }),
      ...variablesOf({ allowPrivate: true, ...webhooks }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  const closed = once(child, 'close')
  closing.push(async () => {
    child.kill('SIGKILL')
    await closed
    assert.equal(errors, '', 'the service logged errors')
  })
  const [line] = (await Promise.race([once(child.stdout, 'data'), closed.then(() => [''])])) as [Buffer | '']
  assert.notEqual(line, '', errors)
  const { url, port } = JSON.parse(String(line)) as { url: string; port: number }
  const mailkeep = await createMailkeep({
    database: sqlite(file),
    encryptionKey,
    webhooks: { allowPrivate: true, ...webhooks },
  })
  closing.push(() => mailkeep.close({ timeoutMs: 0 }))
  return { mailkeep, url, port, advance: (ms) => age(file, ms) }
}

const variables: Partial<Record<keyof WebhookSettings, string>> = {
  allowPrivate: 'WEBHOOK_ALLOW_PRIVATE',
  ports: 'WEBHOOK_PORTS',
  retryScheduleSeconds: 'WEBHOOK_RETRY_SCHEDULE',
  timeoutSeconds: 'WEBHOOK_TIMEOUT_SECONDS',
  concurrency: 'WEBHOOK_CONCURRENCY',
  endpointConcurrency: 'WEBHOOK_ENDPOINT_CONCURRENCY',
  disableAfterFailures: 'WEBHOOK_DISABLE_AFTER_FAILURES',
  disableAfterHours: 'WEBHOOK_DISABLE_AFTER_HOURS',
  endpointsPerClient: 'ENDPOINTS_PER_CLIENT',
  testDeliveriesPerMinute: 'TEST_DELIVERIES_PER_MINUTE',
  retentionDays: 'DELIVERY_RETENTION_DAYS',
}

function variablesOf(settings: NonNullable<MailkeepOptions['webhooks']>): Record<string, string> {
  const set = Object.entries(settings).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    set.map(([name, value]) => {
      const variable = variables[name as keyof WebhookSettings]
      assert.ok(variable, `the daemon has no setting for ${name}`)
      return [`MAILKEEP_${variable}`, String(value) === '' ? 'none' : String(value)]
    }),
  )
}

const moments: readonly [table: string, column: string][] = [
  ['token', 'expires_at'],
  ['token', 'last_used_at'],
  ['endpoint', 'first_failure_at'],
  ['endpoint', 'last_triggered_at'],
  ['event', 'created_at'],
  ['delivery', 'created_at'],
  ['delivery', 'due_at'],
  ['delivery', 'scheduled_at'],
  ['delivery', 'claimed_at'],
  ['delivery', 'lease_until'],
  ['delivery', 'ended_at'],
  ['delivery', 'delivered_at'],
  ['attempt', 'started_at'],
  ['test_delivery', 'created_at'],
]

/** Lets time pass for another process: its clock cannot be moved, so stored times are moved back instead. */
function age(file: string, ms: number): void {
  const db = new Database(file)
  try {
    db.transaction(() => {
      for (const [table, column] of moments) {
        db.prepare(
          `update mailkeep_${table} set ${column} = strftime('%Y-%m-%dT%H:%M:%f', ${column}, ?) || '000Z' where ${column} is not null`,
        ).run(`${-ms / 1000} seconds`)
      }
    }).immediate()
  } finally {
    db.close()
  }
}
