/** The parts of `pg` that mailkeep uses. Only storage/postgres.ts imports the package. */
import type { rowTypes } from './values.ts'

/** One statement for the driver. */
export interface DriverQuery {
  readonly text: string
  readonly values?: unknown[]
  /** Name of the prepared statement on this connection. */
  readonly name?: string
  readonly types?: typeof rowTypes
  /** Client-side timeout in milliseconds. */
  readonly query_timeout?: number
}

export interface DriverResult {
  readonly rows: unknown[]
  readonly rowCount: number | null
  /** First word of the server's command tag, such as COMMIT. */
  readonly command: string
}

interface DriverClient {
  /** Whether the client sends a statement before the answers to the statements before it: `pg` 8.23 and later. */
  readonly pipeline?: boolean
  query(query: DriverQuery): Promise<DriverResult>
  on(event: 'error', listener: (error: Error) => void): unknown
}

export interface PooledClient extends DriverClient {
  /** Returns the connection to the pool, or closes it if `end` is true. */
  release(end?: boolean): void
}

/** The parts of the host's `pg.Pool` that mailkeep uses. Every version fits, and its types need not be installed. */
export interface PostgresPool {
  /** The settings that the pool was created with. */
  readonly options: object
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
  connect(): Promise<object>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

export interface DriverPool {
  /** `max`: the maximum number of connections. Absent if it is not known. */
  readonly options?: { readonly max?: number | undefined }
  readonly waitingCount: number
  connect(): Promise<PooledClient>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'acquire', listener: (client: DriverClient) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'acquire', listener: (client: DriverClient) => void): unknown
}

const clientsWithListener = new WeakSet<DriverClient>()

/**
 * Adds a permanent `error` listener to a client. Without one, Node ends the process when the server closes the
 * connection. The current or the next statement reports the error.
 */
export function ignoreErrorEvents(client: DriverClient): void {
  if (clientsWithListener.has(client)) return
  clientsWithListener.add(client)
  client.on('error', () => {})
}

/** A single connection outside the pool. */
export interface SignalClient extends DriverClient {
  readonly processID: number | null
  connect(): Promise<unknown>
  end(): Promise<void>
  ref(): void
  unref(): void
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: Notification) => void): unknown
}

export interface Notification {
  /** Server process id of the connection that sent it. */
  readonly processId: number
  readonly channel: string
  readonly payload?: string | undefined
}
