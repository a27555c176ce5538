/**
 * Builds the npm package: the library as modules and the daemon as one file. The daemon's file contains its packages, so
 * that users of the library need not install them.
 *
 * Run: npm run build
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { builtConsole } from './console.ts'
import { absentModules, absentPackages, partsOfPackages } from './package-parts.ts'

const bundling: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
}

/**
 * Builds the package into `dist`.
 *
 * @param root The checkout, or a copy of it with its `node_modules`.
 */
export async function buildPackage(root: string): Promise<void> {
  for (const name of ['lib', 'daemon']) rmSync(join(root, 'dist', name), { recursive: true, force: true })
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', join(root, '.ci/tsconfig.build.json')], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const bundled = [
    await bundlePackages(root, 'lib/webhooks/http/connections'), // undici
    await bundlePackages(root, 'daemon/api/router'), // trouter
    await bundleDaemon(root),
  ]
  const inputs = bundled.flat()
  writeFileSync(join(root, 'dist/daemon/THIRD-PARTY-LICENSES.txt'), licencesOf(root, inputs))
}

/**
 * Replaces a module by one that contains the packages it imports, so that users of the library need not install them.
 * undici is CommonJS, and its `require('node:net')` fails inside a host's bundle of ES modules. Here Node's modules come
 * from `process.getBuiltinModule`, which works in every bundle. It is why `engines` in package.json excludes 22.0 to 22.2.
 *
 * @param path Path of the module, without its extension.
 */
async function bundlePackages(root: string, path: string): Promise<string[]> {
  const file = join(root, `dist/${path}.js`)
  rmSync(`${file}.map`)
  const { metafile } = await build({
    ...bundling,
    absWorkingDir: root,
    entryPoints: [`${path}.ts`],
    outfile: file,
    allowOverwrite: true,
    minifySyntax: true,
    minifyWhitespace: true, // keep names, so that stacks in logs are readable
    banner: { js: 'const require = (name) => process.getBuiltinModule(name);' },
    plugins: [partsOfPackages, absentModules, builtModules(root, dirname(path))],
  })
  return Object.keys(metafile!.inputs)
}

async function bundleDaemon(root: string): Promise<string[]> {
  const consoleInputs: string[] = []
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { metafile } = await build({
    ...bundling,
    absWorkingDir: root,
    entryPoints: ['daemon/main.ts'],
    outfile: join(root, 'dist/daemon/main.js'),
    banner: {
      js: "import { createRequire as createRequireOfNode } from 'node:module';\nconst require = createRequireOfNode(import.meta.url);",
    },
    external: [...Object.keys(dependencies), ...absentPackages], // npm installs the dependencies for the library
    plugins: [partsOfPackages, builtConsole(consoleInputs), builtModules(root, 'daemon')],
  })
  return [...Object.keys(metafile!.inputs), ...consoleInputs]
}

/** Excludes the package's own modules from the file in this folder. For the daemon's file: the library and the API. */
function builtModules(root: string, folder: string): Plugin {
  return {
    name: 'built modules',
    setup({ onResolve }) {
      onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, resolveDir, kind }) => {
        if (kind === 'entry-point') return undefined
        const built = relative(root, join(resolveDir, path)).replace(/\.ts$/, '.js')
        // Users of the library install nodemailer beside it. The daemon contains it, with the modules that load it.
        if (built.startsWith('lib/sending/transports/')) return undefined
        if (!existsSync(join(root, 'dist', built))) return undefined
        const external = relative(folder, built)
        return { path: external.startsWith('.') ? external : `./${external}`, external: true }
      })
    },
  }
}

/** Collects the licences of the bundled packages, which must accompany every copy. */
function licencesOf(root: string, inputs: readonly string[]): string {
  const folders = inputs.flatMap((path) => path.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/) ?? [])
  return [...new Set(folders)]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
      const files = readdirSync(join(root, folder)).filter((file) => /^(?:licen[cs]e|notice)/i.test(file))
      const texts = files.map((file) => readFileSync(join(root, folder, file), 'utf8').trim())
      return [`${name} ${version} (${license})`, ...texts].join('\n\n')
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`)
    .concat('\n')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await buildPackage(join(import.meta.dirname, '..'))
}
