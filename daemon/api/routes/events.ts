import { accepted, type Route } from './route.ts'

/** Beyond the contract: how what sends the mail tells that it did. */
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
