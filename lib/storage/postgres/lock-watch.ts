import type { Logger } from '../../logger.ts'
import type { Connections, Session } from './connections.ts'

const intervalMs = 1000

const askBlockers = `select pid, usename as role, application_name as application, host(client_addr) as address, state,
    xact_start as transaction_since
  from pg_stat_activity where pid = any(pg_blocking_pids($1)) order by pid`

/**
 * Logs once which connections a session waits for. A migration waits for their locks without a limit. Needs a second
 * connection of the pool.
 *
 * @returns A function that ends it.
 */
export async function watchLocks(session: Session, connections: Connections, logger: Logger): Promise<() => void> {
  const [backend] = (await session.ask('select pg_backend_pid() as pid')).rows as { pid: number }[]
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const lookLater = () => {
    if (!isOver) timer = setTimeout(() => void look().catch(lookLater), intervalMs)
  }
  const look = async () => {
    const { rows: blockers } = await connections.use(0, (other) => other.ask(askBlockers, [backend!.pid]))
    if (blockers.length === 0) lookLater()
    else if (!isOver)
      logger.warn({ blockers }, 'a change of the tables waits until other connections end their transactions')
  }
  lookLater()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
