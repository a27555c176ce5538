import { setImmediate } from 'node:timers'
import { MailkeepError } from '../../errors.ts'
import { groupLimits } from '../group.ts'
import { isLocked } from './database-errors.ts'

/** Tries until `attempt` neither says false nor meets a lock; without blocking the thread, for 5 s. */
export async function unlocked(attempt: () => unknown, message: string): Promise<void> {
  const ends = performance.now() + groupLimits.lockMs
  for (let pauseMs = 0; performance.now() < ends; pauseMs = Math.min(pauseMs + 1, 20)) {
    try {
      if (attempt() !== false) return
    } catch (error) {
      if (!isLocked(error)) throw error
    }
    await new Promise((resolve) => (pauseMs === 0 ? setImmediate(resolve) : setTimeout(resolve, pauseMs)))
  }
  throw new MailkeepError('unavailable', message)
}
