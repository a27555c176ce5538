import { plural } from '../plural.ts'
import { type Command, withMailkeep } from './command.ts'

const reseal: Command = {
  usage: 'secrets reseal',
  about: 'Encrypt all stored secrets with the current encryption key; until then the previous key is needed',
  run: async (invocation) => {
    const resealed = await withMailkeep(invocation, (mailkeep) => mailkeep.resealSecrets())
    invocation.print({ json: { resealed }, text: `${plural(resealed, 'secret')} sealed with the current key` })
  },
}

export const secretsCommands: readonly Command[] = [reseal]
