import type { Delivery, DeliveryQueryInput, Endpoint } from '../../lib/index.ts'
import { deliveryStatuses, withCommas } from '../../lib/internal.ts'
import { CliError } from '../cli-error.ts'
import {
  type Command,
  clientFlag,
  collectRecords,
  findOwner,
  idFrom,
  naming,
  oneOf,
  table,
  withClient,
  withMailkeep,
} from './command.ts'

const listEndpoints: Command = {
  usage: 'endpoint list',
  about: 'List the webhook endpoints of a client, without their secrets',
  flags: [clientFlag],
  run: async (invocation) => {
    const endpoints = await withClient(invocation, (client) => {
      return collectRecords((query) => client.webhooks.listEndpoints(query))
    })
    invocation.print({ json: endpoints, text: table(endpoints.map(endpointRow), 'no endpoints') })
  },
}

const defaultLimit = 100
const maxLimit = 10_000

const listDeliveries: Command = {
  usage: 'endpoint deliveries ID',
  about: 'List the deliveries of a webhook endpoint, newest first',
  examples: { ID: '3' },
  flags: [
    {
      name: 'status',
      value: 'STATUS',
      about: `Only deliveries with this status: ${deliveryStatuses.join(', ')}`,
      default: 'all',
      example: 'failed',
    },
    {
      name: 'since',
      value: 'TIME',
      about: 'Only deliveries created then or later: ISO 8601 with an offset',
      default: 'all',
      example: '2026-01-02T03:04:05Z',
    },
    {
      name: 'limit',
      value: 'NUMBER',
      about: `Maximum number of deliveries, up to ${withCommas(maxLimit)}`,
      default: String(defaultLimit),
      example: '1000',
    },
  ],
  run: async (invocation) => {
    const id = idFrom('The endpoint', invocation.args[0])
    const { status, since } = invocation.flags
    const filters: DeliveryQueryInput = {
      status: status === undefined ? undefined : oneOf('status', status, deliveryStatuses),
      since,
    }
    const limit = limitFrom(invocation.flags.limit)
    const deliveries = await withMailkeep(invocation, async (mailkeep) => {
      const { client } = await findOwner(mailkeep, `endpoint ${id}`, ({ webhooks }) => webhooks.getEndpoint(id))
      return await naming({ since: '--since' }, () => {
        return collectRecords((query) => client.webhooks.listDeliveries(id, { ...query, ...filters }), limit)
      })
    })
    invocation.print({ json: deliveries, text: table(deliveries.map(deliveryRow), 'no deliveries') })
  },
}

export const endpointCommands: readonly Command[] = [listEndpoints, listDeliveries]

function limitFrom(text: string | undefined): number {
  if (text === undefined) return defaultLimit
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > maxLimit) throw new CliError(`--limit must be a whole number from 1 to ${maxLimit}.`, 2)
  return limit
}

function endpointRow({ id, url, active, disabled_reason, consecutive_failures, events }: Endpoint): readonly unknown[] {
  const state = active ? 'active' : `off: ${disabled_reason}`
  return [id, state, url, `${consecutive_failures} failed in a row`, events.join(' ')]
}

function deliveryRow(delivery: Delivery): readonly unknown[] {
  const { id, event_type, status, attempts, response_status, delivered_at } = delivery
  return [id, status, event_type, `attempts: ${attempts}`, `answer: ${response_status ?? '-'}`, delivered_at]
}
