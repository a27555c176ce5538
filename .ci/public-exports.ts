/** Finds the names that the package exports, in the sources. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')

interface PublicName {
  readonly name: string
  /** The name in the file that declares it. */
  readonly declaredAs: string
  /** The file that declares it, relative to the root. */
  readonly file: string
}

/** Returns the names that the package's entries export, by name; one that several entries export once. */
export function publicExports(): PublicName[] {
  const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, { default?: string }> }
  const entries = Object.values(exports).flatMap((entry) => entry.default ?? [])
  const found = new Map<string, PublicName>()
  for (const entry of entries) {
    const file = entry.replace(/^\.\/dist\//, '').replace(/\.js$/, '.ts')
    for (const [name, origin] of exportsOf(file)) found.set(name, { name, ...origin })
  }
  return [...found.values()].sort((one, two) => (one.name < two.name ? -1 : 1))
}

/** Returns what a file exports, by name, and follows its re-exports. */
function exportsOf(file: string): Map<string, Omit<PublicName, 'name'>> {
  const source = read(file)
  const found = new Map<string, Omit<PublicName, 'name'>>()
  for (const [, name] of source.matchAll(/^export (?:async )?(?:function|interface|type|class|const) (\w+)/gm)) {
    found.set(name!, { declaredAs: name!, file })
  }
  for (const [, names, from] of source.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']*)'/gm)) {
    const origins = exportsOf(join(dirname(file), from!))
    for (const text of names!.split(',').filter((one) => one.trim() !== '')) {
      const [name, alias = name] = text
        .trim()
        .replace(/^type /, '')
        .split(' as ')
      const origin = origins.get(name!)
      if (!origin) throw new Error(`${from} exports no ${name}`)
      found.set(alias!, origin)
    }
  }
  return found
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
