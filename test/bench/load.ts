/** Generates load. Off-the-shelf generators need more CPU than the servers they should saturate. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Frames } from './frames.ts'
import { cpuSeconds } from './processor.ts'
import { type Plan, requestsOf } from './requests.ts'
import { type Summary, summaryOf } from './summary.ts'

export interface Job {
  readonly port: number
  /** The server's process id, to measure its processor time. */
  readonly pid: number
  readonly plan: Plan
  readonly connections: number
  readonly warmupSeconds: number
  readonly seconds: number
  /**
   * Requests per second at random moments, regardless of answers (open loop). Without it each answer triggers the next
   * request.
   */
  readonly perSecond?: number
  /** Maximum number of answers; the measurement may end earlier. */
  readonly most?: number
  /** Whether the process sleeps while it waits, for servers whose database needs this core too. */
  readonly calm?: boolean
}

/** In an open loop, times count from the moment a request was due, not from when a connection became free. */
export interface Measured extends Summary {
  /** Fraction of a core that the server used. */
  readonly serverBusy: number
  /** Fraction of a core that this process used. Near 1, this process was the limit, not the server. */
  readonly busy: number
}

interface Line {
  readonly socket: Socket
  sentMs: number
}

class Load {
  readonly #job: Job
  readonly #next: () => string
  readonly #times: number[] = []
  readonly #free: Line[] = []
  readonly #due: number[] = []
  #lines: Line[] = []
  #fromMs = 0
  #untilMs = 0
  #wrong: string | undefined

  constructor(job: Job) {
    this.#job = job
    this.#next = requestsOf(job.plan)
  }

  async run(): Promise<Measured> {
    const { pid, connections, warmupSeconds, seconds, perSecond } = this.#job
    this.#lines = await Promise.all(Array.from({ length: connections }, () => this.#open()))
    this.#fromMs = performance.now() + warmupSeconds * 1000
    this.#untilMs = this.#fromMs + seconds * 1000
    this.#free.push(...this.#lines)
    if (perSecond !== undefined) this.#offer(perSecond, performance.now())
    else for (const line of this.#free.splice(0)) this.#send(line, performance.now())
    await this.#until(this.#fromMs)
    const [serverBefore, before] = [cpuSeconds(pid), cpuSeconds(process.pid)]
    await this.#until(this.#untilMs)
    const [serverAfter, after] = [cpuSeconds(pid), cpuSeconds(process.pid)]
    while (this.#free.length < connections && !this.#wrong) await this.#turn()
    for (const { socket } of this.#lines) socket.destroy()
    if (this.#wrong) throw new Error(this.#wrong)
    const elapsed = (this.#untilMs - this.#fromMs) / 1000
    const [serverBusy, busy] = [(serverAfter - serverBefore) / elapsed, (after - before) / elapsed]
    return { ...summaryOf(this.#times, elapsed * 1000), serverBusy, busy }
  }

  /** Ends the measurement early. */
  stop(): void {
    this.#untilMs = Math.min(this.#untilMs, performance.now())
  }

  async #open(): Promise<Line> {
    const socket = connect(this.#job.port, '127.0.0.1').setNoDelay(true)
    const line: Line = { socket, sentMs: 0 }
    const frames = new Frames((head) => this.#answered(line, head))
    socket.on('data', (chunk) => frames.push(chunk))
    socket.on('close', () => {
      if (!this.#free.includes(line)) this.#wrong ??= 'a connection was closed'
    })
    await once(socket, 'connect')
    return line
  }

  #send(line: Line, sinceMs: number): void {
    line.sentMs = sinceMs
    line.socket.write(this.#next(), 'latin1')
  }

  #answered(line: Line, head: string): void {
    const nowMs = performance.now()
    if (head[9] !== '2') this.#wrong ??= head
    if (line.sentMs >= this.#fromMs && nowMs < this.#untilMs) this.#times.push(nowMs - line.sentMs)
    if (this.#times.length === this.#job.most) this.stop()
    const due = this.#due.shift()
    if (due !== undefined) this.#send(line, due)
    else if (this.#job.perSecond !== undefined || nowMs >= this.#untilMs) this.#free.push(line)
    else this.#send(line, nowMs)
  }

  /** Schedules the arrivals of a Poisson process. */
  #offer(perSecond: number, nextMs: number): void {
    let at = nextMs
    for (const nowMs = performance.now(); at <= nowMs; at += exponential(1000 / perSecond)) {
      const line = this.#free.shift() // round-robin, since the server closes idle connections
      if (line) this.#send(line, at)
      else this.#due.push(at)
    }
    if (at < this.#untilMs) void this.#turn().then(() => this.#offer(perSecond, at))
  }

  /**
   * Without `calm` the process never sleeps while it measures. On virtual processors, waking it would cost the
   * answering server more than the answer itself.
   */
  #turn(): Promise<void> {
    return new Promise((resolve) => (this.#job.calm ? setTimeout(resolve, 1) : setImmediate(resolve)))
  }

  async #until(ms: number): Promise<void> {
    while (performance.now() < Math.min(ms, this.#untilMs) && !this.#wrong) await this.#turn()
  }
}

/** Returns the time between two independent arrivals. */
function exponential(meanMs: number): number {
  return -Math.log(1 - Math.random()) * meanMs
}

let load: Load | undefined

process.on('message', async (message: Job | 'stop') => {
  if (message === 'stop') {
    load?.stop()
    return
  }
  load = new Load(message)
  process.send!(await load.run())
})
process.on('disconnect', () => process.exit())
