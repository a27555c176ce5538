import type { Params, Route } from './routes/route.ts'
import { readId } from './target.ts'

/** A place in the tree of paths. */
interface Branch {
  readonly words: Map<string, Branch>
  id?: { readonly name: string; readonly branch: Branch }
  readonly methods: Map<string, Route>
  allow: string
}

/** A known path: its routes by method, and the ids it names. */
export interface Match {
  readonly methods: ReadonlyMap<string, Route>
  /** For `Allow`. */
  readonly allow: string
  readonly params: Params
}

/**
 * Turns rows of routes into a look-up that takes one step a segment, however many routes there are.
 * A word goes before an id.
 */
export function compileRoutes(routes: readonly Route[]): (segments: readonly string[]) => Match | undefined {
  const root = branch()
  for (const route of routes) plant(root, route)
  return (segments) => find(root, segments)
}

function branch(): Branch {
  return { words: new Map(), methods: new Map(), allow: '' }
}

function plant(root: Branch, route: Route): void {
  let at = root
  for (const segment of route.path.slice(1).split('/')) at = grow(at, segment)
  if (at.methods.has(route.method)) throw new Error(`Two routes for ${route.method} ${route.path}`)
  at.methods.set(route.method, route)
  const methods = [...at.methods.keys()]
  at.allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
}

function grow(at: Branch, segment: string): Branch {
  if (!segment.startsWith(':')) {
    const next = at.words.get(segment) ?? branch()
    at.words.set(segment, next)
    return next
  }
  at.id ??= { name: segment.slice(1), branch: branch() }
  if (at.id.name !== segment.slice(1)) throw new Error(`Two names for one place: ${at.id.name} and ${segment}`)
  return at.id.branch
}

function find(root: Branch, segments: readonly string[]): Match | undefined {
  const params: Record<string, number> = {}
  let at = root
  for (const segment of segments) {
    let next = at.words.get(segment)
    if (!next && at.id) {
      const id = readId(segment)
      if (id === undefined) return undefined
      params[at.id.name] = id
      next = at.id.branch
    }
    if (!next) return undefined
    at = next
  }
  // Every route's call names only ids of its own path.
  return at.methods.size === 0 ? undefined : { methods: at.methods, allow: at.allow, params: params as Params }
}
