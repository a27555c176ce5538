/** The parent's side of a mailkeep in a child process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { ClientMailkeep } from '../../lib/index.ts'
import type { Call, CallResult, ChildMessage, Control, OpenOptions } from './child.ts'

/** A running mailkeep, in this process or in another. */
export interface Running {
  readonly acked: Set<string>
  readonly refused: Set<string>
  readonly broken: string[]
  readonly client: ClientMailkeep
  /** Moves its clock forward, or back. */
  advance(ms: number): Promise<void>
}

/** Longer for the full suite, whose newsletters have more recipients. */
const patienceMs = Math.max(60_000, 10 * Number(process.env.FAULT_RECIPIENTS ?? 0))
const { resolve } = createRequire(import.meta.url)
let bundled: Promise<string> | undefined

/** Bundles the child and the library into one file. It starts five times faster than the sources through tsx. */
function bundle(): Promise<string> {
  bundled ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mailkeep-faults-child-'))
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
    const outfile = join(folder, 'child.mjs')
    await build({
      entryPoints: [fileURLToPath(new URL('child.ts', import.meta.url))],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      plugins: [
        {
          name: 'modules other than ECMAScript modules stay external',
          setup: ({ onResolve }) =>
            onResolve({ filter: /^(better-sqlite3|undici|pg|nodemailer)$/ }, ({ path }) => ({
              path: resolve(path),
              external: true,
            })),
        },
      ],
    })
    return outfile
  })()
  return bundled
}

export class Keeper implements Running {
  readonly client: ClientMailkeep = remoteProxy((path, args) => this.#call(`client.${path}`, args))
  readonly control: Control = remoteProxy((path, args) => this.#call(`control.${path}`, args))
  /** Keys of the events that the library has acknowledged. */
  readonly acked = new Set<string>()
  readonly refused = new Set<string>()
  readonly broken: string[] = []
  readonly logged: string[] = []
  /** Number of traps that were triggered and did not kill the process. */
  triggered = 0
  /** Resolves with the signal that ended the process, after all its messages were received. */
  readonly gone: Promise<NodeJS.Signals | null>
  readonly #child: ChildProcess
  readonly #calls = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  readonly #listeners = new Set<() => void>()
  #lastId = 0
  #stderr = ''

  private constructor(file: string) {
    this.#child = spawn(process.execPath, [file], {
      env: { ...process.env, NODE_COMPILE_CACHE: `${file}.cache` },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    this.#child.on('message', (message: ChildMessage | CallResult) => this.#hear(message))
    this.gone = this.#end()
  }

  static async spawn(options: OpenOptions): Promise<Keeper> {
    const keeper = await Keeper.begin()
    await keeper.control.open(options)
    return keeper
  }

  /** Starts a process that has not opened its database yet. */
  static async begin(): Promise<Keeper> {
    return new Keeper(await bundle())
  }

  advance(ms: number): Promise<void> {
    return this.control.advance(ms)
  }

  /** Sends SIGKILL; resolves when the process has ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.gone
  }

  /** Resolves once the trap has killed the process. */
  async trapped(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`the trap was not triggered${this.#stderr}`)), patienceMs)
    })
    const signal = await Promise.race([this.gone, late]).finally(() => clearTimeout(timer))
    if (signal !== 'SIGKILL') throw this.#isGone()
  }

  /** Sends SIGSTOP: the process is suspended, but still exists. */
  freeze(): void {
    this.#child.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child.kill('SIGCONT')
  }

  /** Resolves once `wanted` holds; checks it after every message of the child. */
  async waitUntil(wanted: () => boolean): Promise<void> {
    while (!wanted()) {
      await new Promise<void>((resolve, reject) => {
        const listener = () => {
          this.#listeners.delete(listener)
          resolve()
        }
        this.#listeners.add(listener)
        void this.gone.then(() => (wanted() ? resolve() : reject(this.#isGone())))
      })
    }
  }

  #call(path: string, args: readonly unknown[]): Promise<unknown> {
    const id = ++this.#lastId
    const called = new Promise<unknown>((resolve, reject) => {
      this.#calls.set(id, { resolve, reject })
      if (this.#child.connected) this.#child.send({ id, path, args } satisfies Call, () => {})
      else reject(this.#isGone())
    })
    called.catch(() => {}) // the process may be killed during the call, and the caller may not be waiting
    return called
  }

  #hear(message: ChildMessage | CallResult): void {
    if ('acked' in message) this.acked.add(message.acked)
    else if ('refused' in message) this.refused.add(message.refused)
    else if ('broken' in message) this.broken.push(message.broken)
    else if ('logged' in message) this.logged.push(message.logged)
    else if ('triggered' in message) this.triggered += 1
    else this.#settle(message)
    for (const listener of this.#listeners) listener()
  }

  #settle(answered: CallResult): void {
    const call = this.#calls.get(answered.id)
    this.#calls.delete(answered.id)
    if ('value' in answered) call?.resolve(answered.value)
    else if ('error' in answered) call?.reject(Object.assign(new Error(answered.error.message), answered.error))
    else call?.resolve(undefined) // JSON drops undefined
  }

  async #end(): Promise<NodeJS.Signals | null> {
    const exit = once(this.#child, 'exit')
    await Promise.all([exit, once(this.#child, 'disconnect'), once(this.#child, 'close')])
    for (const { reject } of this.#calls.values()) reject(this.#isGone())
    this.#calls.clear()
    const [, signal] = await exit
    return signal
  }

  #isGone(): Error {
    return new Error(`the process is gone${this.#stderr && `: ${this.#stderr}`}`)
  }
}

/** Returns an object whose functions are called remotely: `proxy.contacts.get(1)` is `remote('contacts.get', [1])`. */
function remoteProxy<T>(remote: (path: string, args: readonly unknown[]) => Promise<unknown>, path = ''): T {
  return new Proxy(() => {}, {
    get: (_, name) =>
      name === 'then' ? undefined : remoteProxy(remote, path ? `${path}.${String(name)}` : String(name)),
    apply: (_, __, args) => remote(path, args),
  }) as T
}
