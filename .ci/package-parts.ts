/** Selects the parts of packages that go into a bundle. */
import { join } from 'node:path'
import type { Plugin } from 'esbuild'

const root = join(import.meta.dirname, '..')

/** The used exports of each package and their files. Loading whole packages would take half of the start-up time. */
const parts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  undici: { Client: 'lib/dispatcher/client.js', Pool: 'lib/dispatcher/pool.js' },
  'prom-client': {
    Counter: 'lib/counter.js',
    Histogram: 'lib/histogram.js',
    Registry: 'lib/registry.js',
    collectDefaultMetrics: 'lib/defaultMetrics.js',
  },
}

export const partsOfPackages: Plugin = {
  name: 'parts of packages',
  setup({ onResolve, onLoad }) {
    const names = new RegExp(`^(?:${Object.keys(parts).join('|')})$`)
    onResolve({ filter: names }, ({ path }) => ({ path, namespace: 'part' }))
    onLoad({ filter: /./, namespace: 'part' }, ({ path }) => ({
      // An import of anything else fails the build.
      contents: Object.entries(parts[path]!)
        .map(([name, file]) => `export { default as ${name} } from '${path}/${file}'`)
        .join('\n'),
      resolveDir: root,
    }))
  },
}

/** Stubs modules that the packages import but mailkeep never uses: undici's HTTP/2, which is switched off. */
export const absentModules: Plugin = {
  name: 'absent modules',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/client-h2\.js$/ }, ({ path }) => ({ path, namespace: 'absent' }))
    onLoad({ filter: /./, namespace: 'absent' }, ({ path }) => ({
      contents: `module.exports = () => { throw new Error('there is no ${path} in this bundle') }`,
    }))
  },
}

/** Packages that no bundle contains. Amazon's SDK installs a hundred more; users of SES install it beside mailkeep. */
export const absentPackages: readonly string[] = ['@aws-sdk/client-sesv2']
