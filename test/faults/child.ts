/** A mailkeep in a child process. The parent controls it over IPC, and kills it. */
import module from 'node:module'
import { createMailkeep, type Mailkeep, type MailSettings, type WebhookSettings } from '../../lib/index.ts'
import { smtp } from '../../lib/sending/transports/smtp.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { type Answer, type Load, Loader } from './load.ts'
import {
  loggedStatements,
  logStatements,
  setTrap,
  watchPostgres,
  watchStatements,
  writingHandle,
} from './statements.ts'

export interface OpenOptions {
  readonly file?: string | undefined
  /** Used instead of a file. */
  readonly postgres?: { readonly url: string; readonly schema: string } | undefined
  /** base64 */
  readonly key: string
  readonly previousKeys?: readonly string[]
  readonly clientId: number
  /** Offset of its clock. */
  readonly aheadMs: number
  readonly webhooks: Partial<WebhookSettings>
  /** The SMTP server on this machine that mail is sent to. */
  readonly mail?: { readonly port: number; readonly connections: number; readonly timeoutMs: number }
}

/** The functions that the parent can call. */
export type Control = typeof control

/** Messages that the child sends without a call. */
export type ChildMessage =
  | Answer
  | { readonly logged: string }
  /** The trap was triggered and did not kill the process. */
  | { readonly triggered: true }

/** The result of a call. */
export type CallResult =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: { name: string; message: string; code: string | undefined } }

export interface Call {
  readonly id: number
  /** For example `control.open` or `client.contacts.addToList`. */
  readonly path: string
  readonly args: readonly unknown[]
}

let mailkeep: Mailkeep | undefined
let clientId = 0
let aheadMs = 0
const loader = new Loader(tell)

const control = {
  async open(options: OpenOptions): Promise<void> {
    const { file, postgres: server, key, previousKeys = [], webhooks, mail } = options
    clientId = options.clientId
    aheadMs = options.aheadMs
    const error = (fields: object, message: string) => tell({ logged: `${message}: ${errorIn(fields)}` })
    mailkeep = await createMailkeep({
      database: server ? postgres(server.url, { schema: server.schema }) : sqlite(file!),
      encryptionKey: key,
      previousEncryptionKeys: previousKeys,
      clock: () => Date.now() + aheadMs,
      webhooks,
      ...(mail && { publicUrl: 'https://mail.example.com', mail: mailSettings(mail) }),
      logger: { debug() {}, info() {}, warn() {}, error },
    })
  },
  async start(): Promise<void> {
    module.flushCompileCache?.() // a process that is killed would not write it; Node 20 has none
    mailkeep!.start()
  },
  async close(timeoutMs: number): Promise<void> {
    await mailkeep!.close({ timeoutMs })
  },
  /** Moves the clock forward, or back. */
  async advance(ms: number): Promise<void> {
    aheadMs += ms
  },
  async resealSecrets(): Promise<number> {
    return await mailkeep!.resealSecrets()
  },
  /** Defined here because a callback cannot be sent over IPC. */
  async addByKey(key: string, listId: number, email: string): Promise<{ created: boolean; replayed: boolean }> {
    const { answer, replayed } = await mailkeep!
      .forClient(clientId)
      .withIdempotencyKey(key, { listId, email }, (client) => client.contacts.addToList(listId, { email }))
    return { created: answer.created, replayed }
  },
  async load(load: Load): Promise<void> {
    await loader.run(mailkeep!.forClient(clientId), load)
  },
  async stopLoad(): Promise<void> {
    loader.stop()
  },
  async setTrap(...args: Parameters<typeof setTrap>): Promise<void> {
    setTrap(...args)
  },
  async logStatements(): Promise<void> {
    logStatements()
  },
  async loggedStatements(): Promise<readonly string[]> {
    return loggedStatements()
  },
  /** Limits the connection that writes. At `as many as now`, the next new page fails with SQLITE_FULL. */
  async setMaxPages(pages: 'as many as now' | 'unlimited'): Promise<void> {
    const handle = writingHandle()
    const count = pages === 'unlimited' ? 4_294_967_294 : handle.pragma('page_count', { simple: true })
    handle.pragma(`max_page_count = ${count}`)
  },
}

function mailSettings({ port, connections, timeoutMs }: NonNullable<OpenOptions['mail']>): Partial<MailSettings> {
  const transport = smtp({ url: `smtp://127.0.0.1:${port}`, connections, timeoutMs })
  return { transport, connections, rate: 100_000, allowUnverified: true }
}

function errorIn(fields: object): string {
  const error = (fields as { err?: unknown }).err
  return error instanceof Error ? (error.stack ?? error.message) : JSON.stringify(fields)
}

function tell(output: ChildMessage | CallResult): void {
  process.send!(output)
}

async function answer({ id, path, args }: Call): Promise<void> {
  try {
    const root = { control, client: mailkeep?.forClient(clientId) }
    const owner = path.split('.').reduce((object: unknown, name) => (object as Record<string, unknown>)[name], root)
    tell({ id, value: await (owner as (...args: readonly unknown[]) => unknown)(...args) })
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    const { code } = error as { code?: string }
    tell({ id, error: { name: error.name, message: error.message, code } })
  }
}

watchStatements()
watchPostgres()
process.on('message', (call: Call) => void answer(call))
// The parent can be killed too.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
