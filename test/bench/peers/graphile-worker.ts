/**
 * graphile-worker on PostgreSQL. `mode` is `batches`, with the local queue and the delays of its page on performance, or
 * `single`, with its defaults: each job is fetched and completed by statements of its own.
 */
import { connections, importPeer, inFlight, type Job, jobOf, type OpenQueue } from './queue.ts'

interface GraphileWorker {
  Logger: new (factory: () => () => void) => unknown
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<void>
    addJob(task: string, payload: Job): Promise<unknown>
    addJobs(jobs: readonly { identifier: string; payload: Job }[]): Promise<unknown>
  }>
  run(options: object): Promise<unknown>
}

const identifier = 'deliver'
const batching = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }

export const openGraphileWorker: OpenQueue = async ({ database, isNew, mode }) => {
  const { Logger, makeWorkerUtils, run } = await importPeer<GraphileWorker>('graphile-worker')
  const logger = new Logger(() => () => {})
  const options = { connectionString: database, maxPoolSize: connections, logger }
  const utils = await makeWorkerUtils(options)
  if (isNew) await utils.migrate()
  return {
    raise: (event) => utils.addJob(identifier, jobOf(event)),
    raiseMany: (events) => utils.addJobs(events.map((event) => ({ identifier, payload: jobOf(event) }))),
    work: (send) =>
      run({
        ...options,
        concurrency: inFlight,
        noHandleSignals: true,
        taskList: { [identifier]: send },
        preset: { worker: mode === 'batches' ? batching : {} },
      }),
  }
}
