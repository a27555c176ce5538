import { identityStatuses } from '../../../lib/index.ts'
import { refuseUnknownNames } from '../../../lib/internal.ts'
import { created, deleted, listing, noContent, ok, paging, type Route } from './route.ts'

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
    path: '/email-identities/:emailIdentityId',
    role: 'viewer',
    name: 'getIdentity',
    summary: 'One sender identity',
    answers: { 200: { record: 'Identity', description: 'The identity.' } },
    call: async ({ client, params }) => ok(await client.identities.get(params.emailIdentityId)),
  },
]

/** Beyond the contract. The provider verifies the address, so the status cannot be set over HTTP. */
export const identityExtensions: readonly Route[] = [
  {
    method: 'POST',
    path: '/email-identities',
    role: 'admin',
    name: 'createIdentity',
    summary: 'Add a sender identity',
    description: 'It is `pending` until the provider verifies the address. An address can be added once.',
    body: 'IdentityInput',
    answers: { 201: { record: 'Identity', description: 'The identity was added.' } },
    call: async ({ client, body }) => {
      refuseUnknownNames(body, ['email', 'name'])
      return created(await client.identities.add(body))
    },
  },
  {
    method: 'POST',
    path: '/email-identities/:emailIdentityId/refresh',
    role: 'admin',
    name: 'refreshIdentity',
    summary: 'Ask the provider whether a sender identity is verified',
    description:
      'Starts the verification if the identity is `pending`: Amazon SES mails its owner a link. Without such a provider the status stays.',
    answers: { 200: { record: 'Identity', description: 'The identity with its status now.' } },
    key: 'afterwards',
    call: async ({ client, params }) => ok(await client.identities.refresh(params.emailIdentityId)),
  },
  {
    method: 'DELETE',
    path: '/email-identities/:emailIdentityId',
    role: 'admin',
    name: 'deleteIdentity',
    summary: 'Delete a sender identity',
    answers: { 204: deleted },
    call: ({ client, params }) => noContent(client.identities.remove(params.emailIdentityId)),
  },
]
