import { accepted, type Route } from './route.ts'

/** Beyond the contract: the program that sends mail reports its events here. */
export const eventExtensions: readonly Route[] = [
  {
    method: 'POST',
    path: '/events',
    role: 'admin',
    name: 'raiseEvent',
    summary: 'Raise an event about mail that the host app sends by itself',
    description: 'If `data.contact.id` is a contact of the client, the event is erased with it.',
    body: 'EventInput',
    answers: { 202: { record: 'RaisedEvent', description: 'The event was raised.' } },
    call: async ({ client, body }) => {
      await client.events.raise(body)
      return accepted({ type: body.type })
    },
  },
  {
    method: 'POST',
    path: '/events/batch',
    role: 'admin',
    name: 'raiseEvents',
    summary: 'Raise up to 1,000 events about mail that the host app sends by itself',
    description:
      'An event that is refused does not stop the others. If `data.contact.id` of an event is a contact of the client, the event is erased with it. With an `Idempotency-Key` the whole batch is one transaction, and a repeat raises nothing again.',
    body: 'EventBatchInput',
    answers: { 202: { records: 'EventResult', description: 'The result of each event, in their order.' } },
    call: async ({ client, body }) => accepted(await client.events.raiseMany(body)),
  },
]
