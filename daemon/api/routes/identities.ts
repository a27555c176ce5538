import { listing, ok, type Route } from './route.ts'

/** Contract 4.4: over HTTP identities are only read. */
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
