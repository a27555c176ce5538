/** Runs the statements of a save with bare `pg` and nothing else: 64 at a time on ten connections. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { cpuSeconds } from './processor.ts'
import type { Script, Step } from './recorded.ts'
import { summaryOf } from './summary.ts'

export interface BareJob extends Script {
  readonly seconds: number
  /** Concurrent saves, and the connections they share: the same numbers as in the daemon. */
  readonly callers: number
  readonly connections: number
}

const warmupMs = 500

async function run({ url, steps, email, seconds, callers, connections }: BareJob) {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  const times: number[] = []
  const fromMs = performance.now() + warmupMs
  const untilMs = fromMs + seconds * 1000
  const runId = randomUUID().slice(0, 8)
  let n = 0
  const caller = async () => {
    while (performance.now() < untilMs) {
      const sentMs = performance.now()
      await save(pool, steps, email, `bare.${n++}.${runId}@subscribers.example.org`)
      if (sentMs >= fromMs && performance.now() < untilMs) times.push(performance.now() - sentMs)
    }
  }
  const before = cpuSeconds(process.pid)
  await Promise.all(Array.from({ length: callers }, caller))
  const busy = (cpuSeconds(process.pid) - before) / (seconds + warmupMs / 1000)
  await pool.end()
  return { ...summaryOf(times, seconds * 1000), serverBusy: busy, busy: 0 }
}

async function save(pool: pg.Pool, steps: readonly Step[], recorded: string, email: string): Promise<void> {
  const client = await pool.connect()
  try {
    const ids: Record<string, unknown> = {}
    for (const { text, name, values, parts, gives } of steps) {
      const filled = [...values]
      for (const [at, part] of Object.entries(parts)) {
        filled[Number(at)] = 'email' in part ? part.email.replaceAll(recorded, email) : ids[part.idOf]
      }
      const { rows } = await client.query({ text, values: filled, ...(name ? { name } : {}) })
      if (gives) ids[gives] = rows[0].id
    }
  } finally {
    client.release()
  }
}

process.on('message', async (job: BareJob) => process.send!(await run(job)))
process.on('disconnect', () => process.exit())
