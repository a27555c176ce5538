/** What of `pg` is used here; only storage/postgres.ts imports it. */
import type { rowTypes } from './values.ts'

/** One statement as the driver takes it. */
export interface DriverQuery {
  readonly text: string
  readonly values?: unknown[]
  /** A statement the server keeps, on this connection, under this name. */
  readonly name?: string
  readonly types?: typeof rowTypes
  /** Milliseconds after which the driver gives up. */
  readonly query_timeout?: number
}

export interface DriverResult {
  readonly rows: unknown[]
  readonly rowCount: number | null
  /** The first word of the server's answer. */
  readonly command: string
}

export interface DriverClient {
  query(query: DriverQuery): Promise<DriverResult>
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

export interface PooledClient extends DriverClient {
  /** Gives the connection back, or ends it. */
  release(end?: boolean): void
}

/** What mailkeep uses of a `pg.Pool` of the host's. Any of its versions fits, without its types being installed. */
export interface PostgresPool {
  /** What the pool was made with. */
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
  readonly waitingCount: number
  connect(): Promise<PooledClient>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

/** A connection of its own, outside the pool. */
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
  /** Whose connection sent it. */
  readonly processId: number
  readonly channel: string
  readonly payload?: string | undefined
}
