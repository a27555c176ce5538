import { setImmediate } from 'node:timers'
import type { Mailkeep, Stats } from '../lib/index.ts'
import type { MetricsPage } from './api/index.ts'
import type { AnsweredRequest, Observe } from './http/middleware.ts'

export interface Metrics extends MetricsPage {
  readonly observe: Observe
}

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Creates the daemon's metrics, in Prometheus's text format. */
export function createMetrics(mailkeep: Mailkeep, token: string | undefined): Metrics {
  let recorder: Recorder | undefined
  const unrecorded: AnsweredRequest[] = []
  // Load prom-client after the first answer, because loading it earlier would delay the start.
  let loading: Promise<Recorder> | undefined
  const load = async () => {
    recorder = await openRecorder()
    for (const answered of unrecorded.splice(0)) recorder.observe(answered)
    return recorder
  }
  const loaded = () => (loading ??= load())
  return {
    ...(token === undefined ? {} : { token }),
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    observe: (answered) => {
      if (recorder) recorder.observe(answered)
      else {
        unrecorded.push(answered)
        setImmediate(() => void loaded())
      }
    },
    render: async () => `${await (await loaded()).render()}\n${render(await mailkeep.stats())}`,
  }
}

interface Recorder {
  readonly observe: Observe
  render(): Promise<string>
}

/** Opens the prom-client registry. Caches the counters of each label set, because looking up labels is slow. */
async function openRecorder(): Promise<Recorder> {
  const { Counter, collectDefaultMetrics, Histogram, Registry } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 })
  const registers = [registry]
  const requests = new Counter({
    name: 'mailkeep_http_requests_total',
    help: 'Requests answered, by route and status',
    labelNames: ['method', 'route', 'status'] as const,
    registers,
  })
  const durations = new Histogram({
    name: 'mailkeep_http_request_duration_seconds',
    help: 'From the headers of a request to its answer',
    labelNames: ['method', 'route'] as const,
    buckets: secondsBuckets,
    registers,
  })
  const counters = new Map<string, (ms: number) => void>()
  const observe: Observe = ({ method, route, status, ms }) => {
    const key = `${method} ${status} ${route}`
    let count = counters.get(key)
    if (!count) {
      const counter = requests.labels({ method, route, status: String(status) })
      const histogram = durations.labels({ method, route })
      count = (taken) => {
        counter.inc()
        histogram.observe(taken / 1000)
      }
      counters.set(key, count)
    }
    count(ms)
  }
  // prom-client writes "Nan" where nothing was measured. The text format has "NaN".
  return { observe, render: async () => (await registry.metrics()).replaceAll(/ Nan$/gm, ' NaN') }
}

type Sample = readonly [value: number, labels?: Readonly<Record<string, string>>]

/** Renders the library's own counts. prom-client cannot do it, because its counters cannot be set. */
function render(stats: Stats): string {
  const { database, deliveries, attempts, endpoints } = stats
  const { pool, writesWaiting, groupSizes } = database
  return [
    metricFamily(
      'deliveries_total',
      'counter',
      'Deliveries that came to their end, by outcome',
      labelled('outcome', deliveries),
    ),
    metricFamily(
      'delivery_attempts_total',
      'counter',
      'Attempts to deliver, by outcome',
      labelled('outcome', attempts),
    ),
    histogram('delivery_attempt_duration_seconds', 'How long requests to receivers took', {
      buckets: stats.attemptMs.map(({ upTo, count }) => [upTo / 1000, count]),
      sum: stats.attemptMsSum / 1000,
    }),
    metricFamily('deliveries_in_flight', 'gauge', 'Requests to receivers under way', [[stats.inFlight]]),
    metricFamily('oldest_due_delivery_seconds', 'gauge', 'How long the delivery that waits longest has been due', [
      [stats.oldestDueSeconds],
    ]),
    metricFamily(
      'messages_total',
      'counter',
      'Attempts to hand over mail, by outcome',
      labelled('outcome', stats.messages),
    ),
    metricFamily('messages_in_flight', 'gauge', 'Mails that are being handed over', [[stats.messagesInFlight]]),
    metricFamily('mail_server_down', 'gauge', 'Whether mail waits because the mail server takes none', [
      [Number(stats.isMailServerDown)],
    ]),
    metricFamily('oldest_due_message_seconds', 'gauge', 'How long the mail that waits longest has been due', [
      [stats.oldestDueMessageSeconds],
    ]),
    metricFamily('endpoints_due', 'gauge', 'Endpoints with a delivery that is due', [[stats.endpointsDue]]),
    metricFamily(
      'endpoints',
      'gauge',
      'Webhook endpoints, active or by why they are not',
      labelled('state', endpoints),
    ),
    metricFamily(
      'writes_waiting',
      'gauge',
      'Writes that wait for their turn',
      writesWaiting === undefined ? [] : [[writesWaiting]],
    ),
    groupSizes ? histogram('write_group_size', 'Writes that shared one transaction', groupBuckets(groupSizes)) : '',
    metricFamily('database_connections', 'gauge', 'Connections of the pool', pool ? labelled('state', pool) : []),
  ].join('')
}

export function metricFamily(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  samples: readonly Sample[],
): string {
  if (samples.length === 0) return ''
  const lines = samples.map(([value, labels = {}]) => `mailkeep_${name}${labelSet(labels)} ${value}\n`)
  return `# HELP mailkeep_${name} ${help}\n# TYPE mailkeep_${name} ${type}\n${lines.join('')}`
}

function labelSet(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function labelled(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([value, count]) => [count, { [label]: value }])
}

interface Buckets {
  /** Upper bounds with their counts. Not cumulative: a count covers only values above the previous bound. */
  readonly buckets: readonly (readonly [bound: number, count: number])[]
  readonly sum: number
}

function histogram(name: string, help: string, { buckets, sum }: Buckets): string {
  let total = 0
  const lines = buckets.map(([bound, count]) => {
    total += count
    return `mailkeep_${name}_bucket{le="${bound === Number.POSITIVE_INFINITY ? '+Inf' : bound}"} ${total}\n`
  })
  const totals = `mailkeep_${name}_sum ${sum}\nmailkeep_${name}_count ${total}\n`
  return `# HELP mailkeep_${name} ${help}\n# TYPE mailkeep_${name} histogram\n${lines.join('')}${totals}`
}

const groupSizeBounds = [1, 2, 4, 8, 16, 32, 64, Number.POSITIVE_INFINITY]

function groupBuckets(sizes: readonly number[]): Buckets {
  const counts = groupSizeBounds.map(() => 0)
  for (const [size, count] of sizes.entries()) counts[groupSizeBounds.findIndex((bound) => size <= bound)]! += count
  return {
    buckets: groupSizeBounds.map((bound, at) => [bound, counts[at]!]),
    sum: sizes.reduce((sum, count, size) => sum + size * count, 0),
  }
}
