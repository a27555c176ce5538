/** mailkeep as a library. Each endpoint belongs to a client of its own. */
import { createMailkeep } from '../../../lib/index.ts'
import { postgres } from '../../../lib/storage/postgres.ts'
import { sqlite } from '../../../lib/storage/sqlite.ts'
import { encryptionKey } from '../population.ts'
import { type Event, endpointCount, eventType, inFlight, type OpenQueue } from './queue.ts'

export const openMailkeep: OpenQueue = async ({ database, origin, isNew }) => {
  const mailkeep = await createMailkeep({
    database: database.startsWith('postgres') ? postgres(database) : sqlite(database),
    encryptionKey,
    webhooks: { allowPrivate: true, concurrency: inFlight },
  })
  if (isNew) {
    for (let endpoint = 0; endpoint < endpointCount; endpoint++) {
      const { id } = await mailkeep.clients.create({ name: `client ${endpoint}` })
      const url = `${origin}/${endpoint}`
      await mailkeep.forClient(id).webhooks.createEndpoint({ url, events: [eventType] })
    }
  }
  const all = await mailkeep.clients.list()
  const clients = all.slice(-endpointCount).map(({ id }) => mailkeep.forClient(id))
  const inputOf = ({ data }: Event) => ({ type: eventType, data: { ...data } })
  return {
    raise: (event) => clients[event.endpoint]!.events.raise(inputOf(event)),
    raiseMany: async (events) => {
      for (const [n, client] of clients.entries()) {
        const some = events.filter(({ endpoint }) => endpoint === n)
        if (some.length > 0) await client.events.raiseMany(some.map(inputOf))
      }
    },
    work: () => mailkeep.start(),
  }
}
