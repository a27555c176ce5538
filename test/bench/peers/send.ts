/** Sends jobs as an app does: undici, one connection per request in flight, and the signatures of a delivery. */
import { Pool } from 'undici'
import { signedHeaders } from '../signed.ts'
import { inFlight, type Job, type Send } from './queue.ts'

export function senderTo(origin: string): Send {
  const pool = new Pool(origin, { connections: inFlight, pipelining: 1, headersTimeout: 15_000, bodyTimeout: 15_000 })
  return async ({ endpoint, body: event }: Job) => {
    const body = JSON.stringify(event)
    const headers = signedHeaders(event.id, body, Date.now())
    const answer = await pool.request({ method: 'POST', path: `/${endpoint}`, headers, body })
    await answer.body.dump()
    if (answer.statusCode >= 300) throw new Error(`the receiver answered ${answer.statusCode}`)
  }
}

/** Sends all jobs, at most 64 at a time. */
export async function sendAll(jobs: readonly Job[], send: Send): Promise<void> {
  const rest = jobs.values()
  const sendRest = async () => {
    for (const job of rest) await send(job)
  }
  await Promise.all(Array.from({ length: inFlight }, sendRest))
}
