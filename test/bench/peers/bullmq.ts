/** BullMQ on Redis. Completed jobs are removed but for the last 1,000, as its documentation advises for production. */
import { importPeer, inFlight, type Job, jobOf, type OpenQueue } from './queue.ts'

interface BullMQ {
  Queue: new (
    name: string,
    options: object,
  ) => {
    add(name: string, data: Job, options: object): Promise<unknown>
    addBulk(jobs: readonly { name: string; data: Job; opts: object }[]): Promise<unknown>
  }
  Worker: new (
    name: string,
    process: (job: { data: Job }) => Promise<void>,
    options: object,
  ) => { on(event: 'error', listener: (error: Error) => void): void }
}

const queueName = 'webhooks'
const opts = { attempts: 10, backoff: { type: 'exponential', delay: 5000 }, removeOnComplete: 1000, removeOnFail: 5000 }

export const openBullMQ: OpenQueue = async ({ database }) => {
  const { Queue, Worker } = await importPeer<BullMQ>('bullmq')
  const connection = { host: '127.0.0.1', port: Number(database), maxRetriesPerRequest: null }
  const queue = new Queue(queueName, { connection })
  return {
    raise: (event) => queue.add('deliver', jobOf(event), opts),
    raiseMany: (events) => queue.addBulk(events.map((event) => ({ name: 'deliver', data: jobOf(event), opts }))),
    work(send) {
      const worker = new Worker(queueName, ({ data }) => send(data), { connection, concurrency: inFlight })
      worker.on('error', (error) => process.stderr.write(`${error.message}\n`))
    },
  }
}
