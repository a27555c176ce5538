/**
 * Runs the behaviour suites on every supported combination of Node, better-sqlite3 and Kysely, and prints a table.
 * With `--write` the table also goes into test/README.md. Each combination gets a copy of the sources in a temporary
 * folder and its own `npm install`; Node comes from the npm package `node`.
 *
 * Run: npm run test:matrix [-- --write] [-- NODE_VERSION …]
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findPostgres } from '../support/find-postgres.ts'

const root = join(import.meta.dirname, '../..')

interface Combination {
  readonly node: string
  readonly sqlite: string
  readonly kysely: string
}

/** The oldest supported pair on the oldest supported Node, and the current pair on every later line. */
const combinations: readonly Combination[] = [
  { node: '20.19.0', sqlite: '12', kysely: '0.28' },
  { node: '22', sqlite: '13', kysely: '0.29' },
  { node: '24', sqlite: '13', kysely: '0.29' },
  { node: '26', sqlite: '13', kysely: '0.29' },
]

/**
 * Without `package` and `project`, which are about the development of mailkeep, and without `console`, which runs in a
 * browser.
 */
const behaviourFolders = [
  'contacts',
  'daemon',
  'http',
  'library',
  'pages',
  'properties',
  'sending',
  'storage',
  'webhooks',
]

interface Result extends Combination {
  readonly versions: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly log: string
}

function sources(): string[] {
  return execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
}

/** Copies the sources and installs this combination's packages beside them. */
async function install(folder: string, { node, sqlite, kysely }: Combination): Promise<void> {
  for (const name of sources()) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    cpSync(join(root, name), join(folder, name))
  }
  rmSync(join(folder, 'package-lock.json'))
  const file = join(folder, 'package.json')
  const description = JSON.parse(readFileSync(file, 'utf8'))
  Object.assign(description.devDependencies, { node, 'better-sqlite3': `^${sqlite}`, kysely: `^${kysely}` })
  // better-sqlite3 12 downloads or compiles its addon in an install script.
  description.allowScripts = { ...description.allowScripts, 'better-sqlite3': true }
  writeFileSync(file, JSON.stringify(description, null, 2))
  await run(npm(), ['install', '--no-package-lock', '--no-audit', '--no-fund'], folder)
}

/** npm as a Node program, since spawning `npm.cmd` on Windows needs a shell. */
function npm(): string {
  return process.env.npm_execpath ?? createRequire(import.meta.url).resolve('npm/bin/npm-cli.js')
}

/** Runs a Node program with the Node of the folder's node_modules where there is one. @returns Its output. */
async function run(program: string, args: readonly string[], folder: string, node = process.execPath): Promise<string> {
  const child = spawn(node, [program, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(folder),
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const [code] = await once(child, 'close')
  if (code !== 0 && !/^ℹ tests/m.test(output)) throw new Error(`${program} ${args.join(' ')} failed:\n${output}`)
  return output
}

function environment(folder: string): NodeJS.ProcessEnv {
  const path = process.platform === 'win32' ? 'Path' : 'PATH'
  const bin = join(folder, 'node_modules/.bin')
  const separator = process.platform === 'win32' ? ';' : ':'
  return { ...process.env, [path]: `${bin}${separator}${process.env[path]}` }
}

async function test(combination: Combination): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'mailkeep-matrix-'))
  try {
    await install(folder, combination)
    const node = join(folder, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node')
    const log = await run(
      '--import',
      ['tsx', 'test/run.ts', ...behaviourFolders.map((name) => `test/${name}`)],
      folder,
      node,
    )
    const count = (what: string) => Number(new RegExp(`^ℹ ${what} (\\d+)`, 'm').exec(log)?.[1] ?? Number.NaN)
    return {
      ...combination,
      versions: `${versionOf(folder, 'node')} | ${versionOf(folder, 'better-sqlite3')} | ${versionOf(folder, 'kysely')}`,
      passed: count('pass'),
      failed: count('fail'),
      skipped: count('skipped'),
      log,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function versionOf(folder: string, name: string): string {
  return JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version
}

function table(results: readonly Result[]): string {
  const rows = results.map(
    ({ versions, passed, failed, skipped }) => `| ${versions} | ${passed} | ${failed} | ${skipped} |`,
  )
  const system = `${process.platform} ${process.arch}, ${new Date().toISOString().slice(0, 10)}`
  return [
    `Last result (${system}):`,
    '',
    '| Node | better-sqlite3 | Kysely | passed | failed | skipped |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

const marks = ['<!-- matrix -->', '<!-- end of matrix -->'] as const

function writeReadme(text: string): void {
  const file = join(root, 'test/README.md')
  const readme = readFileSync(file, 'utf8')
  const [before, rest] = readme.split(marks[0])
  const after = rest?.split(marks[1])[1]
  if (after === undefined) throw new Error(`${file} has no ${marks.join(' … ')}`)
  writeFileSync(file, `${before}${marks[0]}\n${text}\n${marks[1]}${after}`)
}

const args = process.argv.slice(2)
const asked = args.filter((word) => !word.startsWith('--'))
const chosen = combinations.filter(({ node }) => asked.length === 0 || asked.includes(node))
// One server for all: it need not be started for each combination.
const postgres = await findPostgres()
process.env.MAILKEEP_TEST_POSTGRES = postgres.url ?? 'none'
const results: Result[] = []
for (const combination of chosen) {
  process.stdout.write(
    `Node ${combination.node}, better-sqlite3 ${combination.sqlite}, Kysely ${combination.kysely} …\n`,
  )
  const result = await test(combination)
  results.push(result)
  process.stdout.write(`${result.passed} passed, ${result.failed} failed, ${result.skipped} skipped\n`)
  const failures = result.log.split(/^✖ failing tests:$/m)[1]
  if (failures) process.stdout.write(`${failures}\n`)
}
await postgres.close()
process.stdout.write(`\n${table(results)}\n`)
if (args.includes('--write')) writeReadme(table(results))
if (results.some(({ failed, passed }) => failed > 0 || !(passed > 0))) process.exitCode = 1
