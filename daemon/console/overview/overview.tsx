import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api.ts'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Page, useQuery } from '../parts/page.tsx'
import { duration, number, Time } from '../parts/time.tsx'
import { may, role } from '../session.ts'
import { EndpointStates } from './endpoint-states.tsx'
import { Plot } from './plot.tsx'

const ranges = {
  hour: { text: 'Last hour', step: 'minute', hours: 1 },
  day: { text: 'Last 24 hours', step: 'hour', hours: 24 },
  week: { text: 'Last 7 days', step: 'hour', hours: 168 },
  month: { text: 'Last 30 days', step: 'day', hours: 720 },
} as const

type Range = keyof typeof ranges

const names = Object.keys(ranges) as Range[]

export function Overview() {
  const [query, change] = useQuery()
  const range = names.find((name) => name === query.range) ?? 'day'
  const [refreshed, setRefreshed] = useState(0)
  const span = useMemo(() => spanOf(range), [range, refreshed])
  const contacts = useLoad(
    () => dataOf(api.GET('/api/v1/stats/contacts', { params: { query: { ...span, count: true } } })),
    [span],
  )
  return (
    <Page
      title="Overview"
      actions={
        <>
          <select
            aria-label="Time range"
            value={range}
            onChange={(event) => change({ range: event.currentTarget.value })}
          >
            {Object.entries(ranges).map(([name, { text }]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
          <button type="button" onClick={() => setRefreshed(refreshed + 1)}>
            Refresh
          </button>
        </>
      }
    >
      {contacts.value?.subscribed === 0 && may('member') && <FirstSteps />}
      {role.value === 'admin' && <Deliveries span={span} hours={ranges[range].hours} />}
      <Loaded of={contacts}>
        {({ series, subscribed }) => <ContactPlot series={series} subscribed={subscribed} />}
      </Loaded>
    </Page>
  )
}

function FirstSteps() {
  return (
    <p class="state">
      No contact is subscribed yet. <a href="/console/import">Import a file</a>, or{' '}
      <a href="/console/contacts">create a contact</a>. Then <a href="/console/newsletters">write a newsletter</a>.
    </p>
  )
}

function spanOf(range: Range) {
  const { step, hours } = ranges[range]
  const to = new Date()
  return { step, from: new Date(to.getTime() - hours * 3_600_000).toISOString(), to: to.toISOString() }
}

function Deliveries({ span, hours }: { span: ReturnType<typeof spanOf>; hours: number }) {
  const deliveries = useLoad(() => dataOf(api.GET('/api/v1/stats/deliveries', { params: { query: span } })), [span])
  return (
    <Loaded of={deliveries}>
      {({ endpoints, series, oldest_due_at }) => (
        <>
          <EndpointStates states={endpoints} />
          <DeliveryPlots series={series} oldestDueAt={oldest_due_at} hours={hours} />
        </>
      )}
    </Loaded>
  )
}

interface DeliveryPlotsProps {
  readonly series: Schemas['DeliverySeries']['series']
  readonly oldestDueAt: string | null
  readonly hours: number
}

function DeliveryPlots({ series, oldestDueAt, hours }: DeliveryPlotsProps) {
  const times = useMemo(() => series.map(({ at }) => at), [series])
  const outcomes = useMemo(
    () => [
      { label: 'delivered', colour: '--good', values: series.map(({ delivered }) => delivered) },
      { label: 'retried', colour: '--warn', values: series.map(({ retried }) => retried) },
      { label: 'failed', colour: '--bad', values: series.map(({ failed }) => failed) },
    ],
    [series],
  )
  const latency = useMemo(
    () => [{ label: '95 % took at most, ms', colour: '--accent', values: series.map(({ p95_ms }) => p95_ms) }],
    [series],
  )
  const linkTo = (status: string) => `/console/deliveries?status=${status}&hours=${hours}`
  const slowest = Math.max(0, ...series.map(({ p95_ms }) => p95_ms ?? 0))
  return (
    <>
      <dl class="figures">
        <Figure title="Delivered" value={number(sum(outcomes[0]!.values))} href={linkTo('success')} />
        <Figure title="Retried attempts" value={number(sum(outcomes[1]!.values))} />
        <Figure title="Failed for good" value={number(sum(outcomes[2]!.values))} href={linkTo('failed')} />
        <Figure
          title="Oldest due delivery"
          value={<Time at={oldestDueAt} none="none" isShort />}
          {...(oldestDueAt !== null && { href: '/console/deliveries?status=pending' })}
        />
        <Figure title="Slowest p95" value={slowest === 0 ? 'none' : latencyText(slowest)} />
      </dl>
      <Plot title="Deliveries" times={times} lines={outcomes} />
      <Plot title="Time to receipt" times={times} lines={latency} unit=" ms" />
    </>
  )
}

const maxShownMs = 10_000

function latencyText(ms: number): string {
  return ms < maxShownMs ? `${number(ms)} ms` : duration(ms / 1000)
}

interface ContactPlotProps {
  readonly series: Schemas['ContactSeries']['series']
  readonly subscribed: number | undefined
}

function ContactPlot({ series, subscribed = 0 }: ContactPlotProps) {
  const times = useMemo(() => series.map(({ at }) => at), [series])
  const lines = useMemo(
    () => [
      { label: 'gained', colour: '--good', values: series.map(({ created }) => created) },
      { label: 'unsubscribed', colour: '--warn', values: series.map(({ unsubscribed }) => unsubscribed) },
      { label: 'erased', colour: '--bad', values: series.map(({ deleted }) => deleted) },
    ],
    [series],
  )
  return (
    <>
      <dl class="figures">
        <Figure title="Subscribed contacts" value={number(subscribed)} href="/console/contacts" />
        <Figure title="Gained" value={number(sum(lines[0]!.values))} />
        <Figure
          title="Unsubscribed"
          value={number(sum(lines[1]!.values))}
          href="/console/contacts?state=unsubscribed"
        />
        <Figure title="Erased" value={number(sum(lines[2]!.values))} />
      </dl>
      <Plot title="Contacts" times={times} lines={lines} />
    </>
  )
}

function Figure({ title, value, href }: { title: string; value: ComponentChildren; href?: string }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{href === undefined ? value : <a href={href}>{value}</a>}</dd>
    </div>
  )
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0)
}
