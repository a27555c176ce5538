import { changeTypes } from '../../../lib/index.ts'
import { listing, paging, type Route } from './route.ts'

/** Beyond the contract: who changed what. */
export const auditExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/audit-log',
    role: 'admin',
    name: 'listAuditLog',
    summary: 'Who changed what and when, newest first',
    description:
      'Entries are written in the transaction of the change, and kept for 90 days. They have ids only, no personal data.',
    query: {
      ...paging,
      token: {
        description: 'Id of a token: only changes that were made with it.',
        schema: { type: 'integer', format: 'int64', minimum: 1 },
        example: 4,
      },
      type: { description: 'Only changes of this type.', schema: { type: 'string', enum: changeTypes } },
    },
    answers: { 200: { page: 'AuditEntry' } },
    call: async ({ client, query }) => listing(await client.auditLog.list(query)),
  },
]
