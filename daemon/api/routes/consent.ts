import { created, deleted, listing, noContent, ok, paging, type Route } from './route.ts'

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
  {
    method: 'GET',
    path: '/contacts/:contactId/data',
    role: 'viewer',
    name: 'exportContactData',
    summary: 'Everything stored about a contact, as one JSON document',
    description:
      'For requests of access (GDPR, article 15). The payloads of deliveries show `confirm_url` as null. An error during the export cuts the document off.',
    answers: {
      200: { record: 'PersonalData', description: 'Everything that is stored about the contact.', isAttachment: true },
    },
    large: true,
    call: async ({ client, params: { contactId } }) => {
      const chunks = client.contacts.data(contactId)
      const { value: first = '' } = await chunks.next() // finds out whether the contact exists
      const contentType = 'application/json; charset=utf-8'
      return {
        status: 200,
        download: { name: `contact-${contactId}.json`, contentType, text: documentOf(first, chunks) },
      }
    },
  },
  {
    method: 'GET',
    path: '/suppressions',
    role: 'viewer',
    name: 'listSuppressions',
    summary: 'List the addresses that must not be mailed',
    query: paging,
    answers: { 200: { page: 'Suppression' } },
    call: async ({ client, query }) => listing(await client.suppressions.list(query)),
  },
  {
    method: 'POST',
    path: '/suppressions',
    role: 'member',
    name: 'createSuppression',
    summary: 'Suppress an address',
    description:
      'The address is not mailed, whether or not a contact has it. A contact with it can still be stored. An address that is suppressed already keeps its reason.',
    body: 'SuppressionInput',
    answers: {
      200: { record: 'Suppression', description: 'The address was suppressed already.' },
      201: { record: 'Suppression', description: 'The address is suppressed.' },
    },
    call: async ({ client, body }) => {
      const { suppression, created: isNew } = await client.suppressions.create(body)
      return isNew ? created(suppression) : ok(suppression)
    },
  },
  {
    method: 'DELETE',
    path: '/suppressions/:suppressionId',
    role: 'member',
    name: 'deleteSuppression',
    summary: 'Remove a suppression',
    description: 'The address can be mailed again. If it was erased, it can be stored again.',
    answers: { 204: deleted },
    call: ({ client, params }) => noContent(client.suppressions.delete(params.suppressionId)),
  },
]

async function* documentOf(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield `{"data":${first}`
  yield* rest
  yield '}'
}
