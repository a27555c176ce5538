/** The client's methods: each calls one route. A test compares them with the API's description. */
export const operations = {
  tags: {
    list: 'GET /tags',
    create: 'POST /tags',
    update: 'PATCH /tags/{tagId}',
    delete: 'DELETE /tags/{tagId}',
  },
  contacts: {
    list: 'GET /contacts',
    get: 'GET /contacts/{contactId}',
    count: 'GET /contacts/count',
    upsert: 'POST /contacts',
    addToList: 'POST /lists/{listId}/contacts',
    removeFromList: 'DELETE /lists/{listId}/contacts/{contactId}',
    update: 'PUT /contacts/{contactId}',
    changeEmail: 'POST /contacts/{contactId}/email',
    tag: 'POST /contacts/{contactId}/tags',
    untag: 'DELETE /contacts/{contactId}/tags',
    merge: 'POST /contacts/{contactId}/merge',
    batch: 'POST /contacts/batch',
    unsubscribe: 'POST /contacts/{contactId}/unsubscribe',
    resubscribe: 'POST /contacts/{contactId}/resubscribe',
    subscribeToTopic: 'PUT /contacts/{contactId}/topics/{topicId}',
    unsubscribeFromTopic: 'DELETE /contacts/{contactId}/topics/{topicId}',
    delete: 'DELETE /contacts/{contactId}',
    history: 'GET /contacts/{contactId}/history',
    links: 'POST /contacts/{contactId}/links',
    data: 'GET /contacts/{contactId}/data',
  },
  lists: {
    list: 'GET /lists',
    create: 'POST /lists',
    get: 'GET /lists/{listId}',
    update: 'PATCH /lists/{listId}',
    delete: 'DELETE /lists/{listId}',
  },
  topics: {
    list: 'GET /lists/{listId}/topics',
    create: 'POST /lists/{listId}/topics',
    update: 'PATCH /topics/{topicId}',
    delete: 'DELETE /topics/{topicId}',
  },
  segments: {
    list: 'GET /segments',
    create: 'POST /segments',
    get: 'GET /segments/{segmentId}',
    update: 'PATCH /segments/{segmentId}',
    delete: 'DELETE /segments/{segmentId}',
  },
  settings: {
    getAttributes: 'GET /settings/attributes',
    updateAttributes: 'PUT /settings/attributes',
    getPages: 'GET /settings/pages',
    updatePages: 'PUT /settings/pages',
  },
  webhooks: {
    list: 'GET /webhook-endpoints',
    create: 'POST /webhook-endpoints',
    get: 'GET /webhook-endpoints/{endpointId}',
    update: 'PATCH /webhook-endpoints/{endpointId}',
    delete: 'DELETE /webhook-endpoints/{endpointId}',
    test: 'POST /webhook-endpoints/{endpointId}/test',
    rotateSecret: 'POST /webhook-endpoints/{endpointId}/secret',
    recover: 'POST /webhook-endpoints/{endpointId}/recover',
    getRecovery: 'GET /webhook-endpoints/{endpointId}/recoveries/{recoveryId}',
  },
  deliveries: {
    list: 'GET /deliveries',
    listOfEndpoint: 'GET /webhook-endpoints/{endpointId}/deliveries',
    get: 'GET /webhook-endpoints/{endpointId}/deliveries/{deliveryId}',
    redeliver: 'POST /webhook-endpoints/{endpointId}/deliveries/{deliveryId}/redeliver',
  },
  events: { raise: 'POST /events' },
  identities: {
    list: 'GET /email-identities',
    get: 'GET /email-identities/{identityId}',
  },
  suppressions: {
    list: 'GET /suppressions',
    create: 'POST /suppressions',
    delete: 'DELETE /suppressions/{suppressionId}',
  },
  tokens: {
    list: 'GET /tokens',
    create: 'POST /tokens',
    revoke: 'DELETE /tokens/{tokenId}',
  },
  imports: { list: 'GET /imports', get: 'GET /imports/{importId}' },
  portal: { createLink: 'POST /portal-links' },
  stats: { deliveries: 'GET /stats/deliveries', contacts: 'GET /stats/contacts' },
  auditLog: { list: 'GET /audit-log' },
} as const

/** Files that are sent or received while they are read. */
export const files = {
  import: 'POST /lists/{listId}/contacts/import',
  restore: 'POST /contacts/import',
  export: 'GET /contacts/export',
} as const

/** POST routes that take no `Idempotency-Key`. The client repeats them only if the server refused the request unread. */
export const withoutKey: ReadonlySet<string> = new Set([
  'POST /webhook-endpoints',
  'POST /webhook-endpoints/{endpointId}/secret',
  'POST /tokens',
  'POST /portal-links',
  'POST /lists/{listId}/contacts/import',
  'POST /contacts/import',
])
