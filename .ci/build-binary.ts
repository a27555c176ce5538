/**
 * Builds `dist/mailkeep.cjs`, the daemon in one file, and with `--binary` also `dist/mailkeep`, which needs nothing
 * else: node itself with the bundle and better-sqlite3's native addon inside.
 *
 * See https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { cacheName, launcherOf, makeCodeCache, programFile, programName } from './code-cache.ts'
import { absentModules, partsOfPackages } from './package-parts.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const { resolve } = createRequire(import.meta.url)
const addonName = 'better_sqlite3.node'
const addonPath = sqliteAddon()

/** As the documentation of single executable applications gives it. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

interface Bundle {
  /** The daemon as a CommonJS module. */
  readonly program: string
  /** The files it was made of. */
  readonly inputs: readonly string[]
}

/** Makes `mailkeep.cjs` and, beside it, the addon that it loads and what makes it start in less time. */
export async function buildBundle(directory = dist): Promise<Bundle> {
  await mkdir(directory, { recursive: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['daemon/main.ts'],
    outfile: join(directory, 'mailkeep.cjs'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    minifySyntax: true,
    minifyWhitespace: true, // names stay: stacks in logs are to be read
    legalComments: 'none',
    metafile: true,
    plugins: [partsOfPackages, absentModules],
    // Optional parts of pg, which does without them.
    external: ['pg-native', 'cloudflare:sockets'],
    define: { MAILKEEP_COMMIT: JSON.stringify(commit()) },
    logLevel: 'warning',
  })
  await copyFile(addonPath, join(directory, addonName))
  const file = join(directory, 'mailkeep.cjs')
  const program = await readFile(file, 'utf8')
  makeCodeCache(program, file, join(directory, cacheName))
  await writeFile(join(directory, programName), programFile(program))
  await writeFile(file, launcherOf(program))
  return { program, inputs: Object.keys(metafile.inputs) }
}

export async function buildBinary(): Promise<void> {
  const bundle = await buildBundle()
  const work = await mkdtemp(join(dist, '.binary-'))
  try {
    const [config, launcher, blob, program] = ['sea.json', 'launcher.cjs', 'sea.blob', 'mailkeep'].map((name) =>
      join(work, name),
    ) as [string, string, string, string]
    await writeFile(launcher, launcherOf(bundle.program, false))
    const settings = {
      main: launcher,
      output: blob,
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
      assets: Object.fromEntries([addonName, programName, cacheName].map((name) => [name, join(dist, name)])),
    }
    await writeFile(config, JSON.stringify(settings))
    execFileSync(process.execPath, ['--experimental-sea-config', config], { stdio: 'pipe' })
    await copyFile(process.execPath, program)
    await chmod(program, 0o755)
    strip(program)
    inject(program, blob)
    // A program that runs meanwhile keeps its own file.
    await rename(program, join(dist, 'mailkeep'))
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  await writeFile(join(dist, 'mailkeep.inputs.json'), JSON.stringify(bundle.inputs))
}

/** In a process of its own: it writes warnings of no account. Its output is in the error when it fails. */
function inject(program: string, blob: string): void {
  const args = [resolve('postject/dist/cli.js'), program, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse]
  execFileSync(process.execPath, args, { stdio: 'pipe' })
}

/** Builds the binary unless it is there already and newer than all it is made of. */
export async function ensureBinary(): Promise<string> {
  const program = join(dist, 'mailkeep')
  if (!(await isCurrent(program))) await buildBinary()
  return program
}

async function isCurrent(program: string): Promise<boolean> {
  try {
    const inputs = JSON.parse(await readFile(join(dist, 'mailkeep.inputs.json'), 'utf8')) as string[]
    const { mtimeMs } = await stat(program)
    const sources = [
      import.meta.filename,
      addonPath,
      ...inputs
        .filter((name) => !/^\w+:/.test(name)) // what plugins made up
        .map((name) => join(root, name)),
    ]
    const times = await Promise.all(sources.map(async (path) => (await stat(path)).mtimeMs))
    return times.every((time) => time < mtimeMs)
  } catch {
    return false
  }
}

/** Symbols that nobody needs are a tenth of node; where there is no `strip`, they stay. */
function strip(program: string): void {
  try {
    execFileSync('strip', [program], { stdio: 'ignore' })
  } catch {}
}

/** The addon that better-sqlite3 itself would load here: one that was compiled, else a prebuilt one (version 13 on). */
function sqliteAddon(): string {
  const folder = dirname(resolve('better-sqlite3/package.json'))
  const compiled = join(folder, 'build/Release', addonName)
  if (existsSync(compiled)) return compiled
  const binding = createRequire(import.meta.url)(join(folder, 'lib/binding.js')) as { getPrebuildPath(): string | null }
  return binding.getPrebuildPath() ?? compiled
}

/** What `--version` says beside the version. */
function commit(): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    const changed = git('status', '--porcelain', '--', 'lib', 'daemon', 'package-lock.json') !== ''
    return git('rev-parse', '--short=12', 'HEAD') + (changed ? '+changes' : '')
  } catch {
    return 'unknown commit'
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const binary = process.argv.includes('--binary')
  await (binary ? buildBinary() : buildBundle())
  const made = join(dist, binary ? 'mailkeep' : 'mailkeep.cjs')
  process.stdout.write(`${made} ${((await stat(made)).size / 1e6).toFixed(1)} MB\n`)
}
