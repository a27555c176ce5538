/** Generates clients from the running daemon's description, compiles them under strict settings, and runs a session. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { daemon, directory } from '../support/program.ts'

const workspace = import.meta.dirname
const ownTools = join(workspace, '../../node_modules')

/** The strictest compiler settings; lib.d.ts and the generated declarations are checked too. */
export const strict = {
  target: 'ES2023',
  lib: ['ES2023', 'DOM', 'DOM.Iterable'],
  module: 'ESNext',
  moduleResolution: 'bundler',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitReturns: true,
  noUnusedLocals: true,
  noPropertyAccessFromIndexSignature: false,
  allowImportingTsExtensions: true,
  skipLibCheck: false,
  noEmit: true,
}

/** Runs a program with this node; a failure shows its output. */
export async function node(cwd: string, ...args: string[]): Promise<string> {
  try {
    return (await promisify(execFile)(process.execPath, args, { cwd })).stdout
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { stdout: string; stderr: string }
    throw new Error(`${message}\n${stdout}\n${stderr}`)
  }
}

export type Generate = (folder: string) => Promise<string>

/** Starts a daemon, generates a client from its description, compiles a session with it, and runs that. */
export async function session(
  t: TestContext,
  file: string,
  generate: Generate,
  options: object = strict,
): Promise<unknown> {
  const { folder, cwd, url } = await project(t)
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['.'] }))
  await cp(join(workspace, file), join(folder, file))
  await generate(folder)
  await node(folder, join(ownTools, 'typescript/bin/tsc'))
  const token = (await readFile(join(cwd, 'mailkeep.db.admin-token'), 'utf8')).trim()
  return JSON.parse(await node(folder, '--import', 'tsx', file, url, token))
}

/** Creates a client's project with the description of a running daemon. */
export async function project(t: TestContext) {
  const cwd = await directory(t)
  const { url } = await daemon(t, { cwd, env: { MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'true' } })
  const folder = await mkdtemp(join(tmpdir(), 'mailkeep-client-'))
  t.after(() => rm(folder, { recursive: true }))
  await symlink(ownTools, join(folder, 'node_modules'), 'junction')
  const description = await fetch(`${url}/api/v1/openapi.json`)
  await writeFile(join(folder, 'api.json'), await description.text())
  return { folder, cwd, url }
}

/** What every session prints. */
export const expected = {
  secret: 'whsec_',
  company: 'Engines',
  city: 'London',
  tags: ['vip', 'beta'],
  found: ['ada@example.org'],
  cursor: null,
  nothing: 0,
  events: ['contact.subscribed'],
  code: 'validation_failed',
  fields: ['name'],
}
