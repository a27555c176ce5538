/** The load of many clients at an even pace: writes, deletes, listings, searches, and invalid requests. */
import { Agent, request } from 'node:http'

export interface Counts {
  /** Response times in ms since the last call. */
  readonly tookMs: number[]
  /** Unexpected answers, or missing ones, since the start. */
  readonly wrong: Map<string, number>
  requests: number
}

interface Ask {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  /** Statuses that are allowed as the answer. */
  readonly allowed: readonly number[]
}

/** Number of contacts. As many are deleted as created, so that the data keeps its size. */
const population = 5_000

const any = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)]!
const upTo = (most: number) => 1 + Math.floor(Math.random() * most)

const email = () => `person-${upTo(population)}@example.org`
const contact = () => `/contacts/${upTo(3 * population)}`

/** Each request with its weight. */
const kinds: readonly (readonly [number, () => Ask])[] = [
  [30, () => ({ method: 'POST', path: `/lists/${upTo(3)}/contacts`, body: person(), allowed: [200, 201] })],
  [
    5,
    () => ({
      method: 'PUT',
      path: contact(),
      body: { name: 'Renamed', tags: [`tag ${upTo(50)}`] },
      allowed: [200, 404],
    }),
  ],
  [5, () => ({ method: 'DELETE', path: contact(), allowed: [204, 404] })],
  [5, () => ({ method: 'POST', path: `${contact()}/unsubscribe`, allowed: [200, 404] })],
  [5, () => ({ method: 'POST', path: `${contact()}/resubscribe`, allowed: [200, 404] })],
  [10, () => ({ method: 'GET', path: contact(), allowed: [200, 404] })],
  [8, () => ({ method: 'GET', path: `/contacts?per_page=${upTo(100)}&include_unsubscribed=1`, allowed: [200] })],
  [
    8,
    () => ({ method: 'GET', path: `/contacts?search=${any(['son-1', 'Ada', '%25', 'x'])}&lists[]=1`, allowed: [200] }),
  ],
  [4, () => ({ method: 'GET', path: `/webhook-endpoints/${upTo(6)}/deliveries?per_page=50`, allowed: [200] })],
  [3, () => ({ method: 'POST', path: '/events', body: { type: 'newsletter.sent', data: { n: 1 } }, allowed: [202] })],
  [2, () => ({ method: 'DELETE', path: `/tags/${upTo(500)}`, allowed: [204, 404] })],
  [2, () => ({ method: 'POST', path: '/tags', body: { name: `tag ${upTo(50)}` }, allowed: [201, 422] })],
  [1, () => ({ method: 'POST', path: `/webhook-endpoints/${upTo(6)}/test`, allowed: [202, 429] })],
  [3, () => ({ method: 'POST', path: '/lists/1/contacts', body: { email: 'no address' }, allowed: [422] })],
  [2, () => ({ method: 'POST', path: '/lists/1/contacts', body: 'x'.repeat(2 * 1024 * 1024), allowed: [413] })],
  [2, () => ({ method: 'GET', path: '/nowhere', allowed: [404] })],
]
const deck = kinds.flatMap(([weight, make]) => Array.from({ length: weight }, () => make))

function person(): object {
  return {
    email: email(),
    name: any(['Ada', 'Bo', 'Cy']),
    tags: [`tag ${upTo(50)}`, 'all'],
    company: 'x'.repeat(upTo(500)),
  }
}

/** Sends `perSecond` requests a second until stopped, whether or not answers come. */
export class Load {
  readonly counts: Counts = { tookMs: [], wrong: new Map(), requests: 0 }
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })
  readonly #port: number
  readonly #token: string
  readonly #timer: NodeJS.Timeout
  #due = 0
  #stopped = false

  constructor(port: number, token: string, perSecond: number) {
    this.#port = port
    this.#token = token
    let last = performance.now()
    this.#timer = setInterval(() => {
      const now = performance.now()
      this.#due += ((now - last) / 1000) * perSecond
      last = now
      for (; this.#due >= 1; this.#due--) void this.ask(any(deck)())
    }, 20)
  }

  /** Aborts requests in progress, which are not counted. */
  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
    this.#agent.destroy()
  }

  /** @returns The answer's data. */
  ask({ method, path, body, allowed }: Ask): Promise<unknown> {
    const startedMs = performance.now()
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      authorization: `Bearer ${this.#token}`,
      ...(payload === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
    }
    const target = { agent: this.#agent, host: '127.0.0.1', port: this.#port, method, path: `/api/v1${path}`, headers }
    this.counts.requests++
    return new Promise((resolve) => {
      const sent = request(target, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (piece) => {
          text += piece
        })
        answer.on('end', () => {
          this.counts.tookMs.push(performance.now() - startedMs)
          if (!allowed.includes(answer.statusCode!))
            this.#note(`${method} ${path.split('?')[0]}: ${answer.statusCode} ${text}`)
          resolve(text === '' ? undefined : JSON.parse(text).data)
        })
      })
      sent.on('error', (error) => {
        this.#note(`${method}: ${error.message}`)
        resolve(undefined)
      })
      sent.end(payload)
    })
  }

  #note(what: string): void {
    if (this.#stopped) return
    const { wrong } = this.counts
    const key = what.replace(/\d{2,}/g, 'N').slice(0, 200)
    wrong.set(key, (wrong.get(key) ?? 0) + 1)
  }
}
