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
      'Replaces the declared attributes. Stored contacts are indexed in the background. Until that is done, filtering by a new attribute is answered with 503. Refused with `conflict` while the recipients of a newsletter are chosen whose segment filters by an attribute that is removed.',
    body: 'AttributeSettingsInput',
    errors: ['conflict'],
    answers: { 200: { record: 'AttributeSettings', description: 'The declared attributes.' } },
    call: async ({ client, body }) => ok(await client.settings.attributes.update(body)),
  },
  {
    method: 'GET',
    path: '/settings/pages',
    role: 'admin',
    inPortal: true,
    name: 'getPageSettings',
    summary: 'How the pages for contacts look',
    answers: { 200: { record: 'PageSettings', description: 'The settings.' } },
    call: async ({ client }) => ok(await client.settings.pages.get()),
  },
  {
    method: 'PUT',
    path: '/settings/pages',
    role: 'admin',
    name: 'updatePageSettings',
    summary: 'Change how the pages for contacts look',
    description:
      'Replaces the settings: absent fields are reset. The pages are those to unsubscribe, to choose lists and topics, and to confirm.',
    body: 'PageSettingsInput',
    answers: { 200: { record: 'PageSettings', description: 'The settings.' } },
    call: async ({ client, body }) => ok(await client.settings.pages.update(body)),
  },
]
