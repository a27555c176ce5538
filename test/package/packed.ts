/** Builds and packs mailkeep like `npm publish`, in a separate folder, and installs it into empty projects. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { buildPackage } from '../../.ci/build.ts'

const run = promisify(execFile)
export const root = join(import.meta.dirname, '../..')
const own = join(root, 'node_modules')
export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Runs a program of this repository's packages; a failure shows its output. */
export async function tool(name: string, args: readonly string[], cwd = root): Promise<string> {
  try {
    const { stdout } = await run(join(own, '.bin', name), args, { cwd, maxBuffer: 64 * 1024 * 1024 })
    return stdout
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { stdout: string; stderr: string }
    throw new Error(`${message}\n${stdout}\n${stderr}`)
  }
}

export interface Packed {
  readonly tarball: string
  /** Paths in the tarball. */
  readonly files: readonly string[]
  /** Folder of the unpacked tarball. */
  readonly folder: string
  /** Creates an empty project with the tarball and these packages of the repository. */
  project(name: string, beside: readonly string[], files?: Readonly<Record<string, string>>): Project
  remove(): void
}

export interface Project {
  readonly folder: string
  /** Runs a file with this node, or another; returns its output. */
  node(file: string, executable?: string): Promise<string>
}

export async function pack(): Promise<Packed> {
  const folder = mkdtempSync(join(tmpdir(), 'mailkeep-package-'))
  const stage = join(folder, 'stage')
  mkdirSync(stage)
  const sources = ['package.json', 'README.md', 'LICENSE', 'tsconfig.json', '.ci', 'lib', 'daemon', 'examples']
  for (const name of sources) cpSync(join(root, name), join(stage, name), { recursive: true })
  symlinkSync(own, join(stage, 'node_modules'))
  await buildPackage(stage)
  const args = ['pack', '--ignore-scripts', '--json', '--offline', '--pack-destination', folder]
  const { stdout } = await run('npm', args, { cwd: stage })
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }]
  const tarball = join(folder, packed.filename)
  await run('tar', ['-xzf', tarball, '-C', folder]) // a folder called package, as npm unpacks it
  return {
    tarball,
    files: packed.files.map(({ path }) => path),
    folder: join(folder, 'package'),
    project: (name, beside, files) => project(folder, name, beside, files),
    remove: () => rmSync(folder, { recursive: true }),
  }
}

/** Copies what programs use. Sources and maps are for editors, and are most of the files. */
function copyWithoutMaps(from: string, to: string, part: string): void {
  cpSync(join(from, part), join(to, part), { recursive: true, filter: (path) => !path.endsWith('.map') })
}

function project(folder: string, name: string, beside: readonly string[], files = {}): Project {
  const place = join(folder, name)
  const modules = join(place, 'node_modules')
  mkdirSync(modules, { recursive: true })
  for (const part of ['package.json', 'dist']) copyWithoutMaps(join(folder, 'package'), join(modules, 'mailkeep'), part)
  // Links only what npm would install: the dependencies, and the peers that the project has chosen.
  for (const dependency of [...Object.keys(manifest.dependencies), ...beside]) {
    const target = join(modules, dependency)
    mkdirSync(dirname(target), { recursive: true })
    if (!existsSync(target)) symlinkSync(join(own, dependency), target)
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(place, path)), { recursive: true })
    writeFileSync(join(place, path), text as string)
  }
  return {
    folder: place,
    node: async (file, executable = process.execPath) => (await run(executable, [file], { cwd: place })).stdout,
  }
}
