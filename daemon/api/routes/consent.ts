import { listing, paging, type Route } from './route.ts'

/** Beyond the contract: what contacts agreed to. */
export const consentExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/contacts/:contactId/history',
    role: 'viewer',
    name: 'listContactHistory',
    summary: 'What changed the lists, topics and subscription of a contact, newest first',
    description:
      'Entries are written in the transaction of the change, never changed, and erased with the contact. A request that changes nothing writes none.',
    query: paging,
    answers: { 200: { page: 'HistoryEntry' } },
    call: async ({ client, params, query }) => listing(await client.contacts.history(params.contactId, query)),
  },
]
