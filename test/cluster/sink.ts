/** Receives thousands of deliveries, and records which arrived and how often. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Delay of each answer. With immediate answers no request would be in flight when a daemon is killed. */
const answerMs = 15

export class Sink {
  /** Number of arrivals of each delivery, by its id. */
  readonly times = new Map<string, number>()
  /** Numbers of the events that arrived. */
  readonly numbers = new Set<number>()
  readonly #server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const id = String(req.headers['x-service-delivery'])
      const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: { n: number } }
      this.times.set(id, (this.times.get(id) ?? 0) + 1)
      this.numbers.add(data.n)
      setTimeout(() => res.end('ok'), answerMs)
    })
    req.on('error', () => {})
  })

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${path}`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
