/**
 * The connections to receivers. Imported at the first delivery, because loading undici takes a tenth of the start time.
 * The published package bundles the parts of undici that are used into this module.
 */
import type { LookupFunction, Socket } from 'node:net'
import { type buildConnector, Client, type Dispatcher, Pool } from 'undici'
import { ResponseFilter } from './response-filter.ts'

const connectTimeoutMs = 5000
const maxPools = 256

/** Undici wraps handlers but passes requests on unchanged, so the request carries the answer. */
export type OwnRequest = Dispatcher.DispatchOptions & {
  readonly answer: { hangUp: () => void; cutShort(reason: string): void }
}

type PooledOptions = Client.Options & { connect: buildConnector.connector }

/** One connection pool per origin. */
export class Pools {
  /** The pool used last is the last one. */
  readonly #pools = new Map<string, Pool>()
  readonly #options: Pool.Options

  constructor(lookup: LookupFunction, connections: number) {
    this.#options = {
      connections,
      pipelining: 1,
      allowH2: false,
      // `AnswerReader` limits the whole attempt with one timer. Undici's timers would not stop a slow drip of bytes.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 10_000,
      keepAliveMaxTimeout: 60_000,
      autoSelectFamilyAttemptTimeout: 2000,
      connect: { lookup, timeout: connectTimeoutMs },
      factory: (url, options) => newClient(url, options as PooledOptions),
    }
  }

  of(origin: string): Pool {
    const pool = this.#pools.get(origin) ?? new Pool(origin, this.#options)
    this.#pools.delete(origin)
    this.#pools.set(origin, pool)
    if (this.#pools.size > maxPools) this.#evictOldest()
    return pool
  }

  #evictOldest(): void {
    const [origin, pool] = this.#pools.entries().next().value!
    this.#pools.delete(origin)
    pool.close().catch(() => {}) // `close` waits for the pool's requests in flight
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()))
    this.#pools.clear()
  }
}

/**
 * Creates the client of one connection, which reads through a ResponseFilter. Each answer gets a `hangUp` function that
 * closes the socket, because undici's abort would open another connection.
 */
function newClient(url: URL, options: PooledOptions): Client {
  let socket: Socket | null = null
  const filter = new ResponseFilter()
  const client = new Client(url, {
    ...options,
    connect: (target, done) =>
      options.connect(target, (...made: [null, Socket] | [Error, null]) => {
        socket = made[1]
        if (socket) filter.attach(socket)
        done(...made)
      }),
  })
  const dispatch = client.dispatch.bind(client)
  client.dispatch = (request, handler) => {
    const { answer } = request as OwnRequest
    answer.hangUp = () => socket?.destroy(new Error('The attempt is over.'))
    filter.startAttempt((reason) => answer.cutShort(reason))
    return dispatch(request, handler)
  }
  return client
}
