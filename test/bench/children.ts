/** Processes of the benchmark. The measured server runs on one core, the load on the other. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import type { Job, Measured } from './load.ts'
import { encryptionKey } from './population.ts'
import type { Receipts } from './receive.ts'

const root = join(import.meta.dirname, '../..')
const canPin = spawnSync('taskset', ['-c', '0,1', 'true']).status === 0
const serverCore = 0
export const otherCore = 1

/** Bundles the current daemon and the benchmark's own processes into `folder`. */
export async function bundle(folder: string): Promise<void> {
  const ours = ['serve', 'bare', 'load', 'receive', 'bare-pg', 'mail-receive', 'mail-send'].map((name) =>
    join(import.meta.dirname, `${name}.ts`),
  )
  await build({
    entryPoints: [join(root, 'daemon/main.ts'), ...ours],
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['better-sqlite3', 'pg-native', 'cloudflare:sockets'],
    outdir: folder,
    entryNames: '[name]',
    outExtension: { '.js': '.cjs' },
    logLevel: 'error',
  })
}

/** A child process of the benchmark. It communicates over IPC. */
export class Child implements AsyncDisposable {
  readonly process: ChildProcess
  /** The port of a process that listens: see `listening`. */
  port = 0
  #exited: Promise<unknown>

  /** @param core undefined: any core. */
  constructor(core: number | undefined, command: readonly string[], env: NodeJS.ProcessEnv = {}, ipc = true) {
    const [program, ...args] = canPin && core !== undefined ? ['taskset', '-c', String(core), ...command] : command
    this.process = spawn(program!, args, {
      env: { ...process.env, NODE_ENV: 'production', NODE_PATH: join(root, 'node_modules'), ...env },
      stdio: ['ignore', 'pipe', 'inherit', ...(ipc ? (['ipc'] as const) : [])],
    })
    this.#exited = once(this.process, 'exit')
  }

  get pid(): number {
    return this.process.pid!
  }

  tell(message: unknown): void {
    this.process.send!(message as object)
  }

  /** Resolves with the next message. */
  async answer<T>(): Promise<T> {
    const [message] = await this.alive(once(this.process, 'message'))
    return message
  }

  /** Resolves when the process has reported its port. */
  async listening(): Promise<this> {
    this.port = (await this.answer<{ port: number }>()).port
    return this
  }

  /** Resolves as `promise` does; rejects when the process ends first. */
  alive<T>(promise: Promise<T>): Promise<T> {
    const died = this.#exited.then(() => {
      throw new Error('a process of the benchmark has ended unexpectedly')
    })
    return Promise.race([promise, died])
  }

  ask<T>(message: unknown): Promise<T> {
    const answer = this.answer<T>()
    this.tell(message)
    return answer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill('SIGTERM')
    await this.#exited
  }
}

/** Generates load on the other core. */
export class Loader extends Child {
  constructor(folder: string) {
    super(otherCore, [process.execPath, join(folder, 'load.cjs')])
  }

  run(job: Job): Promise<Measured> {
    return this.ask(job)
  }

  /** Ends the current run. */
  end(): void {
    this.tell('stop')
  }
}

export class Receiver extends Child {
  static open(folder: string): Promise<Receiver> {
    return new Receiver(otherCore, [process.execPath, join(folder, 'receive.cjs')]).listening()
  }

  /** Resets the counters. */
  restart(): void {
    this.tell('restart')
  }

  receipts(): Promise<Receipts> {
    return this.ask('report')
  }

  /** Resolves after this many deliveries since the restart. */
  expect(awaited: number, sender: Server): Promise<Receipts> {
    return sender.alive(this.ask({ awaited, pid: sender.pid }))
  }
}

/** Runs the bare driver on the server's core. */
export class BarePg extends Child {
  constructor(folder: string) {
    super(serverCore, [process.execPath, join(folder, 'bare-pg.cjs')])
  }
}

interface Place {
  readonly folder: string
  readonly output: string
  readonly profile: boolean
}

/** A server process, on the server's core. */
export class Server extends Child {
  /** Starts bare polka. */
  static ceiling(folder: string): Promise<Server> {
    return new Server(serverCore, [process.execPath, join(folder, 'serve.cjs')]).listening()
  }

  /** Starts a mailkeep process that only delivers, on any core. */
  static async dispatching({ folder }: Place, database: string): Promise<Server> {
    const command = [process.execPath, join(folder, 'main.cjs'), 'dispatch', '--json']
    const server = new Server(undefined, command, daemonSettings(database), false)
    await server.alive(once(createInterface(server.process.stdout!), 'line'))
    return server
  }

  /** Starts a bare undici loop towards a receiver, with the headers and signatures of a delivery if `signed`. */
  static bareLoop(folder: string, port: number, signed = false): Server {
    const how = signed ? ['signed'] : []
    return new Server(serverCore, [process.execPath, join(folder, 'serve.cjs'), `http://127.0.0.1:${port}`, ...how])
  }

  /** Starts bare statements behind polka. */
  static bareSaves(folder: string, database: string): Promise<Server> {
    return new Server(serverCore, [process.execPath, join(folder, 'bare.cjs'), database]).listening()
  }

  /** Starts bare statements and undici towards a receiver. */
  static bareDeliveries(folder: string, database: string, port: number): Server {
    return new Server(serverCore, [process.execPath, join(folder, 'bare.cjs'), database, `http://127.0.0.1:${port}`])
  }

  /** Starts mailkeep's bundle on a database. It delivers webhooks if `env` enables that. */
  static async mailkeep({ folder, output, profile }: Place, database: string, env = {}, program = 'main.cjs') {
    const profiling = profile ? ['--cpu-prof', `--cpu-prof-dir=${output}`, '--cpu-prof-interval=500'] : []
    const command = [process.execPath, ...profiling, join(folder, program), 'serve', '--json']
    const server = new Server(serverCore, command, { ...daemonSettings(database), ...env }, false)
    const [line] = await server.alive(once(createInterface(server.process.stdout!), 'line'))
    server.port = JSON.parse(line).port
    return server
  }

  /** Starts mailkeep's bundle on any core, because it may have several processes. */
  static async mailkeepOnAnyCore({ folder }: Place, database: string, env: NodeJS.ProcessEnv): Promise<Server> {
    const command = [process.execPath, join(folder, 'main.cjs'), 'serve', '--json']
    const server = new Server(undefined, command, { ...daemonSettings(database), ...env }, false)
    const [line] = await server.alive(once(createInterface(server.process.stdout!), 'line'))
    server.port = JSON.parse(line).port
    return server
  }

  /** Returns the resident memory in MB. */
  residentMb(): number {
    const { stdout } = spawnSync('ps', ['-o', 'rss=', '-p', String(this.pid)])
    return Number(stdout.toString()) / 1024
  }
}

/** Logs warnings only, because one line per request would be part of the measurement. */
export function daemonSettings(database: string): NodeJS.ProcessEnv {
  return {
    MAILKEEP_DATABASE: database,
    MAILKEEP_PORT: '0',
    MAILKEEP_ENCRYPTION_KEY: encryptionKey,
    MAILKEEP_DISPATCH: 'false',
    MAILKEEP_LOG_LEVEL: 'warn',
    MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'true',
  }
}
