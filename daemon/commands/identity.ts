import { type ClientMailkeep, type Identity, unchecked } from '../../lib/index.ts'
import { type Command, clientFlag, table, withClient, withMailkeep } from './command.ts'

const addIdentity: Command = {
  usage: 'identity add',
  about: 'Register a sender address',
  flags: [
    clientFlag,
    { name: 'email', about: 'the address', required: true },
    { name: 'name', about: 'the name shown beside it', required: true },
    { name: 'status', about: 'pending, verifying, verified or failed; else pending' },
  ],
  run: async (invocation) => {
    const { email, name, status } = invocation.flags
    const input = { email, name, ...(status === undefined ? {} : { status }) }
    const identity = await withClient(invocation, (client) => unchecked(client).identities.add(input))
    invocation.print({ json: identity, text: table([rowOf(identity)], '') })
  },
}

const listIdentities: Command = {
  usage: 'identity list',
  about: 'Show the sender addresses of a client',
  flags: [clientFlag],
  run: async (invocation) => {
    const identities = await withClient(invocation, allIdentities)
    invocation.print({ json: identities, text: table(identities.map(rowOf), 'no identities') })
  },
}

const refreshIdentities: Command = {
  usage: 'identity refresh',
  about: 'Ask the provider about all sender addresses that are not settled',
  run: async (invocation) => {
    const changed = await withMailkeep(invocation, (mailkeep) => mailkeep.refreshIdentities())
    invocation.print({ json: changed, text: table(changed.map(rowOf), 'no changes') })
  },
}

export const identityCommands: readonly Command[] = [addIdentity, listIdentities, refreshIdentities]

async function allIdentities(client: ClientMailkeep): Promise<Identity[]> {
  const all: Identity[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await client.identities.list({ per_page: 100, ...(cursor === undefined ? {} : { cursor }) })
    all.push(...page.data)
    cursor = page.meta.next_cursor
  }
  return all
}

function rowOf({ id, email, name, identity_status }: Identity): readonly unknown[] {
  return [id, email, name, identity_status]
}
