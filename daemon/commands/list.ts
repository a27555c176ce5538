import { type Command, clientFlag, table, withClient } from './command.ts'

const createList: Command = {
  usage: 'list create <name>',
  about: 'Make a list that contacts can be put on',
  flags: [clientFlag],
  run: async (invocation) => {
    const [name = ''] = invocation.args
    const list = await withClient(invocation, (client) => client.lists.create({ name }))
    invocation.print({ json: list, text: table([[list.id, list.name]], '') })
  },
}

export const listCommands: readonly Command[] = [createList]
