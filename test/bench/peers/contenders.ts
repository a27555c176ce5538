/** The queues that are compared, and what each of them promises. */
import type { QueueName } from './queue-process.ts'

export interface Contender {
  readonly name: string
  readonly queue: QueueName
  readonly mode: string
  readonly place: PlaceKind
  /** Set where another contender stores events by the same calls, so that storing them is measured once. */
  readonly storesLike?: string
  /** How long its documentation lets jobs of a dead process wait, where that is longer than this benchmark waits. */
  readonly documentedWait?: string
}

/** `always` and `everysec` are values of Redis's `appendfsync`. */
export type PlaceKind = 'sqlite' | 'postgres' | 'redis always' | 'redis everysec'

export const contenders: readonly Contender[] = [
  { name: 'mailkeep, SQLite', queue: 'mailkeep', mode: '', place: 'sqlite' },
  { name: 'mailkeep, PostgreSQL', queue: 'mailkeep', mode: '', place: 'postgres' },
  { name: 'BullMQ, fsync always', queue: 'bullmq', mode: '', place: 'redis always' },
  { name: 'BullMQ, fsync everysec', queue: 'bullmq', mode: '', place: 'redis everysec' },
  {
    name: 'pg-boss, batches of 2,000',
    queue: 'pg-boss',
    mode: '2000',
    place: 'postgres',
    documentedWait: '15 min',
  },
  {
    name: 'pg-boss, batches of 64',
    queue: 'pg-boss',
    mode: '64',
    place: 'postgres',
    storesLike: 'pg-boss, batches of 2,000',
    documentedWait: '15 min',
  },
  {
    name: 'graphile-worker, batches',
    queue: 'graphile-worker',
    mode: 'batches',
    place: 'postgres',
    documentedWait: '4 h',
  },
  {
    name: 'graphile-worker, single',
    queue: 'graphile-worker',
    mode: 'single',
    place: 'postgres',
    storesLike: 'graphile-worker, batches',
    documentedWait: '4 h',
  },
  { name: 'outbox, SQLite', queue: 'outbox-sqlite', mode: '', place: 'sqlite' },
  { name: 'outbox, PostgreSQL', queue: 'outbox-postgres', mode: '', place: 'postgres' },
]
