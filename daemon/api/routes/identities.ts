import { listing, ok, type Route } from './route.ts'

/** Identities are read-only over HTTP. The command line registers them. */
export const identities: readonly Route[] = [
  {
    method: 'GET',
    path: '/email-identities',
    role: 'member',
    hasQuery: true,
    call: async ({ client, query }) => listing(await client.identities.list(query)),
  },
  {
    method: 'GET',
    path: '/email-identities/:identityId',
    role: 'member',
    call: async ({ client, params }) => ok(await client.identities.get(params.identityId)),
  },
]
