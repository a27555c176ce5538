import { inputLimits } from '../../../lib/index.ts'
import { seriesSteps } from '../../../lib/internal.ts'
import { ok, type QueryDoc, type Route } from './route.ts'

const range: QueryDoc = {
  from: {
    description: 'ISO 8601 with an offset. Default: 60 minutes, 24 hours or 30 days before `to`.',
    schema: { type: 'string' },
    example: '2026-01-02T00:00:00Z',
  },
  to: {
    description: 'The end of the range, exclusive. Default: now.',
    schema: { type: 'string' },
    example: '2026-01-03T00:00:00Z',
  },
  step: {
    description: `The steps begin at whole minutes, hours or days of UTC. A range has at most ${inputLimits.seriesSteps} steps.`,
    schema: { type: 'string', enum: seriesSteps, default: 'hour' },
  },
}

const refused = { step: [`The range has 43200 steps of a minute. The maximum is ${inputLimits.seriesSteps}.`] }

/** Beyond the contract: what the console plots. */
export const statsExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/stats/deliveries',
    role: 'admin',
    inPortal: true,
    name: 'getDeliverySeries',
    summary: 'Delivered and failed attempts over time, and endpoints by state',
    description: 'Counts are kept for 90 days, also after the deliveries are deleted.',
    query: {
      ...range,
      endpoint_id: {
        description: 'Only deliveries to this endpoint.',
        schema: { type: 'integer', format: 'int64' },
        example: 1,
      },
    },
    refused,
    answers: { 200: { record: 'DeliverySeries', description: 'The counts for each step.' } },
    call: async ({ client, query }) => ok(await client.stats.deliveries(query)),
  },
  {
    method: 'GET',
    path: '/stats/contacts',
    role: 'viewer',
    name: 'getContactSeries',
    summary: 'Contacts gained and lost over time',
    query: {
      ...range,
      count: {
        description: 'Whether to add `subscribed`, the number of contacts that are subscribed now.',
        schema: { type: 'boolean', default: false },
      },
    },
    refused,
    answers: { 200: { record: 'ContactSeries', description: 'The counts for each step.' } },
    large: 'count',
    call: async ({ client, query }) => ok(await client.stats.contacts(query)),
  },
]
