/** Installs the peers with npm into a folder, with versions that do not change, and bundles the benchmark's processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { prismaSchema } from './prisma-schema.ts'

const root = join(import.meta.dirname, '../../..')

const queuePackages = { bullmq: '6.7.0', ioredis: '6.0.0', 'pg-boss': '12.38.0', 'graphile-worker': '0.18.0' }
const contactPackages = {
  'drizzle-orm': '0.45.4',
  prisma: '7.10.0',
  '@prisma/client': '7.10.0',
  '@prisma/adapter-pg': '7.10.0',
}
export const versions: Readonly<Record<string, string>> = { ...queuePackages, ...contactPackages }

/** Drivers in the versions that the project uses. Kysely, polka and valibot are bundled from the project. */
const drivers = ['better-sqlite3', 'pg']

export interface Peers {
  /** Folder with the bundles and their `node_modules`. */
  readonly folder: string
  /** Why Prisma is left out; undefined if it can run. */
  readonly prismaProblem?: string
}

export async function installPeers(folder: string): Promise<Peers> {
  const place = join(folder, 'peers')
  await mkdir(place, { recursive: true })
  const dependencies = { ...versions }
  for (const name of drivers) {
    const manifest = await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8')
    dependencies[name] = JSON.parse(manifest).version
  }
  await writeFile(join(place, 'package.json'), JSON.stringify({ private: true, dependencies }))
  await run(place, 'npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'])
  await bundlePeers(place)
  try {
    await generatePrismaClient(place)
    return { folder: place }
  } catch (error) {
    return { folder: place, prismaProblem: (error as Error).message }
  }
}

export async function bundlePeers(place: string): Promise<void> {
  const names = ['queue-process', 'receiver', 'drizzle', 'kysely', 'prisma']
  await build({
    entryPoints: names.map((name) => join(import.meta.dirname, `${name}.ts`)),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: [...drivers, 'pg-native', 'cloudflare:sockets'],
    outdir: place,
    outExtension: { '.js': '.cjs' },
    logLevel: 'error',
  })
}

/**
 * Prisma 7 runs its queries in WebAssembly that comes with npm. Its command looks for the engine of migrations, which
 * npm does not have and this benchmark does not use. The setting names another program, so that nothing is downloaded.
 */
async function generatePrismaClient(place: string): Promise<void> {
  await writeFile(join(place, 'schema.prisma'), prismaSchema)
  const env = {
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
    CHECKPOINT_DISABLE: '1',
  }
  const command = join(place, 'node_modules/prisma/build/index.js')
  await run(place, process.execPath, [command, 'generate', '--schema', 'schema.prisma'], env)
}

async function run(cwd: string, program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ${args[0]} failed: ${output.trim().slice(-500)}`)
}
