import { ok, type Route } from './route.ts'

const changed = { 200: { record: 'Contact', description: 'The contact after the change.' } } as const

/** Changes of contacts beyond the contract. */
export const contactChanges: readonly Route[] = [
  {
    method: 'POST',
    path: '/contacts',
    role: 'member',
    name: 'upsertContact',
    summary: 'Create or match a contact, without a list',
    description: 'Tags are added, and attributes are merged by key. An unsubscribed contact stays unsubscribed.',
    body: 'ContactUpsert',
    answers: changed,
    call: async ({ client, body }) => ok((await client.contacts.upsert(body)).contact),
  },
  {
    method: 'POST',
    path: '/contacts/:contactId/email',
    role: 'member',
    name: 'changeContactEmail',
    summary: 'Change the e-mail address of a contact',
    description:
      'Everything else stays, but requests to confirm a list end. An address that another contact has is refused.',
    body: 'EmailInput',
    answers: changed,
    call: async ({ client, params, body }) => ok(await client.contacts.changeEmail(params.contactId, body)),
  },
  {
    method: 'POST',
    path: '/contacts/:contactId/tags',
    role: 'member',
    name: 'tagContact',
    summary: 'Add tags to a contact',
    description: 'Tags that do not exist are created. It is no error if the contact has a tag already.',
    body: 'TagsInput',
    answers: changed,
    call: async ({ client, params, body }) => ok(await client.contacts.tag(params.contactId, body)),
  },
  {
    method: 'DELETE',
    path: '/contacts/:contactId/tags',
    role: 'member',
    name: 'untagContact',
    summary: 'Remove tags from a contact',
    description: 'The tags themselves stay. It is no error if the contact does not have a tag.',
    body: 'TagsInput',
    answers: changed,
    call: async ({ client, params, body }) => ok(await client.contacts.untag(params.contactId, body)),
  },
  {
    method: 'POST',
    path: '/contacts/:contactId/merge',
    role: 'member',
    name: 'mergeContact',
    summary: 'Merge a contact into another one of the same person',
    description:
      'The contact is deleted. The other one, `into`, gets its tags, lists, topics and events, and the values that it does not have itself. If one of the two has unsubscribed, the merged contact is unsubscribed.',
    body: 'MergeInput',
    answers: { 200: { record: 'Contact', description: 'The contact that stays.' } },
    call: async ({ client, params, body }) => ok(await client.contacts.merge(params.contactId, body)),
  },
  {
    method: 'POST',
    path: '/contacts/:contactId/links',
    role: 'member',
    name: 'createContactLinks',
    summary: 'Links to a contact’s pages, and the mail headers for unsubscribing',
    description:
      'The links are for the contact only: they need no token. They never expire, and stop working when the contact is erased. Add the headers to each mail (RFC 8058). `List-Unsubscribe-Post` is present if the public URL is `https`. Refused with 422 if the public URL is not configured.',
    answers: { 200: { record: 'ContactLinks', description: 'The links and headers.' } },
    call: async ({ client, params }) => ok(await client.contacts.links(params.contactId)),
  },
  {
    method: 'POST',
    path: '/contacts/batch',
    role: 'member',
    name: 'batchContacts',
    summary: 'Run up to 1,000 operations on contacts',
    description:
      'The operations run in order. One that is refused changes nothing and does not stop the others. Repeating a batch is safe. `delete` needs a token with the role `admin`. With an `Idempotency-Key` the whole batch is one transaction.',
    body: 'BatchInput',
    answers: { 200: { records: 'BatchResult', description: 'The result of each operation, in their order.' } },
    call: async ({ client, body }) => ok(await client.contacts.batch(body)),
  },
]
