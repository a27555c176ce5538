import type { RaisedEvent } from '../context.ts'

/** The port of operations on webhooks to this process. */
export interface WebhookPort {
  readonly settings: WebhookSettings
  /** Wakes the dispatchers of all processes, because deliveries are due. */
  readonly wake: () => void
  /** Aborts the deliveries in flight for which `matches` returns true. */
  readonly abort: (matches: (claimed: { endpointId: number; clientId: number }) => boolean) => void
  /** Called with every event after its commit, even if no endpoint subscribes to it. */
  readonly onEvent?: ((event: RaisedEvent) => void) | undefined
}

/** Settings of webhook delivery. The defaults are in `defaultWebhookSettings`. */
export interface WebhookSettings {
  /** For development: allows `http`, any port and private hosts. Default false. */
  readonly allowPrivate: boolean
  /** Ports that an endpoint's URL may use. Default 443 and 8443. */
  readonly ports: readonly number[]
  /** Delay before attempt 2, 3, …, counted from the end of the previous attempt. Default: nine delays, over 3 days. */
  readonly retryScheduleSeconds: readonly number[]
  /** Timeout of a whole attempt, from connecting to the end of the answer. Default 15. */
  readonly timeoutSeconds: number
  /** Maximum requests in flight in total. Default 256. */
  readonly concurrency: number
  /** Maximum requests in flight to one endpoint. Default 64. */
  readonly endpointConcurrency: number
  /**
   * An endpoint is switched off after this many failures in a row, if `disableAfterHours` have passed too. Default 20.
   */
  readonly disableAfterFailures: number
  /** Minimum hours since the first of these failures before an endpoint is switched off. Default 24. */
  readonly disableAfterHours: number
  /** Maximum webhook endpoints of a client. Each event creates one delivery per endpoint. Default 100. */
  readonly endpointsPerClient: number
  /** Maximum test deliveries of a client in a minute. Default 10. */
  readonly testDeliveriesPerMinute: number
  /** How long deliveries are stored. Default 30. */
  readonly retentionDays: number
}

export const defaultWebhookSettings: WebhookSettings = {
  allowPrivate: false,
  ports: [443, 8443],
  // The schedule of Standard Webhooks 1.0.0: immediately, then 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h.
  retryScheduleSeconds: [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
  timeoutSeconds: 15,
  concurrency: 256,
  endpointConcurrency: 64,
  disableAfterFailures: 20,
  disableAfterHours: 24,
  endpointsPerClient: 100,
  testDeliveriesPerMinute: 10,
  retentionDays: 30,
}
