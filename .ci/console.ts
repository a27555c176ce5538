/** Bundles the web console of daemon/console. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { build, type Plugin } from 'esbuild'
import type { ConsoleAssets } from '../daemon/console-assets.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'daemon/console')

/** Returns the console's files by path, and the paths of their sources. */
export async function buildConsole(): Promise<{ assets: ConsoleAssets; inputs: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(folder, 'main.tsx'), join(folder, 'style/style.css')],
    outdir: join(root, 'console/assets'),
    entryNames: '[name]-[hash]',
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    metafile: true,
    tsconfig: join(folder, 'tsconfig.json'),
    logLevel: 'warning',
  })
  const files = outputFiles.map(({ path, contents }) => ({
    path: `/${path.slice(root.length + 1).replaceAll('\\', '/')}`,
    contents: Buffer.from(contents),
  }))
  let page = await readFile(join(folder, 'index.html'), 'utf8')
  for (const { path } of files) page = page.replace(path.endsWith('.css') ? '%STYLE%' : '%SCRIPT%', path)
  const all = [{ path: '/', contents: Buffer.from(page) }, ...files]
  return {
    assets: Object.fromEntries(all.map(({ path, contents }) => [path, assetOf(path, contents)])),
    inputs: [...Object.keys(metafile.inputs), 'daemon/console/index.html'],
  }
}

function assetOf(path: string, contents: Buffer): ConsoleAssets[string] {
  return {
    type: `text/${path.endsWith('.css') ? 'css' : path.endsWith('.js') ? 'javascript' : 'html'}; charset=utf-8`,
    tag: `"${createHash('sha256').update(contents).digest('base64url').slice(0, 16)}"`,
    brotli: brotliCompressSync(contents, {
      params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
    }).toString('base64'),
  }
}

/** Replaces the module that bundles the console at run time by one that contains it. */
export function builtConsole(inputs: string[] = []): Plugin {
  return {
    name: 'built console',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]daemon[\\/]console-assets\.ts$/ }, async () => {
        const built = await buildConsole()
        inputs.push(...built.inputs)
        return {
          contents: `export const loadConsole = async () => (${JSON.stringify(built.assets)})`,
          resolveDir: root,
        }
      })
    },
  }
}
