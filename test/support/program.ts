/** Runs the program like users do: bundled from its sources, or as the binary of MAILKEEP_TEST_BINARY. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { buildBundle } from '../../.ci/build-binary.ts'
import { databaseFolder } from './folders.ts'

export type Environment = Readonly<Record<string, string>>

/** A program and the words before its arguments. */
type Program = readonly string[]

const { MAILKEEP_TEST_BINARY: binary, MAILKEEP_TEST_BUNDLE: built } = process.env
const program: Program = binary === undefined ? await bundle() : [binary]

/** The bundle starts six times as fast as the sources. `run.ts` builds one for all files. */
async function bundle(): Promise<Program> {
  if (built !== undefined) return [process.execPath, built]
  const folder = await mkdtemp(join(tmpdir(), 'mailkeep-bundle-'))
  after(() => rm(folder, { recursive: true, force: true }))
  await buildBundle(folder)
  return [process.execPath, join(folder, 'mailkeep.cjs')]
}

/** Keeps the compiled bundle for the next start, which then takes a third less processor time. */
const compileCache: Environment = binary === undefined ? { NODE_COMPILE_CACHE: `${program[1]}.cache` } : {}

export interface Surroundings {
  readonly cwd: string
  readonly env?: Environment
  readonly program?: Program
}

/** Creates a directory that is removed after the test. A program that still runs may add a file to it during that. */
export async function directory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(databaseFolder, 'mailkeep-program-'))
  t.after(() => rm(path, { recursive: true, force: true, maxRetries: 10 }))
  return path
}

/** Returns the words that start the program. */
export function commandLine(args: readonly string[]): string[] {
  return [...program, ...args]
}

export function start(args: readonly string[], { cwd, env = {}, program: used = program }: Surroundings) {
  const inherited = Object.entries(process.env).filter(([name]) => !/^MAILKEEP_|^NODE_/.test(name))
  const [command = '', ...words] = used
  const child = spawn(command, [...words, ...args], {
    cwd,
    env: { ...Object.fromEntries(inherited), ...compileCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { child, said: collect(child), closed: once(child, 'close') as Promise<[number | null, string | null]> }
}

export function collect(child: ChildProcess) {
  const said = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    said.out += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    said.err += text
  })
  return said
}

/** Runs a command to its end. */
export async function run(args: readonly string[], surroundings: Surroundings) {
  const { said, closed } = start(args, surroundings)
  const [code] = await closed
  return { ...said, code }
}

/** Runs a command that must succeed, and parses its JSON output. */
export async function runJson<T>(args: readonly string[], surroundings: Surroundings): Promise<T> {
  const { out, err, code } = await run([...args, '--json'], surroundings)
  assert.equal(code, 0, err)
  return JSON.parse(out)
}

/** Runs a command that must fail with one line of output. @returns The line. */
export async function errorLineOf(args: readonly string[], surroundings: Surroundings): Promise<string> {
  const { out, err, code } = await run(args, surroundings)
  assert.equal(out, '')
  assert.match(err, /^mailkeep: .+\n$/)
  assert.equal(code, 1)
  return err
}

/** Starts a daemon that is stopped after the test, and waits until it listens. */
export async function daemon(t: TestContext, surroundings: Surroundings, args: readonly string[] = []) {
  const { child, said, closed } = start(['--port', '0', '--json', ...args], surroundings)
  t.after(async () => {
    child.kill('SIGKILL')
    await closed
  })
  return await listening(child, said, closed, surroundings.cwd)
}

/** Waits for the line of JSON that a long-running command prints when it is ready. */
export async function firstLine(
  child: ChildProcess,
  said: { out: string; err: string },
  closed: Promise<unknown>,
): Promise<{ url?: string }> {
  while (!said.out.includes('\n')) {
    const ended = await Promise.race([once(child.stdout!, 'data').then(() => false), closed.then(() => true)])
    assert.ok(!ended, `it ended: ${said.err}`)
  }
  return JSON.parse(said.out)
}

export async function listening(
  child: ChildProcess,
  said: { out: string; err: string },
  closed: Promise<[number | null, string | null]>,
  cwd: string,
) {
  const { url = '' } = await firstLine(child, said, closed)
  const ask = async (method: string, path: string, body?: object) => {
    const token = (await readFile(join(cwd, 'mailkeep.db.admin-token'), 'utf8')).trim()
    const headers = { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) }
    return await fetch(url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
  }
  /** Calls the API with the first admin token, and returns the answer's data. */
  const data = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await ask(method, `/api/v1${path}`, body)
    const text = await answer.text()
    assert.ok(answer.ok, `${method} ${path} → ${answer.status} ${text}`)
    return JSON.parse(text).data
  }
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return await closed
  }
  return { child, said, url, ask, data, stop, closed }
}
