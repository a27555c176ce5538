import { randomUUID } from 'node:crypto'
import type { Context } from '../context.ts'

/** Returns a new claim. It begins with the id of this process, so that others can tell when its process has died. */
export function newClaim({ storage }: Context): string {
  return `${storage.liveness.id()} ${randomUUID()}`
}

function processOf(claim: string): string {
  const [id, random] = claim.split(' ')
  return random === undefined ? '' : id!
}

/** Returns the claims whose process has died. */
export async function findOrphans({ storage }: Context, claims: readonly string[]): Promise<string[]> {
  const own = storage.liveness.id()
  const others = new Set(claims.map(processOf).filter((id) => id !== '' && id !== own))
  if (others.size === 0) return []
  const dead = new Set(await storage.liveness.findDead([...others]))
  return claims.filter((claim) => dead.has(processOf(claim)))
}
