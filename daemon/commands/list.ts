import { type Command, clientFlag, collectRecords, naming, table, withClient } from './command.ts'

const createList: Command = {
  usage: 'list create NAME',
  about: 'Create a list that contacts can be put on',
  examples: { NAME: 'News' },
  flags: [clientFlag],
  run: async (invocation) => {
    const [name = ''] = invocation.args
    const create = () => withClient(invocation, (client) => client.lists.create({ name }))
    const list = await naming({ name: 'NAME' }, create)
    invocation.print({ json: list, text: table([[list.id, list.name]], '') })
  },
}

const listLists: Command = {
  usage: 'list list',
  about: 'List the lists of a client',
  flags: [clientFlag],
  run: async (invocation) => {
    const lists = await withClient(invocation, (client) => {
      return collectRecords((query) => client.lists.list(query))
    })
    const rows = lists.map(({ id, name, created_at }) => [id, name, created_at])
    invocation.print({ json: lists, text: table(rows, 'no lists') })
  },
}

export const listCommands: readonly Command[] = [createList, listLists]
