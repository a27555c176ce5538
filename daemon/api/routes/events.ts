import { accepted, type Route } from './route.ts'

/** Beyond the contract: the program that sends mail reports its events here. */
export const eventExtensions: readonly Route[] = [
  {
    method: 'POST',
    path: '/events',
    role: 'admin',
    call: async ({ client, body }) => {
      await client.events.raise(body)
      return accepted({ type: body.type })
    },
  },
]
