import { identityStatuses } from '../../../lib/index.ts'
import { listing, ok, paging, type Route } from './route.ts'

/** Identities are read-only over HTTP. The command line registers them. */
export const identities: readonly Route[] = [
  {
    method: 'GET',
    path: '/email-identities',
    role: 'viewer',
    name: 'listIdentities',
    summary: 'List sender identities',
    query: {
      identity_status: {
        description: 'Only identities with this status.',
        schema: { type: 'string', enum: identityStatuses },
      },
      ...paging,
    },
    answers: { 200: { page: 'Identity' } },
    call: async ({ client, query }) => listing(await client.identities.list(query)),
  },
  {
    method: 'GET',
    path: '/email-identities/:identityId',
    role: 'viewer',
    name: 'getIdentity',
    summary: 'One sender identity',
    answers: { 200: { record: 'Identity', description: 'The identity.' } },
    call: async ({ client, params }) => ok(await client.identities.get(params.identityId)),
  },
]
