/**
 * The least that an app can write itself: a table of bodies in PostgreSQL, without retries or history. A batch is locked
 * with SKIP LOCKED until it is sent, so several processes may work, and a crash frees it at once.
 */
import pg from 'pg'
import { asleep } from './outbox-sqlite.ts'
import { connections, type Event, inFlight, type Job, jobOf, type OpenQueue } from './queue.ts'
import { sendAll } from './send.ts'

const pollMs = 100

export const openOutboxOnPostgres: OpenQueue = async ({ database, isNew }) => {
  const pool = new pg.Pool({ connectionString: database, max: connections })
  if (isNew) {
    await pool.query(`create table outbox (id bigint generated always as identity primary key, job jsonb not null,
      sent_at timestamptz); create index unsent on outbox (id) where sent_at is null`)
  }
  let wake = () => {}
  const insert = async (name: string, text: string, value: string) => {
    await pool.query({ name, text, values: [value] })
    wake()
  }
  return {
    raise: (event) => insert('one', 'insert into outbox (job) values ($1)', JSON.stringify(jobOf(event))),
    raiseMany: (events: readonly Event[]) =>
      insert('many', 'insert into outbox (job) select jsonb_array_elements($1)', JSON.stringify(events.map(jobOf))),
    async work(send) {
      const client = await pool.connect()
      for (;;) {
        await client.query('begin')
        const { rows } = await client.query<{ id: string; job: Job }>({
          name: 'find',
          text: `select id, job from outbox where sent_at is null order by id limit ${inFlight} for update skip locked`,
        })
        await sendAll(
          rows.map(({ job }) => job),
          send,
        )
        const ids = rows.map(({ id }) => id)
        if (ids.length > 0) {
          await client.query({
            name: 'sent',
            text: 'update outbox set sent_at = now() where id = any($1)',
            values: [ids],
          })
        }
        await client.query('commit')
        if (rows.length === 0) await asleep(pollMs, (stop) => (wake = stop))
      }
    },
  }
}
