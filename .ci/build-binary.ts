/**
 * Builds `dist/mailkeep.cjs`, the daemon in one file, and with `--binary` also `dist/mailkeep`, which needs nothing
 * else: node itself with the bundle and better-sqlite3's native addon inside.
 *
 * See https://nodejs.org/docs/latest-v20.x/api/single-executable-applications.html
 */
import { execFileSync } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { cacheName, makeCodeCache, withCodeCache } from './code-cache.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const { resolve } = createRequire(import.meta.url)
const addonName = 'better_sqlite3.node'
const addonPath = join(dirname(resolve('better-sqlite3/package.json')), 'build/Release', addonName)

/** As the documentation of single executable applications gives it. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

/** Of undici only what is used: its fetch, cookies and mocks are half of the time that a start takes. */
const partOfUndici: Plugin = {
  name: 'part of undici',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'part' }))
    onLoad({ filter: /./, namespace: 'part' }, () => ({
      // An import of anything else fails the build.
      contents: ['Client', 'Pool']
        .map((name) => `export { default as ${name} } from 'undici/lib/dispatcher/${name.toLowerCase()}.js'`)
        .join('\n'),
      resolveDir: root,
    }))
  },
}

/** raw-body would decode with it: we take bodies as bytes, and its tables are a quarter of the bundle. */
const withoutIconv: Plugin = {
  name: 'without iconv-lite',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^iconv-lite$/ }, ({ path }) => ({ path, namespace: 'absent' }))
    onLoad({ filter: /./, namespace: 'absent' }, () => ({
      contents: `exports.getDecoder = () => { throw new Error('there is no iconv-lite in this bundle') }`,
    }))
  },
}

/**
 * Makes `mailkeep.cjs` and, beside it, the addon that it loads.
 *
 * @returns the files the bundle was made of.
 */
export async function buildBundle(directory = dist): Promise<string[]> {
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
    plugins: [partOfUndici, withoutIconv],
    // Optional parts of pg, which does without them.
    external: ['pg-native', 'cloudflare:sockets'],
    define: { MAILKEEP_COMMIT: JSON.stringify(commit()) },
    logLevel: 'warning',
  })
  await copyFile(addonPath, join(directory, addonName))
  const file = join(directory, 'mailkeep.cjs')
  const program = await readFile(file, 'utf8')
  makeCodeCache(program, file, join(directory, cacheName))
  await writeFile(file, withCodeCache(program))
  return Object.keys(metafile.inputs)
}

export async function buildBinary(): Promise<string[]> {
  const inputs = await buildBundle()
  const work = await mkdtemp(join(dist, '.binary-'))
  try {
    const [config, blob, program] = ['sea.json', 'sea.blob', 'mailkeep'].map((name) => join(work, name)) as [
      string,
      string,
      string,
    ]
    const settings = {
      main: join(dist, 'mailkeep.cjs'),
      output: blob,
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
      assets: { [addonName]: addonPath, [cacheName]: join(dist, cacheName) },
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
  await writeFile(join(dist, 'mailkeep.inputs.json'), JSON.stringify(inputs))
  return inputs
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
