// Names for long paths, which keep the client small.
const contact = '/contacts/{contactId}'
const list = '/lists/{listId}'
const endpoint = '/webhook-endpoints/{endpointId}'
const newsletter = '/newsletters/{newsletterId}'
const sequence = '/sequences/{sequenceId}'
const segment = '/segments/{segmentId}'
const identity = '/email-identities/{emailIdentityId}'

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
    get: `GET ${contact}`,
    count: 'GET /contacts/count',
    upsert: 'POST /contacts',
    addToList: `POST ${list}/contacts`,
    removeFromList: `DELETE ${list}/contacts/{contactId}`,
    update: `PUT ${contact}`,
    changeEmail: `POST ${contact}/email`,
    tag: `POST ${contact}/tags`,
    untag: `DELETE ${contact}/tags`,
    merge: `POST ${contact}/merge`,
    batch: 'POST /contacts/batch',
    unsubscribe: `POST ${contact}/unsubscribe`,
    resubscribe: `POST ${contact}/resubscribe`,
    subscribeToTopic: `PUT ${contact}/topics/{topicId}`,
    unsubscribeFromTopic: `DELETE ${contact}/topics/{topicId}`,
    delete: `DELETE ${contact}`,
    history: `GET ${contact}/history`,
    links: `POST ${contact}/links`,
    data: `GET ${contact}/data`,
    messages: `GET ${contact}/messages`,
  },
  lists: {
    list: 'GET /lists',
    create: 'POST /lists',
    get: `GET ${list}`,
    update: `PATCH ${list}`,
    delete: `DELETE ${list}`,
  },
  topics: {
    list: `GET ${list}/topics`,
    create: `POST ${list}/topics`,
    update: 'PATCH /topics/{topicId}',
    delete: 'DELETE /topics/{topicId}',
  },
  segments: {
    list: 'GET /segments',
    create: 'POST /segments',
    get: `GET ${segment}`,
    update: `PATCH ${segment}`,
    delete: `DELETE ${segment}`,
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
    get: `GET ${endpoint}`,
    update: `PATCH ${endpoint}`,
    delete: `DELETE ${endpoint}`,
    test: `POST ${endpoint}/test`,
    rotateSecret: `POST ${endpoint}/secret`,
    recover: `POST ${endpoint}/recover`,
    getRecovery: `GET ${endpoint}/recoveries/{recoveryId}`,
  },
  deliveries: {
    list: 'GET /deliveries',
    listOfEndpoint: `GET ${endpoint}/deliveries`,
    get: `GET ${endpoint}/deliveries/{deliveryId}`,
    redeliver: `POST ${endpoint}/deliveries/{deliveryId}/redeliver`,
  },
  events: { raise: 'POST /events', raiseMany: 'POST /events/batch' },
  newsletters: {
    list: 'GET /newsletters',
    create: 'POST /newsletters',
    get: `GET ${newsletter}`,
    update: `PATCH ${newsletter}`,
    delete: `DELETE ${newsletter}`,
    audience: `GET ${newsletter}/audience`,
    preview: `POST ${newsletter}/preview`,
    test: `POST ${newsletter}/test`,
    send: `POST ${newsletter}/send`,
    pause: `POST ${newsletter}/pause`,
    resume: `POST ${newsletter}/resume`,
    cancel: `POST ${newsletter}/cancel`,
    messages: `GET ${newsletter}/messages`,
  },
  sequences: {
    list: 'GET /sequences',
    create: 'POST /sequences',
    get: `GET ${sequence}`,
    update: `PATCH ${sequence}`,
    resume: `POST ${sequence}/resume`,
    delete: `DELETE ${sequence}`,
    setSteps: `PUT ${sequence}/steps`,
    preview: `POST ${sequence}/preview`,
    enrolments: `GET ${sequence}/enrolments`,
    messages: `GET ${sequence}/messages`,
    enrol: `POST ${sequence}/enrolments`,
    stop: `DELETE ${sequence}/enrolments/{contactId}`,
  },
  identities: {
    list: 'GET /email-identities',
    create: 'POST /email-identities',
    get: `GET ${identity}`,
    refresh: `POST ${identity}/refresh`,
    delete: `DELETE ${identity}`,
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
export const withoutKey: ReadonlySet<string> = new Set(['POST /webhook-endpoints', `POST ${endpoint}/secret`])

/** DELETE routes that take something off a contact. The others delete the record of their path. */
export const answeredWithContact: ReadonlySet<string> = new Set([
  `DELETE ${list}/contacts/{contactId}`,
  `DELETE ${contact}/tags`,
  `DELETE ${contact}/topics/{topicId}`,
])
