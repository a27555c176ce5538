import type { Suppression } from '../../lib/index.ts'
import {
  type Command,
  clientFlag,
  collectRecords,
  findOwner,
  idFrom,
  naming,
  table,
  withClient,
  withMailkeep,
} from './command.ts'

const addSuppression: Command = {
  usage: 'suppression add EMAIL',
  about: 'Suppress an address: it is not mailed, whether or not a contact has it',
  examples: { EMAIL: 'ada@example.org' },
  flags: [clientFlag],
  run: async (invocation) => {
    const [email = ''] = invocation.args
    const create = () => withClient(invocation, (client) => client.suppressions.create({ email }))
    const { suppression } = await naming({ email: 'EMAIL' }, create)
    invocation.print({ json: suppression, text: table([rowOf(suppression)], '') })
  },
}

const listSuppressions: Command = {
  usage: 'suppression list',
  about: 'List the addresses of a client that must not be mailed',
  flags: [clientFlag],
  notes: ['The addresses of erased contacts are not shown: only a keyed hash of them is stored.'],
  run: async (invocation) => {
    const suppressions = await withClient(invocation, (client) =>
      collectRecords((query) => client.suppressions.list(query)),
    )
    invocation.print({ json: suppressions, text: table(suppressions.map(rowOf), 'no suppressions') })
  },
}

const removeSuppression: Command = {
  usage: 'suppression remove ID',
  about: 'Remove a suppression, so that the address can be mailed, and stored if it was erased',
  examples: { ID: '5' },
  run: async (invocation) => {
    const id = idFrom('The suppression to remove', invocation.args[0])
    const { clientId } = await withMailkeep(invocation, (mailkeep) =>
      findOwner(mailkeep, `suppression ${id}`, ({ suppressions }) => suppressions.delete(id)),
    )
    invocation.print({ json: { id, removed: true }, text: `suppression ${id} of client ${clientId} is removed` })
  },
}

export const suppressionCommands: readonly Command[] = [addSuppression, listSuppressions, removeSuppression]

function rowOf({ id, email, reason, created_at }: Suppression): readonly unknown[] {
  return [id, email, reason, created_at]
}
