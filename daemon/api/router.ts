import Trouter from 'trouter'
import type { Params, Route } from './routes/route.ts'

interface PathRoutes {
  readonly methods: ReadonlyMap<string, Route>
  /** Value of the `Allow` header. */
  readonly allow: string
}

/** A matched path: its routes by method and its ids. */
interface Match extends PathRoutes {
  readonly params: Params
}

/**
 * Compiles the routes for polka's router. It finds the path only, whatever the method: a path that is known with another
 * method is answered with 405, and its `Allow` names the methods.
 *
 * @returns A function that takes the path below `/api/v1`, as `readTarget` spells it.
 */
export function compileRoutes(routes: readonly Route[]): (path: string) => Match | undefined {
  const byPath = new Map<string, Route[]>()
  for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
  const router = new Trouter<PathRoutes>()
  for (const path of [...byPath.keys()].sort(literalFirst)) router.get(path, pathRoutes(byPath.get(path)!))
  return (path) => {
    const found = router.find('GET', path)
    if (!found) return undefined
    const params = readIds(found.params)
    if (!params) return undefined
    const { methods, allow } = found.handlers[0]!
    return { methods, allow, params }
  }
}

/** The router takes the first pattern that fits: `/contacts/export` must come before `/contacts/:contactId`. */
function literalFirst(a: string, b: string): number {
  return a.replaceAll(':', '~') < b.replaceAll(':', '~') ? -1 : 1
}

function pathRoutes(routes: readonly Route[]): PathRoutes {
  const methods = new Map(routes.map((route) => [route.method, route]))
  if (methods.size < routes.length) throw new Error(`Two routes with the same method for ${routes[0]!.path}`)
  const allow = [...methods.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
  return { methods, allow }
}

/**
 * Reads the ids in a path: positive 53-bit integers in canonical form.
 *
 * @returns Undefined if one of them is no id: then the path is not known.
 */
function readIds(segments: Readonly<Record<string, string>>): Params | undefined {
  const ids: Record<string, number> = {}
  for (const name in segments) {
    const id = /^[1-9]\d{0,15}$/.test(segments[name]!) ? Number(segments[name]) : 0
    if (id === 0 || !Number.isSafeInteger(id)) return undefined
    ids[name] = id
  }
  // A route reads only the ids in its own path, so the cast is safe.
  return ids as Params
}
