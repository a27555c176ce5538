import type { StartReport, ToPrimary, ToWorker } from './messages.ts'

/** How a process that serves reaches the first one. */
interface Channel {
  send(message: ToPrimary): void
  listen(listener: (message: ToWorker) => void): void
}

/** One of several processes that serve on the same port. */
export interface WorkerProcess {
  /** From 1. Only the first one delivers. */
  readonly number: number
  readonly port: number
  /** Whether it creates a missing database. */
  readonly creates: boolean
  /** Resolves when the first process asks it to stop. */
  readonly stopped: Promise<void>
  started(report: StartReport): void
  /** Returns the metrics of all processes. `render` returns those of this one whenever the first process asks. */
  sumMetrics(render: () => Promise<string>): () => Promise<string>
}

const metricsTimeoutMs = 5000

export function openWorker(
  place: Pick<WorkerProcess, 'number' | 'port' | 'creates'>,
  { send, listen }: Channel,
): WorkerProcess {
  const waiting = new Map<number, (text: string) => void>()
  let renderOwn = async () => ''
  let lastId = 0
  let stop = () => {}
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
  })
  listen((message) => {
    if (message.kind === 'stop') stop()
    else if (message.kind === 'metrics') waiting.get(message.id)?.(message.text)
    else void report()
  })
  /** Without a report, as when the database cannot be read, the previous one counts. */
  const report = async () => {
    const text = await renderOwn().catch(() => undefined)
    if (text !== undefined) send({ kind: 'report', text })
  }
  const metricsOfAll = async () => {
    await renderOwn() // fails as the page of a single process does
    const id = ++lastId
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<string>((resolve, reject) => {
        timer = setTimeout(() => reject(new Error('The first process did not answer.')), metricsTimeoutMs)
        waiting.set(id, resolve)
        send({ kind: 'metrics', id })
      })
    } finally {
      clearTimeout(timer)
      waiting.delete(id)
    }
  }
  return {
    ...place,
    stopped,
    started: (report) => send({ kind: 'started', report }),
    sumMetrics(render) {
      renderOwn = render
      return metricsOfAll
    },
  }
}
