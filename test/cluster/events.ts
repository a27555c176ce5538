/** Raises numbered events through any daemon that is running. */
import { setTimeout as delay } from 'node:timers/promises'
import { Pool } from 'undici'

export interface Target {
  readonly token: string
  readonly type: string
}

export interface Raised {
  /** Posts without an answer, or refused, that were repeated. Their event may exist twice. */
  readonly again: number
}

const connectionsEach = 12

/**
 * Posts `count` events, numbered from 0, and repeats each until it is answered.
 * @param urls Base URLs of the daemons that are running.
 * @param targets Endpoints that receive the events in turn.
 */
export async function raiseEvents(
  count: number,
  urls: () => readonly string[],
  targets: readonly Target[],
): Promise<Raised> {
  const pools = new Map<string, Pool>()
  let next = 0
  let again = 0
  const post = async (n: number, attempt: number): Promise<boolean> => {
    const living = urls()
    const url = living[(n + attempt) % living.length]!
    const pool = pools.get(url) ?? new Pool(url, { connections: connectionsEach })
    pools.set(url, pool)
    const { token, type } = targets[n % targets.length]!
    try {
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: '/api/v1/events',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ type, data: { n, text: 'x'.repeat(800) } }),
      })
      await body.dump()
      return statusCode === 202
    } catch {
      return false
    }
  }
  const work = async () => {
    for (let n = next++; n < count; n = next++) {
      for (let attempt = 0; !(await post(n, attempt)); attempt++) {
        again += 1
        await delay(20)
      }
    }
  }
  await Promise.all(Array.from({ length: connectionsEach * urls().length }, work))
  await Promise.all([...pools.values()].map((pool) => pool.destroy()))
  return { again }
}
