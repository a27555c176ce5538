import { type AuditQueryInput, changeTypes } from '../../lib/index.ts'
import { type Command, clientFlag, collectRecords, idFrom, oneOf, table, withClient } from './command.ts'

/** More entries are read with the API, page by page. */
const maxEntries = 1000

export const auditList: Command = {
  usage: 'audit list',
  about: 'List who changed what and when, newest first',
  flags: [
    clientFlag,
    { name: 'token', value: 'ID', about: 'Only changes made with this token', default: 'all', example: '3' },
    { name: 'type', value: 'TYPE', about: 'Only changes of this type', default: 'all', example: 'contact.deleted' },
  ],
  notes: [`Shows at most ${maxEntries} entries. They are kept for 90 days.`],
  run: async (invocation) => {
    const { token, type } = invocation.flags
    const filters: AuditQueryInput = {
      token: token === undefined ? undefined : idFrom('--token', token),
      type: type === undefined ? undefined : oneOf('type', type, changeTypes),
    }
    const entries = await withClient(invocation, ({ auditLog }) => {
      return collectRecords((query) => auditLog.list({ ...query, ...filters }), maxEntries)
    })
    const rows = entries.map(({ created_at, type, target_id, token_id, source }) => [
      created_at,
      type,
      target_id,
      token_id === null ? source : `token ${token_id}`,
    ])
    invocation.print({ json: entries, text: table(rows, 'no entries') })
  },
}
