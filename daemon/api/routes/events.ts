import { accepted, type Route } from './route.ts'

/** Beyond the contract: the program that sends mail reports its events here. */
export const eventExtensions: readonly Route[] = [
  {
    method: 'POST',
    path: '/events',
    role: 'admin',
    name: 'raiseEvent',
    summary: 'Raise an event that only the host app knows about',
    body: 'EventInput',
    answers: { 202: { record: 'RaisedEvent', description: 'The event was raised.' } },
    call: async ({ client, body }) => {
      await client.events.raise(body)
      return accepted({ type: body.type })
    },
  },
]
