import { type Identity, identityStatuses, unchecked } from '../../lib/index.ts'
import { CliError } from '../cli-error.ts'
import { type Command, clientFlag, collectRecords, naming, oneOf, table, withClient, withMailkeep } from './command.ts'

const addIdentity: Command = {
  usage: 'identity add',
  about: 'Register a sender address',
  flags: [
    clientFlag,
    { name: 'email', value: 'EMAIL', about: 'The address', required: true, example: 'news@example.org' },
    { name: 'name', value: 'NAME', about: 'The name that mail shows beside it', required: true, example: 'News' },
    {
      name: 'status',
      value: 'STATUS',
      about: 'pending, verifying, verified or failed',
      default: 'pending',
      example: 'verified',
    },
  ],
  run: async (invocation) => {
    const { email, name, status } = invocation.flags
    const input = {
      email,
      name,
      status: status === undefined ? undefined : oneOf('status', status, identityStatuses),
    }
    const add = () => withClient(invocation, (client) => unchecked(client).identities.add(input))
    const identity = await naming({ email: '--email', name: '--name' }, add)
    invocation.print({ json: identity, text: table([rowOf(identity)], '') })
  },
}

const listIdentities: Command = {
  usage: 'identity list',
  about: 'List the sender addresses of a client',
  flags: [clientFlag],
  run: async (invocation) => {
    const identities = await withClient(invocation, (client) => {
      return collectRecords((query) => client.identities.list(query))
    })
    invocation.print({ json: identities, text: table(identities.map(rowOf), 'no identities') })
  },
}

const refreshIdentities: Command = {
  usage: 'identity refresh',
  about: 'Ask the provider about all sender addresses that are pending or verifying',
  run: async (invocation) => {
    const changed = await withMailkeep(invocation, async (mailkeep) => {
      if (invocation.config.mail.transport.kind !== 'ses') {
        throw new CliError('No provider verifies addresses here: set MAILKEEP_MAIL_TRANSPORT to ses.')
      }
      return await mailkeep.refreshIdentities()
    })
    invocation.print({ json: changed, text: table(changed.map(rowOf), 'no changes') })
  },
}

export const identityCommands: readonly Command[] = [addIdentity, listIdentities, refreshIdentities]

function rowOf({ id, email, name, identity_status }: Identity): readonly unknown[] {
  return [id, email, name, identity_status]
}
