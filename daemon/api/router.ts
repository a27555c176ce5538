import type { Params, Route } from './routes/route.ts'
import { readId } from './target.ts'

/** A node in the tree of path segments. */
interface PathNode {
  readonly literals: Map<string, PathNode>
  id?: { readonly name: string; readonly node: PathNode }
  readonly methods: Map<string, Route>
  allow: string
}

/** A matched path: its routes by method and its ids. */
export interface Match {
  readonly methods: ReadonlyMap<string, Route>
  /** Value of the `Allow` header. */
  readonly allow: string
  readonly params: Params
}

/**
 * Compiles the routes into a tree. A look-up takes one step per segment. A literal segment has precedence over an id.
 */
export function compileRoutes(routes: readonly Route[]): (segments: readonly string[]) => Match | undefined {
  const root = newNode()
  for (const route of routes) insertRoute(root, route)
  return (segments) => find(root, segments)
}

function newNode(): PathNode {
  return { literals: new Map(), methods: new Map(), allow: '' }
}

function insertRoute(root: PathNode, route: Route): void {
  let node = root
  for (const segment of route.path.slice(1).split('/')) node = childFor(node, segment)
  if (node.methods.has(route.method)) throw new Error(`Two routes for ${route.method} ${route.path}`)
  node.methods.set(route.method, route)
  const methods = [...node.methods.keys()]
  node.allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
}

function childFor(node: PathNode, segment: string): PathNode {
  if (!segment.startsWith(':')) {
    const next = node.literals.get(segment) ?? newNode()
    node.literals.set(segment, next)
    return next
  }
  node.id ??= { name: segment.slice(1), node: newNode() }
  if (node.id.name !== segment.slice(1)) throw new Error(`Two names for one id: ${node.id.name} and ${segment}`)
  return node.id.node
}

function find(root: PathNode, segments: readonly string[]): Match | undefined {
  const params: Record<string, number> = {}
  let node = root
  for (const segment of segments) {
    let next = node.literals.get(segment)
    if (!next && node.id) {
      const id = readId(segment)
      if (id === undefined) return undefined
      params[node.id.name] = id
      next = node.id.node
    }
    if (!next) return undefined
    node = next
  }
  // A route reads only the ids in its own path, so the cast is safe.
  return node.methods.size === 0 ? undefined : { methods: node.methods, allow: node.allow, params: params as Params }
}
