import { plural } from '../plural.ts'
import { type Command, withMailkeep } from './command.ts'

const reseal: Command = {
  usage: 'secrets reseal',
  about: 'Seal all stored secrets with the current encryption key; the previous one opens them until then',
  run: async (invocation) => {
    const resealed = await withMailkeep(invocation, (mailkeep) => mailkeep.resealSecrets())
    invocation.print({ json: { resealed }, text: `${plural(resealed, 'secret')} sealed with the current key` })
  },
}

export const secretsCommands: readonly Command[] = [reseal]
