import { created, listing, noContent, ok, paging, type Route } from './route.ts'

/** Beyond the contract: the client's tokens. */
export const tokenExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/tokens',
    role: 'admin',
    name: 'listTokens',
    summary: 'List the client’s tokens',
    description: 'Without their secret values, and without revoked ones.',
    query: paging,
    answers: { 200: { page: 'Token' } },
    call: async ({ client, query }) => listing(await client.tokens.list(query)),
  },
  {
    method: 'POST',
    path: '/tokens',
    role: 'admin',
    name: 'createToken',
    summary: 'Create a token',
    description: 'Only this answer contains the token.',
    body: 'TokenInput',
    answers: { 201: { record: 'NewToken', description: 'The token was created.' } },
    call: async ({ client, body }) => created(await client.tokens.create(body)),
  },
  {
    method: 'GET',
    path: '/tokens/current',
    role: 'viewer',
    name: 'getCurrentToken',
    summary: 'The token of this request, with its role and its client',
    description: 'Answers 404 if the host app authenticates the request in another way.',
    answers: { 200: { record: 'CurrentToken', description: 'The token.' } },
    call: async ({ client }) => ok(await client.tokens.current()),
  },
  {
    method: 'DELETE',
    path: '/tokens/:tokenId',
    role: 'admin',
    name: 'revokeToken',
    summary: 'Revoke a token',
    description: 'It is invalid immediately; in other processes on PostgreSQL within 5 seconds.',
    answers: { 204: { description: 'Revoked.' } },
    call: async ({ client, params }) => {
      await client.tokens.revoke(params.tokenId)
      return noContent
    },
  },
  {
    method: 'POST',
    path: '/portal-links',
    role: 'admin',
    needsConsole: true,
    name: 'createPortalLink',
    summary: 'Create a link to the webhook pages for a customer',
    description:
      'The link opens the webhook endpoints and deliveries of this client in the console, and nothing else. It works for an hour by default, and cannot be revoked. Refused where the console is switched off.',
    body: 'PortalLinkInput',
    answers: { 201: { record: 'PortalLink', description: 'The link.' } },
    call: async ({ client, body }) => created(await client.portal.createLink(body)),
  },
]
