/**
 * The receiver of the fault tests: a real HTTP server. It records every request, and each test controls its answers.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DeliveryVerificationError, verifyDelivery } from '../../lib/webhooks/receiver.ts'

/** One request that has arrived completely. */
export interface Arrival {
  readonly path: string
  /** The X-Service-Delivery header. */
  readonly deliveryId: string
  readonly headers: IncomingHttpHeaders
  readonly raw: string
  readonly event: { readonly id: string; readonly type: string; readonly data: EventData }
  /** The event's key; see `keyOf`. */
  readonly key: string
  /** Arrival time by performance.now(). */
  readonly atMs: number
  /** The status, once it has been written to the socket. */
  answered: number | undefined
  /** Resolves when the sender has received the answer or closed the connection. */
  readonly gone: Promise<unknown>
  /** Answers; resolves once the answer has been sent. */
  answer(status: number, body?: string): Promise<void>
  /** Resets the connection. */
  cut(): void
}

interface EventData {
  readonly key?: string
  readonly contact?: { readonly email: string }
}

type Behaviour = (arrival: Arrival) => unknown

export const answering =
  (status: number): Behaviour =>
  (arrival) =>
    arrival.answer(status)

/** Leaves the answer to the test. */
export const holding: Behaviour = () => {}

/** Returns the key that the load gave to an event. */
export function keyOf({ type, data }: { readonly type: string; readonly data: EventData }): string {
  if (!data.contact) return data.key ?? type
  const name = data.contact.email.split('@')[0]!
  return type === 'contact.unsubscribed' ? `${name}/off` : name
}

/** A secret and the period in which it may have signed, by `performance.now()`. */
interface Secret {
  readonly secret: string
  readonly fromMs: number
  untilMs: number
}

/** A request signed just before a rotation was answered may arrive just after it. */
const slackMs = 1000

const patienceMs = 60_000

export class Receiver {
  /** All requests, in order of arrival. */
  readonly arrivals: Arrival[] = []
  readonly #server = createServer((req, res) => void this.#take(req, res))
  readonly #behaviours = new Map<string, Behaviour>()
  readonly #secrets = new Map<string, Secret[]>()
  readonly #listeners = new Set<() => void>()

  async listen(): Promise<void> {
    this.#server.keepAliveTimeout = 0 // no connection is closed just as the next request comes
    this.#server.requestTimeout = 0
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`
  }

  /** Sets the behaviour for requests from now on; the default answer is 200. */
  behave(path: string, behaviour: Behaviour): void {
    this.#behaviours.set(path, behaviour)
  }

  to(path: string): Arrival[] {
    return this.arrivals.filter((one) => one.path === path)
  }

  /** Requests without an answer yet whose sender still waits. */
  readonly open = new Set<Arrival>()

  /** Resolves once `wanted` holds; checks it at each arrival. */
  async until(wanted: () => boolean, what = 'what was waited for'): Promise<void> {
    if (wanted()) return
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer)
        this.#listeners.delete(listener)
        settle()
      }
      const listener = () => wanted() && end(resolve)
      const timer = setTimeout(
        () => end(() => reject(new Error(`${what} did not come; ${this.arrivals.length} requests did`))),
        patienceMs,
      )
      this.#listeners.add(listener)
    })
  }

  /** Returns the `count`-th request to a path, starting at 1. */
  async nth(path: string, count: number): Promise<Arrival> {
    await this.until(() => this.to(path).length >= count, `request ${count} to ${path}`)
    return this.to(path)[count - 1]!
  }

  /** Allows this secret to sign requests to the path from `fromMs` on. */
  trust(path: string, secret: string, fromMs = performance.now()): void {
    const secrets = this.#secrets.get(path) ?? []
    secrets.push({ secret, fromMs, untilMs: Number.POSITIVE_INFINITY })
    this.#secrets.set(path, secrets)
  }

  /** From now on allows this secret only. */
  trustOnly(path: string, secret: string): void {
    for (const one of this.#secrets.get(path) ?? []) {
      if (one.secret !== secret) one.untilMs = Math.min(one.untilMs, performance.now())
    }
  }

  /** Checks that every request was signed with a secret that was valid for its endpoint at that moment. */
  checkSignatures(): void {
    for (const arrival of this.arrivals) {
      const { path, atMs, headers, raw, deliveryId } = arrival
      const valid = (this.#secrets.get(path) ?? [])
        .filter(({ fromMs, untilMs }) => fromMs <= atMs + slackMs && atMs <= untilMs + slackMs)
        .map(({ secret }) => secret)
      try {
        verifyDelivery(headers, raw, valid, { toleranceSeconds: Number.POSITIVE_INFINITY })
      } catch (error) {
        if (!(error instanceof DeliveryVerificationError)) throw error
        assert.fail(`delivery ${deliveryId} to ${path}: ${error.message}`)
      }
      assert.equal(headers['webhook-id'], deliveryId)
    }
  }

  /** Whether a request is signed with this secret. */
  isSignedWith({ headers, raw }: Arrival, secret: string): boolean {
    try {
      verifyDelivery(headers, raw, secret, { toleranceSeconds: Number.POSITIVE_INFINITY })
      return true
    } catch {
      return false
    }
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #take(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const gone = new Promise((resolve) => res.once('close', resolve))
    const chunks: Buffer[] = []
    try {
      for await (const chunk of req) chunks.push(chunk)
    } catch {
      return // the sender was killed while sending
    }
    const { url: path = '', headers } = req
    const raw = Buffer.concat(chunks).toString()
    const event = JSON.parse(raw)
    const arrival: Arrival = {
      path,
      deliveryId: String(headers['x-service-delivery']),
      headers,
      raw,
      event,
      key: keyOf(event),
      atMs: performance.now(),
      answered: undefined,
      gone,
      answer: async (status, body) => {
        if (res.destroyed) return
        arrival.answered = status
        this.open.delete(arrival)
        const left = new Promise((resolve) => res.once('finish', resolve))
        res.writeHead(status).end(body)
        await Promise.race([left, gone])
      },
      cut: () => res.destroy(),
    }
    this.arrivals.push(arrival)
    this.open.add(arrival)
    void gone.then(() => this.open.delete(arrival))
    ;(this.#behaviours.get(path) ?? answering(200))(arrival)
    for (const listener of [...this.#listeners]) listener()
  }
}
