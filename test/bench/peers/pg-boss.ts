/** pg-boss on PostgreSQL, with LISTEN and NOTIFY. `mode` is the size of its batches. */
import { connections, importPeer, type Job, jobOf, type OpenQueue } from './queue.ts'
import { sendAll } from './send.ts'

interface PgBoss {
  PgBoss: new (
    options: object,
  ) => {
    on(event: 'error', listener: (error: Error) => void): void
    start(): Promise<unknown>
    createQueue(name: string, options: object): Promise<void>
    send(name: string, data: Job): Promise<unknown>
    insert(name: string, jobs: readonly { data: Job }[]): Promise<unknown>
    work(name: string, options: object, handle: (jobs: readonly { data: Job }[]) => Promise<void>): Promise<unknown>
  }
}

const queue = 'webhooks'

export const openPgBoss: OpenQueue = async ({ database, isNew, mode }) => {
  const { PgBoss } = await importPeer<PgBoss>('pg-boss')
  const boss = new PgBoss({ connectionString: database, max: connections, useListenNotify: true, schedule: false })
  boss.on('error', (error) => process.stderr.write(`${error.message}\n`))
  await boss.start()
  if (isNew) await boss.createQueue(queue, { notify: true, retryLimit: 9, retryBackoff: true })
  return {
    raise: (event) => boss.send(queue, jobOf(event)),
    raiseMany: (events) =>
      boss.insert(
        queue,
        events.map((event) => ({ data: jobOf(event) })),
      ),
    work(send) {
      const options = { batchSize: Number(mode), burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
      return boss.work(queue, options, (jobs) =>
        sendAll(
          jobs.map(({ data }) => data),
          send,
        ),
      )
    },
  }
}
