import { setImmediate } from 'node:timers'
import { MailkeepError } from '../../errors.ts'
import { groupLimits } from '../group.ts'
import { isLocked } from './database-errors.ts'

/** Retries for 5 s while `attempt` returns false or fails on a lock. It does not block the thread. */
export async function retryWhileLocked(attempt: () => unknown, message: string): Promise<void> {
  const deadlineMs = performance.now() + groupLimits.lockMs
  for (let pauseMs = 0; performance.now() < deadlineMs; pauseMs = Math.min(pauseMs + 1, 20)) {
    try {
      if (attempt() !== false) return
    } catch (error) {
      if (!isLocked(error)) throw error
    }
    await new Promise((resolve) => (pauseMs === 0 ? setImmediate(resolve) : setTimeout(resolve, pauseMs)))
  }
  throw new MailkeepError('unavailable', message)
}
