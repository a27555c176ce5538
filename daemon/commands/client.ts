import type { ClientMailkeep, Mailkeep } from '../../lib/index.ts'
import { CliError } from '../cli-error.ts'
import { plural } from '../progress.ts'
import { type Command, collectRecords, idFrom, naming, table, withMailkeep, yesFlag } from './command.ts'

const createClient: Command = {
  usage: 'client create NAME',
  about: 'Create a client, a tenant with separate records; creates the database when it is missing',
  examples: { NAME: 'Acme' },
  run: async (invocation) => {
    const [name = ''] = invocation.args
    const create = (mailkeep: Mailkeep) => mailkeep.clients.create({ name })
    const client = await naming({ name: 'NAME' }, () => withMailkeep(invocation, create, { create: true }))
    const next = `It has no token yet: mailkeep token create --client ${client.id} --role admin`
    invocation.print({ json: client, text: `${table([[client.id, client.name]], '')}\n${next}` })
  },
}

const listClients: Command = {
  usage: 'client list',
  about: 'List all clients',
  run: async (invocation) => {
    const clients = await withMailkeep(invocation, (mailkeep) => mailkeep.clients.list())
    const rows = clients.map(({ id, name, created_at }) => [id, name, created_at])
    invocation.print({ json: clients, text: table(rows, 'no clients') })
  },
}

const renameClient: Command = {
  usage: 'client rename ID NAME',
  about: 'Rename a client',
  examples: { ID: '1', NAME: '"Acme Ltd"' },
  run: async (invocation) => {
    const [id, name = ''] = invocation.args
    const clientId = idFrom('The client to rename', id)
    const rename = (mailkeep: Mailkeep) => mailkeep.clients.rename(clientId, { name })
    const client = await naming({ name: 'NAME' }, () => withMailkeep(invocation, rename))
    invocation.print({ json: client, text: table([[client.id, client.name]], '') })
  },
}

const deleteClient: Command = {
  usage: 'client delete ID',
  about: 'Delete a client with its tokens, contacts, lists, webhooks and everything else that belongs to it',
  examples: { ID: '2' },
  flags: [yesFlag],
  notes: [
    'Its tokens are invalid immediately. The running daemon deletes its rows in batches, or the next one that starts does. In a SQLite file, a few hundred rows are deleted immediately.',
  ],
  run: async (invocation) => {
    const id = idFrom('The client to delete', invocation.args[0])
    await withMailkeep(invocation, async (mailkeep) => {
      const { name } = await mailkeep.clients.get(id)
      const owned = await countOwned(mailkeep, id)
      const shown = `client ${id} (${table([[name]], '')}) with ${owned}`
      if (invocation.flags.yes === undefined) throw new CliError(`${shown} would be deleted: add --yes to do it.`, 2)
      await mailkeep.clients.delete(id)
      invocation.print({ json: { id, deleted: true }, text: `${shown} is deleted` })
    })
  },
}

export const clientCommands: readonly Command[] = [createClient, listClients, renameClient, deleteClient]

async function countOwned(mailkeep: Mailkeep, clientId: number): Promise<string> {
  const client: ClientMailkeep = mailkeep.forClient(clientId)
  const lists = await collectRecords((query) => client.lists.list(query))
  const endpoints = await collectRecords((query) => client.webhooks.listEndpoints(query))
  const tokens = await mailkeep.tokens.list({ clientId })
  return [
    plural(await client.contacts.count(), 'contact'),
    plural(lists.length, 'list'),
    `${plural(endpoints.length, 'webhook endpoint')} and ${plural(tokens.length, 'token')}`,
  ].join(', ')
}
