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
    messages: 'GET /contacts/{contactId}/messages',
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
  events: { raise: 'POST /events', raiseMany: 'POST /events/batch' },
  newsletters: {
    list: 'GET /newsletters',
    create: 'POST /newsletters',
    get: 'GET /newsletters/{newsletterId}',
    update: 'PATCH /newsletters/{newsletterId}',
    delete: 'DELETE /newsletters/{newsletterId}',
    audience: 'GET /newsletters/{newsletterId}/audience',
    preview: 'POST /newsletters/{newsletterId}/preview',
    test: 'POST /newsletters/{newsletterId}/test',
    send: 'POST /newsletters/{newsletterId}/send',
    pause: 'POST /newsletters/{newsletterId}/pause',
    resume: 'POST /newsletters/{newsletterId}/resume',
    cancel: 'POST /newsletters/{newsletterId}/cancel',
    messages: 'GET /newsletters/{newsletterId}/messages',
  },
  sequences: {
    list: 'GET /sequences',
    create: 'POST /sequences',
    get: 'GET /sequences/{sequenceId}',
    update: 'PATCH /sequences/{sequenceId}',
    resume: 'POST /sequences/{sequenceId}/resume',
    delete: 'DELETE /sequences/{sequenceId}',
    setSteps: 'PUT /sequences/{sequenceId}/steps',
    preview: 'POST /sequences/{sequenceId}/preview',
    enrolments: 'GET /sequences/{sequenceId}/enrolments',
    messages: 'GET /sequences/{sequenceId}/messages',
    enrol: 'POST /sequences/{sequenceId}/enrolments',
    stop: 'DELETE /sequences/{sequenceId}/enrolments/{contactId}',
  },
  identities: {
    list: 'GET /email-identities',
    create: 'POST /email-identities',
    get: 'GET /email-identities/{emailIdentityId}',
    refresh: 'POST /email-identities/{emailIdentityId}/refresh',
    delete: 'DELETE /email-identities/{emailIdentityId}',
  },
  suppressions: {
    list: 'GET /suppressions',
    create: 'POST /suppressions',
    delete: 'DELETE /suppressions/{suppressionId}',
  },
  tokens: {
    list: 'GET /tokens',
    current: 'GET /tokens/current',
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

/**
 * POST routes, apart from files, that take no `Idempotency-Key`. The client repeats them only if the server refused the
 * request unread.
 */
export const withoutKey: ReadonlySet<string> = new Set([
  'POST /webhook-endpoints',
  'POST /webhook-endpoints/{endpointId}/secret',
])

/** DELETE routes that take something off a contact. The others delete the record of their path. */
export const answeredWithContact: ReadonlySet<string> = new Set([
  'DELETE /lists/{listId}/contacts/{contactId}',
  'DELETE /contacts/{contactId}/tags',
  'DELETE /contacts/{contactId}/topics/{topicId}',
])
