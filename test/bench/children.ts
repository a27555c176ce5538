/** Processes: what is measured on one core, what measures it on the other. */
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
const otherCore = 1

/** Bundles the daemon and our own processes, as they are at this moment, into `folder`. */
export async function bundle(folder: string): Promise<void> {
  const ours = ['serve', 'bare', 'load', 'receive', 'bare-pg'].map((name) => join(import.meta.dirname, `${name}.ts`))
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

/** A process of ours; it talks over IPC. */
export class Child implements AsyncDisposable {
  readonly process: ChildProcess
  #exited: Promise<unknown>

  /** @param core undefined: any that is free. */
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

  /** The next message. */
  async answer<T>(): Promise<T> {
    const [message] = await this.alive(once(this.process, 'message'))
    return message
  }

  /** As `promise`, or an error when the process ends before it settles. */
  alive<T>(promise: Promise<T>): Promise<T> {
    const died = this.#exited.then(() => {
      throw new Error('a process of the benchmark has died')
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

/** Makes load from the other core. */
export class Loader extends Child {
  constructor(folder: string) {
    super(otherCore, [process.execPath, join(folder, 'load.cjs')])
  }

  run(job: Job): Promise<Measured> {
    return this.ask(job)
  }

  /** Ends the run under way. */
  end(): void {
    this.tell('stop')
  }
}

export class Receiver extends Child {
  port = 0

  static async open(folder: string): Promise<Receiver> {
    const receiver = new Receiver(otherCore, [process.execPath, join(folder, 'receive.cjs')])
    receiver.port = (await receiver.answer<{ port: number }>()).port
    return receiver
  }

  /** Counts from now on. */
  restart(): void {
    this.tell('restart')
  }

  receipts(): Promise<Receipts> {
    return this.ask('report')
  }

  /** Settles when so many deliveries have come since the restart. */
  expect(awaited: number, sender: Server): Promise<Receipts> {
    return sender.alive(this.ask({ awaited, pid: sender.pid }))
  }
}

/** The driver alone, on the server's core. */
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

/** A server on the server's core. */
export class Server extends Child {
  port = 0

  /** Bare polka. */
  static async ceiling(folder: string): Promise<Server> {
    const server = new Server(serverCore, [process.execPath, join(folder, 'serve.cjs')])
    server.port = (await server.answer<{ port: number }>()).port
    return server
  }

  /** A process of mailkeep's that only delivers, on any core. */
  static async dispatching({ folder }: Place, database: string): Promise<Server> {
    const command = [process.execPath, join(folder, 'main.cjs'), 'dispatch', '--json']
    const server = new Server(undefined, command, daemonSettings(database), false)
    await server.alive(once(createInterface(server.process.stdout!), 'line'))
    return server
  }

  /** undici's bare loop towards a receiver; with a delivery's headers and signatures, if so. */
  static bareLoop(folder: string, port: number, signed = false): Server {
    const how = signed ? ['signed'] : []
    return new Server(serverCore, [process.execPath, join(folder, 'serve.cjs'), `http://127.0.0.1:${port}`, ...how])
  }

  /** Bare statements behind polka. */
  static async bareSaves(folder: string, database: string): Promise<Server> {
    const server = new Server(serverCore, [process.execPath, join(folder, 'bare.cjs'), database])
    server.port = (await server.answer<{ port: number }>()).port
    return server
  }

  /** Bare statements and undici, towards a receiver. */
  static bareDeliveries(folder: string, database: string, port: number): Server {
    return new Server(serverCore, [process.execPath, join(folder, 'bare.cjs'), database, `http://127.0.0.1:${port}`])
  }

  /** mailkeep's bundle on a database; it delivers webhooks when `env` says so. */
  static async mailkeep({ folder, output, profile }: Place, database: string, env = {}, program = 'main.cjs') {
    const profiling = profile ? ['--cpu-prof', `--cpu-prof-dir=${output}`, '--cpu-prof-interval=500'] : []
    const command = [process.execPath, ...profiling, join(folder, program), 'serve', '--json']
    const server = new Server(serverCore, command, { ...daemonSettings(database), ...env }, false)
    const [line] = await server.alive(once(createInterface(server.process.stdout!), 'line'))
    server.port = JSON.parse(line).port
    return server
  }

  /** Resident memory in MB. */
  residentMb(): number {
    const { stdout } = spawnSync('ps', ['-o', 'rss=', '-p', String(this.pid)])
    return Number(stdout.toString()) / 1024
  }
}

/** Warnings only: a line for each request would be measured as well. */
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
