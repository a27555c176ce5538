/** The least that an app can write itself: a table of bodies in SQLite, for one process, without retries or history. */
import { setImmediate } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { inFlight, type Job, jobOf, type OpenQueue } from './queue.ts'
import { sendAll } from './send.ts'

interface Row {
  readonly id: number
  readonly job: string
}

const pollMs = 100

export const openOutboxOnSqlite: OpenQueue = async ({ database }) => {
  const db = new Database(database)
  db.pragma('journal_mode = wal')
  db.pragma('synchronous = full')
  db.exec(`create table if not exists outbox (id integer primary key, job text not null, sent_at text);
    create index if not exists unsent on outbox (id) where sent_at is null`)
  const insert = db.prepare('insert into outbox (job) values (?)')
  const find = db.prepare(`select id, job from outbox where sent_at is null order by id limit ${inFlight}`)
  const markSent = db.prepare('update outbox set sent_at = ? where id = ?')
  const insertAll = db.transaction((jobs: readonly Job[]) => {
    for (const job of jobs) insert.run(JSON.stringify(job))
  })
  const markAllSent = db.transaction((rows: readonly Row[]) => {
    for (const { id } of rows) markSent.run(new Date().toISOString(), id)
  })
  let wake = () => {}
  return {
    async raise(event) {
      insert.run(JSON.stringify(jobOf(event)))
      wake()
      await setImmediate() // lets the receiver's answers in
    },
    async raiseMany(events) {
      insertAll(events.map(jobOf))
      wake()
    },
    async work(send) {
      for (;;) {
        const rows = find.all() as Row[]
        if (rows.length === 0) await asleep(pollMs, (stop) => (wake = stop))
        await sendAll(
          rows.map(({ job }) => JSON.parse(job)),
          send,
        )
        markAllSent(rows)
      }
    },
  }
}

/** Resolves after `ms`, or earlier when the function passed to `onStart` is called. */
export function asleep(ms: number, onStart: (stop: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    onStart(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
