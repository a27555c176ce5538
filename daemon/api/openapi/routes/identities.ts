import { identityStatuses } from '../../../../lib/index.ts'
import { inQuery, page, paging, single } from '../answers.ts'
import type { RouteDocs } from '../operation.ts'

export const identities: RouteDocs = {
  'GET /email-identities': {
    name: 'listIdentities',
    summary: 'List sender identities',
    query: [
      inQuery('identity_status', 'Only identities with this status.', { type: 'string', enum: identityStatuses }),
      ...paging,
    ],
    answers: { 200: page('Identity', '/email-identities') },
  },
  'GET /email-identities/:identityId': {
    name: 'getIdentity',
    summary: 'One sender identity',
    answers: { 200: single('Identity', 'The identity.') },
  },
}
