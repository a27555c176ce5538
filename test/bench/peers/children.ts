/** Processes of the peers, on any core: most of them share the machine with a database server. */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Child } from '../children.ts'
import type { Contender } from './contenders.ts'
import { monotonicMs, type QueuePlace } from './queue.ts'
import type { Command } from './queue-process.ts'
import type { Received } from './receiver.ts'

const otherCore = 1

/** A process that stores events and delivers them. */
export class QueueProcess extends Child {
  static async open(
    folder: string,
    { queue, mode }: Contender,
    place: Omit<QueuePlace, 'mode'>,
  ): Promise<QueueProcess> {
    const program = join(folder, 'queue-process.cjs')
    const child = new QueueProcess(undefined, [process.execPath, program, queue, JSON.stringify({ ...place, mode })])
    await child.answer()
    return child
  }

  run(command: Command): Promise<number> {
    return this.ask(command)
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL')
    await this[Symbol.asyncDispose]()
  }
}

/** A service for contacts over HTTP. */
export class ContactProcess extends Child {
  static open(folder: string, program: string, database: string): Promise<ContactProcess> {
    return new ContactProcess(undefined, [process.execPath, join(folder, `${program}.cjs`), database]).listening()
  }
}

const pollMs = 50

/** Counts what the queues deliver, on the second core. */
export class PeerReceiver extends Child {
  static open(folder: string): Promise<PeerReceiver> {
    return new PeerReceiver(otherCore, [process.execPath, join(folder, 'receiver.cjs')]).listening()
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Resets the counters. */
  restart(awaited = 0): void {
    this.tell({ awaited })
  }

  received(): Promise<Received> {
    return this.ask('report')
  }

  /** Resolves when this many events have come, or when no new one has come for `patienceMs`. */
  async wait(events: number, patienceMs: number): Promise<Received> {
    let lastEvents = -1
    let lastMs = monotonicMs()
    for (;;) {
      const received = await this.received()
      const nowMs = monotonicMs()
      if (received.events !== lastEvents) [lastEvents, lastMs] = [received.events, nowMs]
      if (received.events >= events || nowMs - lastMs > patienceMs) return received
      await delay(pollMs)
    }
  }
}
