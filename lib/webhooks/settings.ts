/** How webhooks are delivered; the defaults are `defaultWebhookSettings`. */
export interface WebhookSettings {
  /** For development: allows `http`, any port and private hosts. */
  readonly allowPrivate: boolean
  /** The ports an endpoint's URL may have. */
  readonly ports: readonly number[]
  /** Seconds before attempt 2, 3, …, each after the end of the attempt before it. */
  readonly retryScheduleSeconds: readonly number[]
  /** For one attempt in all. */
  readonly timeoutSeconds: number
  /** Requests in flight at most, in all. */
  readonly concurrency: number
  /** Requests in flight at most, to one endpoint. */
  readonly endpointConcurrency: number
  /** An endpoint that failed so often in a row … */
  readonly disableAfterFailures: number
  /** … the first time so many hours ago, is switched off. */
  readonly disableAfterHours: number
  /** Webhook endpoints a client may have at most: each event makes a delivery for each of them. */
  readonly endpointsPerClient: number
  readonly testDeliveriesPerMinute: number
  /** Deliveries are kept so long. */
  readonly retentionDays: number
}

export const defaultWebhookSettings: WebhookSettings = {
  allowPrivate: false,
  ports: [443, 8443],
  // The example of Standard Webhooks 1.0.0: at once, then 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h.
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
