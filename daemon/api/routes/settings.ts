import { ok, type Route } from './route.ts'

/** Beyond the contract. */
export const settingExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/settings/attributes',
    role: 'admin',
    name: 'getAttributeSettings',
    summary: 'The attributes by which contacts can be filtered',
    answers: { 200: { record: 'AttributeSettings', description: 'The declared attributes.' } },
    call: async ({ client }) => ok(await client.settings.attributes.get()),
  },
  {
    method: 'PUT',
    path: '/settings/attributes',
    role: 'admin',
    name: 'updateAttributeSettings',
    summary: 'Declare the attributes by which contacts can be filtered',
    description:
      'Replaces the declared attributes. Stored contacts are indexed in the background. Until that is done, filtering by a new attribute is answered with 503.',
    body: 'AttributeSettingsInput',
    answers: { 200: { record: 'AttributeSettings', description: 'The declared attributes.' } },
    call: async ({ client, body }) => ok(await client.settings.attributes.update(body)),
  },
]
