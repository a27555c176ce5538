import { type Command, table, withMailkeep } from './command.ts'

const createClient: Command = {
  usage: 'client create <name>',
  about: 'Make a client: a tenant with records of its own',
  run: async (invocation) => {
    const [name = ''] = invocation.args
    const client = await withMailkeep(invocation, (mailkeep) => mailkeep.clients.create({ name }))
    invocation.print({ json: client, text: table([[client.id, client.name]], '') })
  },
}

const listClients: Command = {
  usage: 'client list',
  about: 'Show all clients',
  run: async (invocation) => {
    const clients = await withMailkeep(invocation, (mailkeep) => mailkeep.clients.list())
    const rows = clients.map(({ id, name, created_at }) => [id, name, created_at])
    invocation.print({ json: clients, text: table(rows, 'no clients') })
  },
}

export const clientCommands: readonly Command[] = [createClient, listClients]
